"""Texts that live on the card: batches are gathered there, and the host only says where they start."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import torch

from lexigraph.nn.network import Examples, Seeds
from lexigraph.objectives.next_token import Padded
from lexigraph.text.batches import Rows
from lexigraph.text.columns import MAIN, Traits
from lexigraph.text.tables import Table

Fetch = Callable[[Mapping[str, Rows], Seeds], Examples]  # the columns of a batch, as `network.prepare` takes them

LARGEST = 2e9  # bytes of tokens that are put on a card


class Resident:
    """Token ids on a device; called with rows, it gives their tokens as one padded array."""

    def __init__(self, ids: np.ndarray, device: torch.device) -> None:
        self.ids = torch.from_numpy(ids.astype(np.int32)).to(device)

    @staticmethod
    def fits(size: int, device: torch.device) -> bool:
        """Whether so many ids go there: on CUDA, up to a size that any card has room for."""
        return device.type == "cuda" and 4 * size <= LARGEST

    def __call__(self, rows: Rows, longest: int = 0) -> Padded:
        """The tokens of rows, padded to the longest of them, or to `longest`."""
        device = self.ids.device
        where = np.stack([rows.starts.astype(np.int64), rows.lengths.astype(np.int64) + 1])
        starts, lengths = torch.from_numpy(where).to(device, non_blocking=True)
        columns = torch.arange((longest or int(rows.lengths.max())) + 1, device=device)
        positions = (starts[:, None] + columns).clamp(max=len(self.ids) - 1)
        return Padded(self.ids[positions].long(), lengths, int(where[1].sum()))


class ResidentTable:
    """A table whose texts live on a device; what else its examples hold comes from the host.

    The texts of a further table are all padded to its longest, so that steps that take rows of several tables have no
    more shapes than those of the main one have (training/cuda_graphs.py records each shape).
    """

    def __init__(self, table: Table, traits: Traits, device: torch.device, further: bool) -> None:
        self.table, self.traits = table, traits
        self.texts: dict[str, Resident] = {}
        self.longest: dict[str, int] = {}
        for name, stored in table.columns.items():
            if stored.bounded and not stored.column.at:
                self.texts[name] = Resident(stored.values, device)
                self.longest[name] = int(stored.lengths().max(initial=1)) if further else 0

    @staticmethod
    def fits(table: Table, traits: Traits, device: torch.device) -> bool:
        """Whether there are texts to put there, room for them, and a network that takes them from there."""
        sizes = [len(stored.values) for stored in table.columns.values() if stored.bounded and not stored.column.at]
        return bool(sizes) and not traits.corrupts_on_host and Resident.fits(sum(sizes), device)

    def fetch(self, rows: Rows, seeds: np.ndarray | None) -> Examples:
        """The columns of rows."""
        found = {
            name: text(self.table.rows_of(name, rows, self.traits), self.longest[name])
            for name, text in self.texts.items()
        }
        if len(found) == len(self.table.columns):
            return found
        return {**found, **self.table.fetch(rows, self.traits, seeds, besides=found)}


def fetcher(tables: Mapping[str, Table], traits: Traits, device: torch.device) -> Fetch:
    """What gives a batch its columns: from the card, where texts live there, else from the mapped files."""
    resident = {
        name: ResidentTable(table, traits, device, further=name != MAIN)
        for name, table in tables.items()
        if ResidentTable.fits(table, traits, device)
    }

    def fetch(rows: Mapping[str, Rows], seeds: Seeds) -> Examples:
        found: Examples = {}
        for name, own in rows.items():
            if name in resident:
                found = {**found, **resident[name].fetch(own, seeds.get(name))}
            else:
                found = {**found, **tables[name].fetch(own, traits, seeds.get(name))}
        return found

    return fetch
