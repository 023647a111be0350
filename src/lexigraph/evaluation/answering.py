"""How many questions are answered as people answered them, counted as SQuAD's official script counts.

    exact    the share of questions whose answer is one of the right ones: without letter case, punctuation, the
             articles a, an, the, and the width of white space
    f1       2 · common / (words of both), of the words that an answer shares with a right one, the best of them

Where the text does not say, no answer is the right one, and counts 1 or 0. An answer is given where it is at least a
threshold better than none; the threshold that is best for F1 on the validation text is chosen with every validation
and kept with the weights. Intervals come from resampling passages, whose questions stand or fall together.

Beside the scores stand what reads no meaning:

    sliding window    the stretch of a sentence around which most of the question's words stand, rare ones counting
                      more, less the distance to the nearest (Richardson et al. 2013; there, of given answers)
    first words       those that the text begins with
    no answer         never to answer, where some questions have none

The stretches are as long as the median of the training answers.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple, NotRequired, TypedDict

import numpy as np
import torch

from lexigraph.abilities.answering import Answerer
from lexigraph.evaluation.answers import exact, f1, normalised
from lexigraph.evaluation.intervals import Figure, metric, signature
from lexigraph.evaluation.measure import baseline as baseline
from lexigraph.evaluation.measure import choosing as choosing
from lexigraph.nn.answering import ANSWER, CONTEXT, QUESTION, AnsweringNetwork, Found
from lexigraph.recipe import Recipe
from lexigraph.text.planning import evaluation_plan
from lexigraph.text.tables import Table

METRICS = {"loss": False, "exact": True, "f1": True}  # for `train.metric`: is greater better?
WORD = re.compile(r"\w+(?:[-'’.,]\w+)*")


class Plain(TypedDict):
    """What a baseline has."""

    exact: float
    f1: float


class Scores(TypedDict):
    """What is measured of a model that answers questions."""

    exact: Figure
    f1: Figure
    f1_of_answerable: NotRequired[Figure]  # where some questions have no answer
    no_answer_right: NotRequired[Figure]  # of those
    nll: Figure
    threshold: float | str
    sliding_window: Plain
    first_words: Plain
    no_answer: NotRequired[float]
    questions: int
    passages: int
    signature: str


# ---- what a network answers -----------------------------------------------------------------------------------


class Question(NamedTuple):
    """A question of a table, and what was found."""

    question: str
    context: str
    right: list[str]
    found: Found

    @property
    def best(self) -> str:
        """The best answer, whether it is good enough or not."""
        return self.context[self.found.spans[0].begin : self.found.spans[0].end] if self.found.spans else ""

    def answer(self, threshold: float) -> str:
        return self.best if self.found.margin >= threshold else ""


@torch.no_grad()
def answered(
    network: AnsweringNetwork, table: Table, recipe: Recipe, device: torch.device, limit: int = 0
) -> tuple[list[Question], np.ndarray]:
    """Every question of a table, in the order of the table, with what the network finds in all windows of its text;
    and the loss of every window."""
    plan = evaluation_plan(table, network.traits, recipe, limit)
    windows, losses = defaultdict[int, list[Found]](list), list[np.ndarray]()
    for step in range(plan.epoch_steps):
        rows = plan.batch(step)
        batch = network.prepare(table.fetch(rows, network.traits)).to(device)
        logits = network.logits(batch)
        losses.append(network.nll(logits, batch).cpu().double().numpy())
        examples = table.examples_of(rows, network.traits.windowed).tolist()
        for example, found in zip(examples, network.best_spans(logits, batch), strict=True):
            windows[example].append(found)
    order = sorted(windows)
    texts = (table.columns[name].raw(order) for name in (QUESTION, CONTEXT))
    questions = []
    for example, question, context in zip(order, *texts, strict=True):
        right = [context[begin:end] for begin, end in np.asarray(table.columns[ANSWER].of(example)).tolist()]
        right = [each for each in right if normalised(each)]
        questions.append(Question(question, context, right, network.merge(windows[example])))
    return questions, np.concatenate(losses)


def best_threshold(questions: Sequence[Question]) -> float:
    """The threshold with the greatest F1: between the margins of two questions, or -∞ if answering always is best, as
    it is where all have an answer."""
    if all(each.right for each in questions):
        return -math.inf
    margin = np.array([each.found.margin for each in questions])
    gain = [f1(each.best, each.right) - f1("", each.right) for each in questions]
    order = np.argsort(-margin, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(np.array(gain)[order])])  # where so many questions are answered
    ranked = margin[order]
    possible = np.concatenate([[True], ranked[:-1] > ranked[1:], [True]])  # equal margins are answered together
    most = int(np.where(possible, sums, -np.inf).argmax())
    if most == len(ranked):
        return -math.inf
    return float(ranked[0] + 1 if not most else (ranked[most - 1] + ranked[most]) / 2)


def frequencies(table: Table) -> np.ndarray:
    """How often answers have so many characters, for the baselines."""
    ranges = np.asarray(table.columns[ANSWER].values)
    return np.bincount(ranges[:, 1] - ranges[:, 0], minlength=1)


def validate(network: AnsweringNetwork, table: Table, recipe: Recipe, device: torch.device) -> dict[str, float]:
    """What validation reports; it also chooses the threshold."""
    questions, losses = answered(network, table, recipe, device, recipe.eval.max_tokens)
    threshold = best_threshold(questions)
    network.threshold.fill_(threshold)
    given = [each.answer(threshold) for each in questions]
    plain = _plain(questions, given)
    return {"loss": float(losses.mean()), "exact": plain["exact"], "f1": plain["f1"]}


def scores(model: Answerer, table: Table, steps: int, counts: np.ndarray, baseline: None = None) -> Scores:
    """All scores of a held-out table, with 95 % intervals from resampling its passages, and the baselines beside."""
    questions, losses = answered(model.network, table, model.recipe, model.device)
    threshold = float(model.network.threshold)
    answers = [each.answer(threshold) for each in questions]
    passage = np.unique([each.context for each in questions], return_inverse=True)[1]

    def figure(measure: Callable[[str, list[str]], float], kept: Callable[[Question], bool]) -> Figure:
        totals, ones = (
            np.array([float(kept(each)) * (measure(answer, each.right) if scored else 1) for each, answer in pairs])
            for scored in (True, False)
        )
        sums, counted = np.bincount(passage, totals), np.bincount(passage, ones)
        return metric(sums[counted > 0], counted[counted > 0])

    pairs = list(zip(questions, answers, strict=True))
    length = int(np.searchsorted(np.cumsum(counts), counts.sum() / 2))
    found: Scores = {
        "exact": figure(exact, lambda each: True),
        "f1": figure(f1, lambda each: True),
        "nll": metric(losses, np.ones(len(losses))),
        "threshold": threshold if math.isfinite(threshold) else "always an answer",
        "sliding_window": _plain(questions, [sliding_window(q.question, q.context, length) for q in questions]),
        "first_words": _plain(questions, [_stretch(q.context, _words(q.context), 0, length) for q in questions]),
        "questions": len(questions),
        "passages": int(passage.max()) + 1,
        "signature": signature(model, table, steps),
    }
    if unanswerable := sum(not each.right for each in questions):
        found["no_answer"] = unanswerable / len(questions)
        found["f1_of_answerable"] = figure(f1, lambda each: bool(each.right))
        found["no_answer_right"] = figure(exact, lambda each: not each.right)
    return found


def _plain(questions: Sequence[Question], answers: Sequence[str]) -> Plain:
    right = [each.right for each in questions]
    means = [float(np.mean(list(map(measure, answers, right)))) for measure in (exact, f1)]
    return {"exact": means[0], "f1": means[1]}


def headline(scores: Scores) -> str:
    """The scores in one line."""
    window, first = scores["sliding_window"], scores["first_words"]
    line = (
        f"exact {scores['exact']['value']:.2%}, F1 {scores['f1']['value']:.2%} of {scores['questions']:,} questions "
        f"(sliding window: {window['exact']:.2%}, {window['f1']:.2%}; first words: {first['exact']:.2%}, "
        f"{first['f1']:.2%}"
    )
    if "no_answer" in scores:
        line += f"; never an answer: {scores['no_answer']:.2%}"
    return f"{line}), NLL {scores['nll']['value']:.4f} nats"


# ---- what reads no meaning ------------------------------------------------------------------------------------

Words = list[tuple[str, int, int]]  # in small letters, with their first character and the one behind the last


def _words(text: str) -> Words:
    return [(match[0].lower(), match.start(), match.end()) for match in WORD.finditer(text)]


def _stretch(text: str, words: Words, first: int, length: int) -> str:
    """The words from one on whose length in characters is nearest to this one."""
    if not words:
        return ""
    begin = words[first][1]
    return text[
        begin : min(
            (end for _, _, end in words[first : first + length + 1]), key=lambda end: abs(end - begin - length)
        )
    ]


def sliding_window(question: str, context: str, length: int) -> str:
    """The stretch of about so many characters, without words of the question, that stands among most of them.

    A window of as many words as the question and the stretch have slides over it; a word of the question that is in
    the window counts log(1 + 1 / how often it is in the text). Of those that are alike, the one nearest to a word of
    the question.

    >>> sliding_window("Who built the tower?", "Rome is old. Eiffel built the tower in 1889.", 6)
    'Eiffel'
    """
    words, asked = _words(context), {word for word, _, _ in _words(question)}
    counts = Counter(word for word, _, _ in words)
    worth = np.array([math.log1p(1 / counts[word]) if word in asked else 0.0 for word, _, _ in words])
    sums = np.concatenate([[0.0], np.cumsum(worth)])
    places = np.flatnonzero(worth)
    best, chosen = -math.inf, ""
    for first in range(len(words)):
        stretch = _stretch(context, words, first, length)
        last = first + len(WORD.findall(stretch))
        if sums[last] > sums[first] or re.search(r"[.!?]\s", stretch):
            continue
        width = last - first + len(asked)
        begins = np.arange(max(0, last - width), first + 1)
        around = float((sums[np.minimum(begins + width, len(words))] - sums[begins]).max())
        near = float(np.minimum(abs(places - first), abs(places - last + 1)).min()) if len(places) else 0.0
        score = around - near / len(words)
        if score > best:
            best, chosen = score, stretch
    return chosen
