"""Predict the next token: the loss of every language model and decoder here.

    NLL = - sum_t log p(y_t)                                    nats, over tokens that are not padding
    KL  = sum_t sum_v q(v) log (q(v) / p(v))                    with label smoothing eps:
          q = 1 - eps on the right token, eps / (V - 2) on the others, 0 on padding

The logits are a product of hidden states and the output table; for a vocabulary of V they are V / d times
larger than the hidden states and would dominate memory. `linear_cross_entropy` makes them a slice of tokens at
a time and turns each slice into gradients at once, so that no full-vocabulary tensor outlives its slice.

Shapes: N tokens, d model width, V vocabulary.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.nn.linear import linear
from lexigraph.objectives.terms import Batch, Term, Terms

IGNORE = -100  # the target of padding: neither scored nor counted
SLICE = 1 << 22  # logits per slice on the CPU: 16 MiB in float32, which its cache can hold
WIDE_SLICE = 1 << 25  # on other devices, which like large products


@dataclass(frozen=True)
class Padded:
    """Token sequences as one array; what stands behind a sequence's length means nothing."""

    ids: Int[Tensor, "rows longest"]
    lengths: Int[Tensor, " rows"]
    tokens: int  # the sum of the lengths, known without asking the device


def shifted(sequences: Sequence[np.ndarray] | Padded, pad: int) -> Batch:
    """Inputs and targets from token sequences: each token is predicted from those before it."""
    if isinstance(sequences, Padded):
        before, after = sequences.ids[:, :-1], sequences.ids[:, 1:]
        inside = torch.arange(after.shape[1], device=after.device) < (sequences.lengths - 1)[:, None]
        tensors = {"inputs": before.where(inside, pad), "targets": after.where(inside, IGNORE)}
        return Batch(tensors, {"loss": sequences.tokens - len(after)})
    longest = max(len(ids) for ids in sequences) - 1
    inputs = np.full((len(sequences), longest), pad, np.int64)
    targets = np.full((len(sequences), longest), IGNORE, np.int64)
    for row, ids in enumerate(sequences):
        inputs[row, : len(ids) - 1] = ids[:-1]
        targets[row, : len(ids) - 1] = ids[1:]
    count = sum(len(ids) - 1 for ids in sequences)
    return Batch({"inputs": torch.from_numpy(inputs), "targets": torch.from_numpy(targets)}, {"loss": count})


def next_token_terms(
    hidden: Float[Tensor, "*shape d"],
    table: Float[Tensor, "V d"],
    batch: Batch,
    *,
    bias: Float[Tensor, " V"] | None = None,
    smoothing: float = 0.0,
    pad: int = 0,
) -> Terms:
    """The loss (NLL, or KL when labels are smoothed), and with smoothing the plain NLL beside it."""
    loss, nll = linear_cross_entropy(
        hidden.flatten(0, -2), table, bias, batch["targets"].flatten(), smoothing=smoothing, pad=pad
    )
    count, items = batch.counts["loss"], nll.view_as(batch["targets"])
    if not smoothing:
        return {"loss": Term(loss, count, items=items)}
    return {"loss": Term(loss, count), "nll": Term(nll.sum(), count, weight=0.0, items=items)}  # reported only


def token_nll(terms: Terms) -> Float[Tensor, "rows time"]:
    """The NLL of every token, 0 where there is padding."""
    items = terms.get("nll", terms["loss"]).items
    assert items is not None
    return items


def linear_cross_entropy(
    hidden: Float[Tensor, "N d"],
    table: Float[Tensor, "V d"],
    bias: Float[Tensor, " V"] | None,
    targets: Int[Tensor, " N"],
    *,
    smoothing: float = 0.0,
    pad: int = 0,
) -> tuple[Float[Tensor, ""], Float[Tensor, " N"]]:
    """The loss summed over tokens, and the NLL of each, of softmax(hidden @ table.T + bias) against `targets`."""
    if torch.compiler.is_compiling():  # the compiler fuses the plain form and keeps no float32 logits either
        logits, wide = F.linear(hidden, table, bias), _types(hidden)[1]
        if smoothing:
            return _losses(logits.log_softmax(1, dtype=wide), targets, smoothing, pad)
        # not by `gather`: its gradient is float32 zeros, as many as logits, with one number added in each row
        nll = F.cross_entropy(logits.to(wide), targets, ignore_index=IGNORE, reduction="none")
        return nll.sum(), nll.detach()
    if torch.is_grad_enabled():
        return _LinearCrossEntropy.apply(hidden, table, bias, targets, smoothing, pad)
    low, wide = _types(hidden)
    rows, table, bias = _rows(hidden, table), table.to(low), None if bias is None else bias.to(low)
    slices = zip(hidden.to(low).split(rows), targets.split(rows), strict=True)
    found = [_losses(linear(h, table, bias).log_softmax(1, dtype=wide), y, smoothing, pad) for h, y in slices]
    return torch.stack([loss for loss, _ in found]).sum(), torch.cat([nll for _, nll in found])


