"""When two libraries count as equal: outputs, gradients, and what their searches find."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lexigraph.decoding.beam import beam_search


def assert_same(ours: Tensor, theirs: Tensor) -> None:
    assert (ours - theirs).abs().max() <= 1e-5 * theirs.abs().max()


def assert_same_gradients(ours: nn.Module, theirs: Mapping[str, Tensor]) -> None:
    """Each within 2e-5 of its own largest entry, or of a thousandth of the largest of all, which is mere rounding."""
    largest = max(float(gradient.abs().max()) for gradient in theirs.values())
    for name, parameter in ours.named_parameters():
        scale = max(float(theirs[name].abs().max()), 1e-3 * largest)
        assert (parameter.grad - theirs[name]).abs().max() <= 2e-5 * scale, name


def assert_same_beams(ours: Any, theirs: Any, vocabulary: int, alpha: float) -> None:
    """Beams of four over ragged sources, ended by a token that is likely enough to end texts."""
    torch.manual_seed(3)
    lengths = torch.tensor([9, 4, 6, 2, 8, 1])
    seen = torch.arange(9) < lengths[:, None]
    source = torch.randint(4, vocabulary, (6, 9)) * seen
    common = {"attention_mask": seen.long(), "do_sample": False, "max_new_tokens": 12}
    eos = int(theirs.generate(source, **common)[:, 4:].mode().values[0])
    found = beam_search(ours, {"ids": source, "lengths": lengths}, eos=eos, width=4, max_new=12, alpha=alpha)
    others = theirs.generate(
        source, num_beams=4, length_penalty=alpha, early_stopping="never", eos_token_id=eos, **common
    ).tolist()
    assert sum(eos in row for row in others) >= 3
    for hypotheses, row in zip(found, others, strict=True):
        if eos in row:  # unfinished ones are ranked in another way
            assert list(hypotheses[0].tokens) == row[1 : row.index(eos)]
