"""Softmax over few of many words: the right one against some that are drawn by how frequent they are.

    q(v) = log((v + 2) / (v + 1)) / log(V + 1)          words are numbered by frequency: Zipf's law
    scores  h · o_v - log(K q(v))                       of the right word and of K drawn ones (Jean et al. 2015)

With the correction the gradient goes to that of the whole softmax as K grows. A drawn word that is the right one
counts once. The draws are the same for a whole batch, and follow from the step.

Shapes: N words to predict, d width, V vocabulary, K drawn words.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.rng import random_of


def draws(vocabulary: int, count: int, step: int) -> Int[np.ndarray, " K"]:
    """So many words, with repetition, by the inverse of q's sums: exp(u log(V + 1)) - 1."""
    uniform = random_of(step).random(count)
    return np.minimum(np.exp(uniform * math.log(vocabulary + 1)).astype(np.int64) - 1, vocabulary - 1)


def log_expected(words: Int[Tensor, "*N"], vocabulary: int, count: int) -> Float[Tensor, "*N"]:
    """log(K q(v)): how often a word is expected among the drawn ones."""
    v = words.double()
    return (count * (torch.log((v + 2) / (v + 1)) / math.log(vocabulary + 1))).log().float()


def sampled_cross_entropy(
    hidden: Float[Tensor, "N d"],
    table: Float[Tensor, "V d"],
    bias: Float[Tensor, " V"],
    targets: Int[Tensor, " N"],
    drawn: Int[Tensor, " K"],
) -> Float[Tensor, ""]:
    """The sum over words to predict."""
    kept = targets != IGNORE
    hidden, targets = hidden[kept], targets[kept]
    count, vocabulary = len(drawn), len(table)
    right = (hidden * table[targets]).sum(1) + bias[targets] - log_expected(targets, vocabulary, count)
    others = hidden @ table[drawn].T + bias[drawn] - log_expected(drawn, vocabulary, count)
    others = others.masked_fill(targets[:, None] == drawn, -torch.inf)
    return (torch.cat([right[:, None], others], 1).logsumexp(1) - right).sum()