def _rows(hidden: Tensor, table: Tensor) -> int:
    """Of a slice."""
    return max(1, (SLICE if hidden.device.type == "cpu" else WIDE_SLICE) // len(table))


def _losses(log_p: Tensor, targets: Tensor, smoothing: float, pad: int) -> tuple[Tensor, Tensor]:
    """The loss summed over tokens, and the NLL of each."""
    right = targets.clamp(min=0).unsqueeze(1)
    valid = targets != IGNORE
    nll = -log_p.gather(1, right).squeeze(1) * valid
    if not smoothing:
        return nll.sum(), nll.detach()
    return (smoothed_kl(log_p, right, smoothing, pad) * valid).sum(), nll.detach()


class _LinearCrossEntropy(torch.autograd.Function):
    """The gradient with respect to logits is p - q, so each slice can be finished in the forward pass."""

    @staticmethod
    def forward(ctx: Any, hidden: Tensor, table: Tensor, bias: Tensor | None, targets: Tensor,
                smoothing: float, pad: int) -> tuple[Tensor, Tensor]:  # fmt: skip
        wanted = any(ctx.needs_input_grad[:3])
        vocabulary = table.shape[0]
        rows = _rows(hidden, table)
        low, wide = _types(hidden)
        low_hidden, low_table = hidden.to(low), table.to(low)
        low_bias = None if bias is None else bias.to(low)
        loss = hidden.new_zeros((), dtype=wide)
        nll = torch.empty(len(targets), dtype=wide, device=hidden.device)
        d_hidden = torch.empty_like(hidden) if wanted else None
        d_table = torch.zeros_like(table) if wanted else None
        d_bias = torch.zeros_like(bias) if wanted and bias is not None else None
        for start in range(0, len(targets), rows):
            here = slice(start, start + rows)
            h, y = low_hidden[here], targets[here]
            log_p = F.linear(h, low_table, low_bias).log_softmax(1, dtype=wide)
            part, nll[here] = _losses(log_p, y, smoothing, pad)
            loss += part
            if d_hidden is not None and d_table is not None:
                delta = log_p.exp_()  # p, to become p - q
                share = smoothing / (vocabulary - 2)
                if smoothing:
                    delta -= share
                    delta[:, pad] += share
                right = y.clamp(min=0).unsqueeze(1)
                delta.scatter_add_(1, right, delta.new_full((len(y), 1), share - (1 - smoothing)))
                delta, counted = delta.to(low), (y != IGNORE).to(low).unsqueeze(1)
                d_hidden[here] = (delta @ low_table) * counted
                d_table += delta.T @ (h * counted)
                if d_bias is not None:
                    d_bias += (delta.T @ counted).squeeze(1)
        ctx.save_for_backward(d_hidden, d_table, d_bias)
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, d_loss: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        scaled = [None if saved is None else saved * d_loss.to(saved.dtype) for saved in ctx.saved_tensors]
        return (*scaled, None, None, None)


def smoothed_kl(log_p: Tensor, right: Tensor, smoothing: float, pad: int) -> Tensor:
    """KL(q || p) of each token."""
    share = smoothing / (log_p.shape[1] - 2)
    log_right = log_p.gather(1, right).squeeze(1)
    log_others = log_p.sum(1) - log_right - log_p[:, pad]
    entropy = (1 - smoothing) * math.log(1 - smoothing) + smoothing * math.log(share)
    return entropy - (1 - smoothing) * log_right - share * log_others


def _types(hidden: Tensor) -> tuple[torch.dtype, torch.dtype]:
    """The type to multiply in, which is autocast's where that is on, and the type to sum in: float32 or better."""
    kind = hidden.device.type
    low = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
    if low is torch.float16:  # its range is too small for sums of gradients that no scaler has seen yet
        low = torch.float32
    return low, torch.promote_types(low, torch.float32)
