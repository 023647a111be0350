"""How well summaries agree with those of people, beside what needs no model: the first sentences of a text, and its
longest ones.

lead-1, lead-3          the first sentence, the first three
longest-1, longest-3    the longest, in the order of the text

A text of several lines has a sentence on each, as a dialogue has its turns; one line is cut into sentences
(text/sentences.py). A text with several references stands there once for each of them, and its score is their mean.
ROUGE is with stems, as F; a written text of several sentences has them a line each for rougeLsum.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lexigraph.evaluation.intervals import Figure, metric
from lexigraph.evaluation.rouge import KINDS, rouge
from lexigraph.text import sentences

MOST = 3  # sentences of a baseline


def rouge_scores(
    texts: Sequence[str], written: Sequence[str], references: Sequence[str]
) -> dict[str, dict[str, Figure]]:
    """ROUGE of what was written of texts, and of the baselines; each text is resampled with all its references."""
    of_text = {text: number for number, text in enumerate(dict.fromkeys(texts))}
    owner = np.array([of_text[text] for text in texts])
    systems = {"model": list(written)} if written else {}
    systems |= {f"lead-{n}": [lead(text, n) for text in texts] for n in (1, MOST)}
    systems |= {f"longest-{n}": [longest(text, n) for text in texts] for n in (1, MOST)}
    lines = [_lines(reference) for reference in references]
    found: dict[str, dict[str, Figure]] = {}
    for name, ours in systems.items():
        scores = [rouge(wanted, _lines(text)) for wanted, text in zip(lines, ours, strict=True)]
        counts = np.bincount(owner).astype(np.float64)
        means = {kind: np.bincount(owner, [score[kind].f for score in scores]) / counts for kind in KINDS}
        found[name] = {kind: metric(each, np.ones_like(each)) for kind, each in means.items()}
    return found


def shown(figures: dict[str, Figure]) -> str:
    """ROUGE-1, -2 and -L of a hundred."""
    return " / ".join(f"{100 * figures[kind]['value']:.2f}" for kind in KINDS[:3])


def lead(text: str, n: int) -> str:
    """The first n sentences.

    >>> lead("He came. He saw. He won.", 2)
    'He came. He saw.'
    """
    return " ".join(units(text)[:n])


def longest(text: str, n: int) -> str:
    """The n sentences with most words, in their order.

    >>> longest("He came to Rome. He saw. He won there.", 2)
    'He came to Rome. He won there.'
    """
    every = units(text)
    chosen = sorted(range(len(every)), key=lambda place: -len(every[place].split()))[:n]
    return " ".join(every[place] for place in sorted(chosen))


def units(text: str) -> list[str]:
    """The lines of a text that has several, or its sentences."""
    lines = [line for line in text.split("\n") if line.strip()]
    return lines if len(lines) > 1 else sentences.split(text)


def _lines(text: str) -> str:
    """A text with a line for each sentence."""
    return "\n".join(sentences.split(text))
