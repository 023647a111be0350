"""Vectors of texts from a model that stays as it is: those that it encodes, or the mean of its states.

A text that is longer than the model reads is cut after the last word that fits where it encodes, and read in
stretches where its states are averaged. One of which nothing is left has zeros.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from torch.nn import functional as F

from lexigraph.abilities.textmodel import BATCH_SIZE, TextModel
from lexigraph.abilities.vectors import Vectors
from lexigraph.nn.network import Reader, read_words
from lexigraph.objectives.terms import Batch
from lexigraph.words.vectors import WordVectors


def readable(model: TextModel) -> bool:
    """Whether it has vectors for texts."""
    return isinstance(model, Vectors) or isinstance(model.network, Reader)


def vectors(model: TextModel, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
    """A vector for each text."""
    return _encoded(model, texts) if isinstance(model, Vectors) else _averaged_states(model, texts)


def _encoded(model: Vectors, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
    texts = [text if fits else _shortened(model, text) for text, fits in zip(texts, model.fits(texts), strict=True)]
    kept = [number for number, text in enumerate(texts) if text]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unknown words
        found = model.encode([texts[number] for number in kept]) if kept else np.zeros((0, 1), np.float32)
    every = np.zeros((len(texts), found.shape[1]), np.float32)
    every[kept] = found
    return every


def _shortened(model: Vectors, text: str) -> str:
    """As many of the first words as the model reads; "" if none."""
    words = text.split()
    least, most = 0, len(words)  # what fits, and what does not
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (middle, most) if model.fits([" ".join(words[:middle])])[0] else (least, middle)
    return " ".join(words[:least])


@torch.inference_mode()
def _averaged_states(model: TextModel, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
    """The mean of the last states of a text's tokens."""
    network = cast(Reader, model.network)
    rows, _ = model.rows(texts)
    found = np.zeros((len(rows), network.width), np.float32)
    order = np.argsort([len(row) for row in rows], kind="stable")
    for first in range(0, len(rows), BATCH_SIZE):
        chosen = [number for number in order[first : first + BATCH_SIZE] if len(rows[number])]
        if not chosen:
            continue
        tensors, where = read_words(network, [[rows[number]] for number in chosen], model.tokenizer.eos)
        states = network.states(Batch(tensors).to(model.device)).layers[-1].flatten(0, 1).float()
        positions = torch.from_numpy(where[:, 0]).to(model.device)
        inside = (positions >= 0).unsqueeze(2)
        summed = (F.embedding(positions.clip(min=0), states) * inside).sum(1)
        found[chosen] = (summed / inside.sum(1)).cpu().numpy()
    return found


def averaged(vectors: WordVectors, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
    """The mean of the vectors of a text's words, as they stand or in small letters."""
    index, found = vectors.index, np.zeros((len(texts), vectors.dim), np.float32)
    for number, text in enumerate(texts):
        rows = (index.get(word, index.get(word.lower(), -1)) for word in text.split())
        if known := [row for row in rows if row >= 0]:
            found[number] = vectors.vectors[known].mean(0)
    return found
