"""A text that lives on the card: batches are gathered there, and the host only says where they start."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from lexigraph.nn.network import Examples, Seeds
from lexigraph.objectives.next_token import Padded
from lexigraph.text.batches import Rows
from lexigraph.text.columns import Traits
from lexigraph.text.tables import Table

Fetch = Callable[[Mapping[str, Rows], Seeds], Examples]  # the columns of a batch, as `network.prepare` takes them

LARGEST = 2e9  # bytes of tokens that are put on a card


class Resident:
    """Token ids on a device; called with rows, it gives their tokens as one padded array."""

    def __init__(self, ids: np.ndarray, device: torch.device) -> None:
        self.ids = torch.from_numpy(ids.astype(np.int32)).to(device)

    @staticmethod
    def fits(ids: np.ndarray, device: torch.device) -> bool:
        """Whether they go there: on CUDA, up to a size that any card has room for."""
        return device.type == "cuda" and 4 * len(ids) <= LARGEST

    def __call__(self, rows: Rows) -> Padded:
        device = self.ids.device
        where = np.stack([rows.starts.astype(np.int64), rows.lengths.astype(np.int64) + 1])
        starts, lengths = torch.from_numpy(where).to(device, non_blocking=True)
        columns = torch.arange(int(rows.lengths.max()) + 1, device=device)
        positions = (starts[:, None] + columns).clamp(max=len(self.ids) - 1)
        return Padded(self.ids[positions].long(), lengths, int(where[1].sum()))


def fetcher(tables: Mapping[str, Table], traits: Traits, device: torch.device) -> Fetch:
    """What gives a batch its columns: from the card, where the text lives there, else from the mapped files.

    A text goes to the card if it is all that an example holds, and the network does not work on rows of the host.
    """
    resident: dict[str, Resident] = {}
    for name, table in tables.items():
        text = table.columns.get(traits.windowed)
        alone = text is not None and len(table.columns) == 1 and text.bounded and not traits.corrupts_on_host
        if text is not None and alone and Resident.fits(text.values, device):
            resident[name] = Resident(text.values, device)

    def fetch(rows: Mapping[str, Rows], seeds: Seeds) -> Examples:
        found: dict[str, Any] = {}
        for name, own in rows.items():
            if name in resident:
                found[traits.windowed] = resident[name](own)
            else:
                found |= tables[name].fetch(own, traits, seeds.get(name))
        return found

    return fetch
