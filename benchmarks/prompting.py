"""What examples in the prompt are worth to a language model: words and their translations, texts and their classes.

    python benchmarks/prompting.py RUN words $LEXIGRAPH_DATA/tatoeba-eng-fra/fra.txt.xz
    python benchmarks/prompting.py RUN classes labels.tsv                  # a text, a tab and its class, a line each

The prompt is a line that says the task, some examples and the question (Brown et al. 2020):

    Translate English to French:
    sea otter => loutre de mer
    cheese =>

and the answer is the most probable of the choices (`model.rank`, by mean log p; zero, one or a few examples): the
translations of five words, or all classes. Questions and examples are drawn by a seed, and the same for every number
of examples. Below the accuracy with its 95 % interval stands what guessing would have.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Sequence

import numpy as np

import lexigraph
from lexigraph.abilities.language import LanguageModel
from lexigraph.evaluation.intervals import metric
from lexigraph.text.source import Source

SHOTS = (0, 1, 2, 4, 8, 16)
WIDE = 5  # choices of a word's translation
ARROW = " =>"
LINES = {"words": "Translate English to French:", "classes": "Say what kind of text it is:"}
Pairs = Sequence[tuple[str, str]]


def word_pairs(lines: Sequence[str]) -> Pairs:
    """The shortest pairs, of one or two words on each side, without their marks; one for each English text.

    >>> word_pairs(["Go.\\tVa !\\tCC-BY", "Go.\\tBouge.", "I see a cat.\\tJe vois un chat."])
    [('go', 'va')]
    """
    found: dict[str, str] = {}
    for line in lines:
        english, french = (side.strip(" .!?\u202f\xa0").lower() for side in line.split("\t")[:2])
        if english and french and max(len(english.split()), len(french.split())) <= 2:
            found.setdefault(english, french)
    return list(found.items())


def asked(
    pairs: Pairs, count: int, most: int, wide: int, draw: random.Random
) -> list[tuple[Pairs, tuple[str, str], list[str]]]:
    """Questions, each with its examples and its choices; no example is the question or has it answered."""
    every = sorted({answer for _, answer in pairs})
    found = []
    for question, answer in draw.sample(list(pairs), min(count, len(pairs))):
        others = [pair for pair in pairs if pair[0] != question and (len(every) <= wide or pair[1] != answer)]
        wrong = [each for each in every if each != answer]
        choices = [answer, *draw.sample(wrong, min(wide - 1, len(wrong)))]
        found.append((draw.sample(others, min(most, len(others))), (question, answer), choices))
    return found


def accuracy(
    model: LanguageModel, questions: list[tuple[Pairs, tuple[str, str], list[str]]], shots: int, line: str
) -> np.ndarray:
    """1 for each question whose answer is the most probable choice."""
    right = []
    for examples, (question, answer), choices in questions:
        shown = [line, *(f"{text}{ARROW} {said}" for text, said in examples[:shots])]
        choices = [f" {choice}" for choice in choices]
        best = model.rank(choices, prompt=question + ARROW, examples=shown, by="mean", ended=False)[0]
        right.append(best.text == f" {answer}")
    return np.array(right, np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run")
    parser.add_argument("kind", choices=LINES)
    parser.add_argument("file")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    model = lexigraph.load(given.run)
    assert isinstance(model, LanguageModel), f"{given.run} is no language model"
    lines = "".join(Source(given.file)).splitlines()
    pairs = word_pairs(lines) if given.kind == "words" else [tuple(line.split("\t")[:2]) for line in lines if line]
    wide = WIDE if given.kind == "words" else len({label for _, label in pairs})
    questions = asked(pairs, given.questions, max(SHOTS), wide, random.Random(given.seed))
    guessed = float(np.mean([1 / len(choices) for _, _, choices in questions]))
    print("examples", "accuracy", "interval", sep="\t")
    for shots in SHOTS:
        found = metric(right := accuracy(model, questions, shots, LINES[given.kind]), np.ones_like(right))
        print(
            shots, f"{found['value']:.1%}", "-".join(f"{end:.1%}" for end in found["interval"]), sep="\t", flush=True
        )
    print("guessed", f"{guessed:.1%}", "", sep="\t")


if __name__ == "__main__":
    main()
