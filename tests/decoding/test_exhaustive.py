import math

import pytest
import torch
from toy_steppers import Bigram, Recurrent, forced, sentence

from lexigraph.decoding import enumerate_texts, exhaustive_search
from lexigraph.errors import LexigraphError


@pytest.mark.parametrize(("vocabulary", "max_new"), [(2, 1), (2, 7), (3, 4), (5, 3)])
def test_the_probabilities_of_all_texts_sum_to_one(vocabulary, max_new):
    network = Recurrent(vocabulary, seed=vocabulary)
    for texts in enumerate_texts(network, network.batch(3), eos=1, max_new=max_new):
        assert math.fsum(math.exp(h.log_probability) for h in texts) == pytest.approx(1, abs=1e-5)
        others = vocabulary - 1
        assert sum(h.finished for h in texts) == sum(others**m for m in range(max_new))
        assert sum(not h.finished for h in texts) == others**max_new
        assert len({(h.tokens, h.finished) for h in texts}) == len(texts)


def test_every_text_has_the_probability_of_teacher_forcing():
    network = Recurrent(4, seed=3)
    batch = network.batch(2)
    for i, texts in enumerate(enumerate_texts(network, batch, eos=0, max_new=3, banned=(2,), alpha=0.5)):
        assert len(texts) == 1 + 2 + 4 + 8
        for h in texts:
            produced = h.tokens + (0,) * h.finished
            assert 2 not in produced
            assert h.log_probability == pytest.approx(forced(network, sentence(batch, i), produced), abs=1e-5)
            assert h.score == pytest.approx(h.log_probability / math.sqrt(len(produced)))


def test_the_best_text_by_hand():
    # after 1: end 0.3, again 0.7; so n repetitions and the end have 0.3 · 0.7^n, and the plain sum prefers none
    toy, batch = Bigram([[1.0, 0], [0.3, 0.7]]), {"last": torch.tensor([1])}
    assert exhaustive_search(toy, batch, eos=0, max_new=5, alpha=0)[0][0].tokens == ()
    # the mean prefers the longest: (log 0.3 + n log 0.7) / (n + 1) grows with n
    assert exhaustive_search(toy, batch, eos=0, max_new=5, alpha=1)[0][0].tokens == (1, 1, 1, 1)


def test_too_many_texts_are_refused():
    network = Recurrent(10, seed=0)
    with pytest.raises(LexigraphError, match=r"10\^7 texts, more than 1000000"):
        exhaustive_search(network, network.batch(1), eos=0, max_new=7)


def test_only_the_end_token_allowed():
    toy, batch = Bigram([[0.5, 0.5]] * 2), {"last": torch.tensor([1])}
    [texts] = enumerate_texts(toy, batch, eos=0, max_new=3, banned=(1,))
    assert [h.tokens for h in texts] == [()]
