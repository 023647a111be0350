"""A training step of the classifier (forward, backward, AdamW) against the same network of plain torch modules.

python benchmarks/classifier_step.py                         bidirectional LSTM, then filters over 3, 4 and 5 words

Both take steps in turn on the same batch of 64 texts of 8 to 32 words, round after round; the ratio is the median
over rounds, above 1 where Lexigraph is faster. What the loop does beside the step is in neither.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lexigraph.models.classifier import Classifier, Config, Objective
from lexigraph.objectives.terms import value
from lexigraph.text.vocabularies import Ids, Labels, Vocabularies

ROUNDS, VOCABULARY, CLASSES, BAR = 25, 16_000, 5, 0.97


class PlainLSTM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 100)
        self.lstm = nn.LSTM(100, 128, batch_first=True, bidirectional=True)
        self.output = nn.Linear(256, CLASSES)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        packed = pack_padded_sequence(self.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
        h, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        inside = torch.arange(ids.shape[1]) < lengths[:, None]
        return self.output(h.masked_fill(~inside.unsqueeze(2), -torch.inf).amax(1))


class PlainFilters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 100)
        self.filters = nn.ModuleList(nn.Conv1d(100, 128, k, padding="same") for k in (3, 4, 5))
        self.output = nn.Linear(3 * 128, CLASSES)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        inside = torch.arange(ids.shape[1]) < lengths[:, None]
        x = (self.embedding(ids) * inside.unsqueeze(2)).transpose(1, 2)
        h = torch.cat([filters(x) for filters in self.filters], 1).relu()
        return self.output(h.masked_fill(~inside.unsqueeze(1), -torch.inf).amax(2))


def stepper(network: nn.Module, loss: Callable[[], Tensor]) -> Callable[[], float]:
    """One step, and how long it took."""
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)

    def step() -> float:
        begin = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        loss().backward()
        optimizer.step()
        return time.perf_counter() - begin

    return step


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    known = Vocabularies({"text": Ids(VOCABULARY), "label": Labels(tuple("abcde"))})
    rows = [torch.randint(3, VOCABULARY, (n,)).numpy() for n in torch.randint(10, 35, (64,)).tolist()]
    labels = torch.randint(CLASSES, (64,))
    for encoder, plain in (("lstm", PlainLSTM()), ("cnn", PlainFilters())):
        ours = Classifier(Config(encoder=encoder, dropout=0.0), Objective(), known)
        batch = ours.prepare({"text": rows, "label": list(labels.numpy())})
        ids, lengths = batch["inputs"], batch["lengths"]
        steps = (
            stepper(ours, lambda ours=ours, batch=batch: value(ours.loss(batch)[0])),
            stepper(
                plain,
                lambda plain=plain, ids=ids, lengths=lengths: F.cross_entropy(plain(ids, lengths), labels),
            ),
        )
        for step in steps:
            step()
        rounds = [[step() for step in steps] for _ in range(ROUNDS)]
        ratio = statistics.median(theirs / own for own, theirs in rounds)
        own, theirs = (1000 * statistics.median(column) for column in zip(*rounds, strict=True))
        print(f"{encoder}: {own:.1f} ms, plain torch {theirs:.1f} ms, ratio {ratio:.3f} (bar {BAR})")


if __name__ == "__main__":
    main()
