"""A corpus that lives on the card: batches are gathered there, and the host only says where they start."""

from __future__ import annotations

import numpy as np
import torch

from lexigraph.objectives.next_token import Padded
from lexigraph.text.batches import Spans

LARGEST = 2e9  # bytes of tokens that are put on a card


class Resident:
    """Token ids on a device; called with spans, it gives their text as one padded array."""

    def __init__(self, ids: np.ndarray, device: torch.device) -> None:
        self.ids = torch.from_numpy(ids.astype(np.int32)).to(device)

    @staticmethod
    def fits(ids: np.ndarray, device: torch.device) -> bool:
        """Whether they go there: on CUDA, up to a size that any card has room for."""
        return device.type == "cuda" and 4 * len(ids) <= LARGEST

    def __call__(self, spans: Spans) -> dict[str, Padded]:
        device = self.ids.device
        where = np.stack([spans.starts.astype(np.int64), spans.lengths.astype(np.int64) + 1])
        starts, lengths = torch.from_numpy(where).to(device, non_blocking=True)
        columns = torch.arange(int(spans.lengths.max()) + 1, device=device)
        places = (starts[:, None] + columns).clamp(max=len(self.ids) - 1)
        return {"text": Padded(self.ids[places].long(), lengths, int(where[1].sum()))}
