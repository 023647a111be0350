"""A corpus on the device gives the batches that the corpus in memory gives."""

from __future__ import annotations

import numpy as np
import torch

from lexigraph.objectives.next_token import shifted
from lexigraph.text.batches import Rows
from lexigraph.training.resident import Resident


def test_batches_are_those_of_the_text_itself():
    ids = np.array([2, 5, 6, 7, 2, 8, 2, 9, 9, 2])  # three sentences between boundaries
    chosen = Rows(np.array([0, 6, 4]), np.array([4, 3, 2]))
    rows = [ids[start : start + length + 1] for start, length in zip(chosen.starts, chosen.lengths, strict=True)]
    wanted = shifted(rows, pad=0)
    found = shifted(Resident(ids, torch.device("cpu"))(chosen), pad=0)
    assert found.counts == wanted.counts
    for name, tensor in wanted.tensors.items():
        assert torch.equal(found[name], tensor), name
