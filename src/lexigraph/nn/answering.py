"""What networks have in common that find the answer to a question in a text: where it begins, and where it ends.

    p(begin = i) = softmax_i(s),  p(end = j) = softmax_j(e)         over the positions of a window of the text
    score(i, j) = s_i + e_j,  i ≤ j < i + longest                   of the answer from token i to token j
    score(none) = s_0 + e_0                                         position 0 stands before the text: no answer

Several answers may be right: loss = - ½ (log Σ p(begin) + log Σ p(end)) over all that are. In a window that holds
none of them position 0 is right. A text that is longer than a window is read in several, which overlap: the scores of
all its windows are compared with each other, and the least score(none) of them counts (Devlin et al. 2019).

There is an answer if the best score is at least `threshold` above score(none): what is best on the validation text
(evaluation/answering.py), kept with the weights. Where pieces of words are marked (##), no answer begins or ends
inside a word.

Shapes: B batch, S positions (1 + the tokens of a window), Q tokens of a question, G right positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from lexigraph.nn.network import Examples, Outputs, Predictor, ragged
from lexigraph.objectives.terms import Batch, Carry, Term, Terms
from lexigraph.text.batches import padded
from lexigraph.text.vocabularies import Tokens

CONTEXT, QUESTION, OFFSETS, ANSWER = "context", "question", "offsets", "answer"  # columns
BEGINS, ENDS = "begins", "ends"  # tensors: the right positions, -1 behind them
INSIDE = (
    "inside"  # a tensor: whether an answer would begin inside a word at a position, and whether it would end there
)
BEST = 20  # answers of an example that are kept


class Span(NamedTuple):
    """A possible answer: its score, its first character in the text, and the one behind its last."""

    score: float
    begin: int
    end: int


class Found(NamedTuple):
    """The best answers in a text, and the score of none."""

    none: float
    spans: list[Span]

    @property
    def margin(self) -> float:
        """How much better the best answer is than none."""
        return self.spans[0].score - self.none if self.spans else -float("inf")


class AnsweringNetwork(Predictor[Found]):
    """A network that says of every position how well an answer would begin there, and end there."""

    longest: int  # tokens of an answer
    threshold: Float[Tensor, " 1"]

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("threshold", torch.zeros(1))

    def logits(self, batch: Batch) -> Float[Tensor, "B S 2"]:
        """s and e, -∞ where no text is."""
        raise NotImplementedError

    def nll(self, logits: Float[Tensor, "B S 2"], batch: Batch) -> Float[Tensor, " B"]:
        """The loss of every window."""
        found = []
        for log_p, name in zip(logits.log_softmax(1).unbind(2), (BEGINS, ENDS), strict=True):
            right = batch[name]
            found.append(log_p.gather(1, right.clamp(min=0)).masked_fill(right < 0, -torch.inf).logsumexp(1))
        return -(found[0] + found[1]) / 2

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        nll = self.nll(self.logits(batch), batch)
        return {"loss": Term(nll.sum(), batch.counts["loss"], items=nll.detach()[:, None])}, None

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {"logits": [row[:n] for row, n in zip(self.logits(batch), batch["lengths"].tolist(), strict=True)]}

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Found]:
        return self.best_spans(self.logits(batch), batch)

    def best_spans(self, logits: Float[Tensor, "B S 2"], batch: Batch) -> list[Found]:
        """The best answers of every window."""
        s, e = logits.float().masked_fill(batch[INSIDE], -torch.inf).unbind(2)
        none, positions = s[:, 0] + e[:, 0], s.shape[1] - 1
        most = min(self.longest, positions)
        if not most:
            return [Found(score, []) for score in none.tolist()]
        ends = F.pad(e[:, 1:], (0, most - 1), value=-torch.inf).unfold(1, most, 1)  # of i: e_i … e_(i + most - 1)
        scores = (s[:, 1:, None] + ends).flatten(1)
        best, where = scores.topk(min(BEST, scores.shape[1]))
        first, offsets = 1 + where // most, batch[OFFSETS]
        last = (first + where % most).clamp(max=positions)  # beyond, the score is -∞
        begin, end = offsets[:, :, 0].gather(1, first), offsets[:, :, 1].gather(1, last)
        rows = zip(none.tolist(), best.tolist(), begin.tolist(), end.tolist(), strict=True)
        return [
            Found(empty, [Span(*each) for each in zip(*row, strict=True) if each[0] > -np.inf and each[1] < each[2]])
            for empty, *row in rows
        ]

    def merge(self, windows: Sequence[Found]) -> Found:
        """The best of all windows of a text, each answer once."""
        every = sorted(span for window in windows for span in window.spans)
        once = {(span.begin, span.end): span for span in every}  # the last of equal ones is the best
        return Found(min(window.none for window in windows), sorted(once.values(), reverse=True)[:BEST])


class Windows(NamedTuple):
    """The tokens of questions and of the windows that they are asked of, without boundaries."""

    questions: list[np.ndarray]
    contexts: list[np.ndarray]


def windows(examples: Examples, eos: int, longest: int) -> Windows:
    """What is read of examples; `longest`: tokens of a question."""
    contexts = []
    for row in ragged(examples[CONTEXT]):
        row = row[1:].astype(np.int64)
        contexts.append(row[:-1] if len(row) and row[-1] == eos else row)
    questions = [row[1:-1] if len(row) > 2 else row[-1:] for row in ragged(examples[QUESTION])]
    return Windows([row[:longest].astype(np.int64) for row in questions], contexts)


def going_on(tokens: Tokens) -> Bool[np.ndarray, " V"]:
    """Which tokens go on with the word of the one before them, where the vocabulary marks such pieces."""
    return np.array([piece.startswith("##") for piece in tokens.tokens(range(len(tokens)))])


def asked(
    tensors: dict[str, Tensor], examples: Examples, contexts: Sequence[np.ndarray], goes_on: Bool[np.ndarray, " V"]
) -> Batch:
    """A batch with where each token stands in its text and, where answers are known, the right positions."""
    offsets = [row[: len(tokens)] for row, tokens in zip(ragged(examples[OFFSETS]), contexts, strict=True)]
    lengths = [1 + len(row) for row in offsets]
    places = np.zeros((len(offsets), max(lengths), 2), np.int64)
    inside = np.zeros(places.shape, bool)
    for number, (row, ids) in enumerate(zip(offsets, contexts, strict=True)):
        places[number, 1 : 1 + len(row)] = row
        inside[number, 1 : 1 + len(row), 0] = goes_on[ids]
        inside[number, 1 : len(row), 1] = goes_on[ids[1:]]
    tensors |= {"lengths": torch.tensor(lengths), OFFSETS: torch.from_numpy(places), INSIDE: torch.from_numpy(inside)}
    if ANSWER not in examples:
        return Batch(tensors, {"loss": 0.0})
    right = [positions(*each) for each in zip(offsets, ragged(examples[ANSWER]), strict=True)]
    for name, rows in zip((BEGINS, ENDS), zip(*right, strict=True), strict=True):
        tensors[name] = torch.from_numpy(padded(rows, -1))
    return Batch(tensors, {"loss": float(len(lengths))})


def positions(offsets: np.ndarray, answers: np.ndarray) -> tuple[list[int], list[int]]:
    """Where the right answers begin and end in a window, tokens counted from 1; 0 if it holds none of them whole.

    >>> positions(np.array([(4, 7), (8, 11), (11, 12)]), np.array([(8, 12), (9, 10)]))
    ([2], [2, 3])
    >>> positions(np.array([(4, 7), (8, 11), (11, 12)]), np.array([(0, 7)]))
    ([0], [0])
    """
    begins, ends = set[int](), set[int]()
    for begin, end in answers.tolist():
        touched = np.flatnonzero((offsets[:, 1] > begin) & (offsets[:, 0] < end))
        if not len(touched):
            continue
        first, last = int(touched[0]), int(touched[-1])
        if (first or offsets[0, 0] <= begin) and (last < len(offsets) - 1 or offsets[-1, 1] >= end):
            begins.add(first + 1)
            ends.add(last + 1)
    return sorted(begins) or [0], sorted(ends) or [0]
