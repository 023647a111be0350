"""What a language model thinks of a given text.

    terminated   log p(w_1 … w_n <eos>)       what `score` reports
    prefix       log p(w_1 … w_n …)           the text and anything after it
    and          p(prefix) = p(terminated) + Σ_v p(prefix followed by v)

A text longer than the model's context is read in consecutive windows, as in training and evaluation: every token
is scored once, the first ones of a window with less before them, or with what the model remembers of the windows
before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from lexigraph.nn.network import LanguageNetwork
from lexigraph.objectives.next_token import token_nll
from lexigraph.objectives.terms import Carry

BATCH_TOKENS = 8192
CPU_TOKENS = 1024  # larger ones are no faster there, and take as much more memory


@torch.inference_mode()
def token_log_probabilities(
    network: LanguageNetwork, sequences: Sequence[np.ndarray], device: torch.device
) -> list[np.ndarray]:
    """log p of every token of each sequence but the first, given those before it."""
    scores = [np.zeros(max(0, len(ids) - 1), np.float64) for ids in sequences]
    tokens = CPU_TOKENS if device.type == "cpu" else BATCH_TOKENS
    carry: Carry | None = None
    for rows in (_in_order if network.traits.stateful else _batches)(sequences, network.traits.context, tokens):
        if not rows[0][1]:
            carry = None
        if carry is not None:  # texts that are at their end are the last of their group
            carry = {name: states[: len(rows)] for name, states in carry.items()}
        batch = network.prepare_in_order({"text": [sequences[i][a : b + 1] for i, a, b in rows]})
        terms, after = network.loss(batch.to(device), carry)
        carry = after if network.traits.stateful else None
        for (i, a, b), row in zip(rows, token_nll(terms).cpu().double().numpy(), strict=True):
            scores[i][a:b] = -row[: b - a]
    return scores


def _in_order(sequences: Sequence[np.ndarray], context: int, tokens: int) -> Iterator[list[tuple[int, int, int]]]:
    """Texts of like length together, window after window."""
    longest_first = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))
    while longest_first:
        most = len(sequences[longest_first[0]]) - 1
        width = context or max(1, most)
        rows = max(1, tokens // max(1, min(width, most)))
        group, longest_first = longest_first[:rows], longest_first[rows:]
        for a in range(0, max(1, most), width):
            yield [(i, a, min(a + width, len(sequences[i]) - 1)) for i in group if len(sequences[i]) - 1 > a or not a]


def _batches(sequences: Sequence[np.ndarray], context: int, tokens: int) -> Iterator[list[tuple[int, int, int]]]:
    """Windows (sequence, first, last) of like length together."""
    windows = []
    for index, ids in enumerate(sequences):
        width = context or max(1, len(ids))
        windows += [(index, a, min(a + width, len(ids) - 1)) for a in range(0, len(ids) - 1, width)]
    windows.sort(key=lambda window: window[1] - window[2])  # longest first
    while windows:
        rows = max(1, tokens // max(1, windows[0][2] - windows[0][1]))
        yield windows[:rows]
        windows = windows[rows:]
