"""IBM models 1 and 2 do the arithmetic of their definition, and find what is known to be true."""

from __future__ import annotations

from itertools import islice, pairwise, product

import numpy as np
import pytest

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.alignment import alignment_scores
from lexigraph.statistical.ibm import IBMModel, habits
from lexigraph.text import coded

HOUSES = [(["das", "Haus"], ["the", "house"]), (["das", "Buch"], ["the", "book"]),
          (["ein", "Buch"], ["a", "book"])]  # fmt: skip


def by_definition(pairs, model, steps):
    """EM with sums over all alignments a of every pair, one after the other, from the words in the module's head."""
    targets = {word for _, target in pairs for word in target}
    t, d, known = {}, {}, {}  # known: d as far as the model knows it
    for number in range(steps * model):
        t_counts, d_counts = {}, {}
        for source, target in pairs:
            e, S, T = ["", *source], len(source), len(target)
            ways = list(product(range(S + 1), repeat=T))
            shares = np.ones(len(ways))
            for row, way in enumerate(ways):
                for j, i in enumerate(way):
                    became = t.get((e[i], target[j]), 0.0) if t else 1 / len(targets)
                    shares[row] *= became * known.get((i, j, S, T), 1 / (S + 1))
            for way, share in zip(ways, shares / shares.sum(), strict=True):
                for j, i in enumerate(way):
                    t_counts[e[i], target[j]] = t_counts.get((e[i], target[j]), 0) + share
                    d_counts[i, j, S, T] = d_counts.get((i, j, S, T), 0) + share
        t = {(e, f): c / sum(v for (x, _), v in t_counts.items() if x == e) for (e, f), c in t_counts.items()}
        d = {key: c / sum(v for other, v in d_counts.items() if other[1:] == key[1:]) for key, c in d_counts.items()}
        known = d if number >= steps else {}
    return t


@pytest.mark.parametrize("model", [1, 2])
def test_em_is_that_of_the_definition(model):
    pairs = [*HOUSES, (["ein", "altes", "Haus"], ["an", "old", "house"])]
    made, expected = IBMModel.train(pairs, model=model, steps=3), by_definition(pairs, model, 3)
    for word in ("", "das", "Haus", "Buch", "ein"):
        for target, probability in made.translations(word, 10):
            assert probability == pytest.approx(expected[word, target])


def test_no_step_makes_the_text_less_probable():
    pairs = [(source, target) for source, target, _ in islice(coded.pairs(), 300)]
    for before, after in pairwise(IBMModel.train(pairs, steps=6).log_likelihoods):
        assert after >= before - 1e-6


def test_a_word_is_told_from_those_that_stand_beside_it():
    model = IBMModel.train(HOUSES, model=1, steps=20)
    assert [model.translations(word, 1)[0][0] for word in ("Haus", "Buch", "ein")] == ["house", "book", "a"]
    assert model.align(["ein", "Haus"], ["a", "house"]) == [(0, 0), (1, 1)]


def test_most_words_of_a_coded_language_are_aligned_and_its_habits_are_found():
    made = list(islice(coded.pairs(), 4000))
    pairs, true = [(source, target) for source, target, _ in made], [links for _, _, links in made]
    model = IBMModel.train(pairs, model=1)
    found = [model.align(*pair) for pair in pairs[:500]]
    assert alignment_scores(found, true[:500]).aer < 0.1
    ways = habits(pairs[:500], found)
    assert ways.spurious[0][0] == coded.TOPIC
    double = [mean for word, mean, _ in ways.fertile if len(coded.meaning(word)) == 2]
    assert double
    assert min(double) > 1.5
    assert sum(share for kind, share in ways.kinds.items() if kind.startswith("source")) == pytest.approx(1.0)


def test_what_training_has_not_seen_is_aligned_all_the_same():
    model = IBMModel.train(HOUSES)
    assert [j for _, j in model.align(["das", "Pferd"], ["the", "horse"])][:1] == [0]
    assert model.align([], ["the"]) == []


def test_wrong_input_gets_a_sentence():
    with pytest.raises(UsageError, match="no IBM model 3"):
        IBMModel.train(HOUSES, model=3)
    with pytest.raises(LexigraphError, match="empty side"):
        IBMModel.train([([], ["a"])])
    with pytest.raises(UsageError, match="'Pferd' is no word"):
        IBMModel.train(HOUSES).translations("Pferd")
