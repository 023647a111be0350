import math

import pytest
import torch
from toy_steppers import Bigram, Recurrent, forced, next_log_p, sentence

from lexigraph.decoding import beam_search, exhaustive_search, generate
from lexigraph.errors import LexigraphError, UsageError

EOS, A, B = 0, 1, 2
START = 3  # a token that is only ever the start of a chain
RULES = ("finished", "length")


def chain(start: list[float], after_a: list[float], after_b: list[float]) -> tuple[Bigram, dict]:
    table = [[1.0, 0, 0, 0], [*after_a, 0], [*after_b, 0], [*start, 0]]
    return Bigram(table), {"last": torch.tensor([START])}


def search_by_definition(
    stepper, batch, *, eos, width, max_new, alpha, stop, n_best, banned=(), length="power", coverage=0.0
):
    """Beam search from the words in beam.py's head: prefixes in lists, no batches, no early stop, no cache."""

    def probable(hypothesis):
        produced = len(hypothesis[0])
        return hypothesis[1] / ((5 + produced) / 6 if length == "gnmt" else produced) ** alpha

    def score(hypothesis):
        if not coverage or hypothesis[0][-1] != eos:
            return probable(hypothesis)
        return probable(hypothesis) + coverage * read_by(stepper, batch, hypothesis[0][:-1])

    live, ended = [((), 0.0)], []
    for _ in range(max_new):
        candidates = [
            ((*prefix, token), total + log_p)
            for prefix, total in live
            for token, log_p in enumerate(next_log_p(stepper, batch, prefix))
            if token not in banned
        ]
        if stop == "length":
            beam = sorted(candidates + ended, key=score, reverse=True)[:width]
            ended = [h for h in beam if h[0][-1] == eos]
            live = [h for h in beam if h[0][-1] != eos]
        else:
            candidates.sort(key=probable, reverse=True)
            ended += [h for h in candidates[:width] if h[0][-1] == eos]
            live = [h for h in candidates if h[0][-1] != eos][:width]
    ended.sort(key=score, reverse=True)
    live.sort(key=score, reverse=True)
    best = sorted(ended + live, key=score, reverse=True) if stop == "length" else ended + live
    return [(h[0], h[1], score(h)) for h in best[:n_best]]


def read_by(stepper, batch, tokens):
    """Σ_s log(min(Σ_t a_ts, 1)) while these tokens and the end were written."""
    step = stepper.start(batch, 1)
    seen = step.attention[0]
    for token in tokens:
        step = stepper.step(step.state, torch.tensor([token]), attention=True)
        seen = seen + step.attention[0]
    return float(seen.clamp(max=1).log().sum())


def check_same(found, expected, eos):
    assert [h.tokens + (eos,) * h.finished for h in found] == [tokens for tokens, _, _ in expected]
    for h, (_, total, score) in zip(found, expected, strict=True):
        assert h.log_probability == pytest.approx(total, abs=1e-5)
        assert h.score == pytest.approx(score, abs=1e-5)


@pytest.mark.parametrize("stop", RULES)
def test_a_beam_of_two_leaves_the_garden_path(stop):
    # greedy: a (0.6), end (0.4) = 0.24; better: b (0.4), end (0.9) = 0.36
    toy, batch = chain([0, 0.6, 0.4], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05])
    options = {"eos": EOS, "max_new": 4, "alpha": 0, "stop": stop}
    [[one]] = beam_search(toy, batch, width=1, **options)
    [two] = beam_search(toy, batch, width=2, n_best=2, **options)
    assert (one.tokens, one.finished) == ((A,), True)
    assert one.log_probability == pytest.approx(math.log(0.24))
    assert [h.tokens for h in two] == [(B,), (A,)]
    assert [h.score for h in two] == pytest.approx([math.log(0.36), math.log(0.24)])


def test_the_rules_differ_where_a_longer_text_overtakes_a_finished_one():
    # width 1, α = 1: the end (log 0.5 = −0.69) beats a (log 0.4 = −0.92); but a a end is −0.92 / 3 = −0.31
    toy, batch = chain([0.5, 0.4, 0.1], [0, 0.0, 1.0], [1.0, 0, 0])
    options = {"eos": EOS, "width": 1, "max_new": 3, "alpha": 1}
    [[length]] = beam_search(toy, batch, stop="length", **options)
    [[finished]] = beam_search(toy, batch, stop="finished", **options)
    assert (length.tokens, length.score) == ((), pytest.approx(math.log(0.5)))
    assert (finished.tokens, finished.score) == ((A, B), pytest.approx(math.log(0.4) / 3))


def test_under_length_a_finished_hypothesis_is_sorted_with_the_others_and_can_be_pushed_out():
    # α = 1, width 2. Step 1: a −0.69, end −0.92. Step 2: aa −1.39/2 = −0.69, ab −1.49/2 = −0.75: the end is out.
    # Step 3: aaa 0.125 → −0.693, aab 0.1125 → −0.728, aba 0.11025 → −0.735
    toy, batch = chain([0.4, 0.5, 0.1], [0.05, 0.5, 0.45], [0.02, 0.49, 0.49])
    options = {"eos": EOS, "width": 2, "max_new": 3, "alpha": 1, "n_best": 2}
    [length] = beam_search(toy, batch, stop="length", **options)
    assert [(h.tokens, h.finished) for h in length] == [((A, A, A), False), ((A, A, B), False)]
    assert [h.score for h in length] == pytest.approx([math.log(0.125) / 3, math.log(0.1125) / 3])
    [finished] = beam_search(toy, batch, stop="finished", **options)
    assert [(h.tokens, h.finished) for h in finished] == [((), True), ((A, A, A), False)]


@pytest.mark.parametrize("stop", RULES)
@pytest.mark.parametrize("alpha", [0, 0.7, 1.3])
@pytest.mark.parametrize("seed", range(4))
def test_batched_search_is_the_search_of_the_definition(stop, alpha, seed):
    """So the early stop changes nothing, and select and keep mix up nothing."""
    network = Recurrent(6, seed)
    batch = network.batch(5, seed)
    options = {"eos": EOS, "width": 3, "max_new": 6, "alpha": alpha, "stop": stop, "n_best": 3, "banned": (5,)}
    for i, found in enumerate(beam_search(network, batch, **options)):
        check_same(found, search_by_definition(network, sentence(batch, i), **options), EOS)


@pytest.mark.parametrize("stop", RULES)
@pytest.mark.parametrize("coverage", [0.0, 0.3, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_scores_may_be_those_of_gnmt(stop, coverage, seed):
    network = Recurrent(6, seed)
    batch = network.batch(5, seed, positions=4)
    options = {"eos": EOS, "width": 3, "max_new": 6, "alpha": 0.9, "stop": stop, "n_best": 3, "length": "gnmt"}
    options["coverage"] = coverage
    for i, found in enumerate(beam_search(network, batch, **options)):
        check_same(found, search_by_definition(network, sentence(batch, i), **options), EOS)


def test_padding_of_a_source_need_not_be_read():
    network = Recurrent(6, 0)
    batch = network.batch(2, positions=3)
    lengths = {"lengths": torch.tensor([3, 1])}
    options = {"eos": EOS, "width": 3, "max_new": 5, "alpha": 0.0}
    penalised = beam_search(network, batch | lengths, coverage=1.0, n_best=3, attention=True, **options)[1]
    for h in [h for h in penalised if h.finished]:
        assert h.score == pytest.approx(h.log_probability + min(0.0, math.log(float(h.attention[:, 0].sum()))))


def test_coverage_needs_a_model_that_looks():
    toy, batch = chain([0, 0.6, 0.4], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05])
    with pytest.raises(UsageError, match="does not say where it looks"):
        beam_search(toy, batch, eos=EOS, width=2, max_new=3, coverage=0.2)


@pytest.mark.parametrize("stop", RULES)
@pytest.mark.parametrize("options", [{}, {"noise": 2.0}, {"attention": True}])
def test_a_sentence_gets_the_same_answer_alone_and_in_a_batch(stop, options):
    network = Recurrent(20, seed=6)
    batch = network.batch(7)
    search = {"eos": EOS, "width": 4, "max_new": 12, "n_best": 4, "stop": stop, **options}
    together = beam_search(network, batch, seeds=range(7), **search)
    assert network.rows[-1] < network.rows[0], "sentences end at different times"
    for i, found in enumerate(together):
        [alone] = beam_search(network, sentence(batch, i), seeds=[i], **search)
        assert alone == found
        for h in found:
            produced = h.tokens + (EOS,) * h.finished
            assert h.log_probability == pytest.approx(forced(network, sentence(batch, i), produced), abs=1e-5)
            assert h.score == pytest.approx(h.log_probability / len(produced) ** 0.7)


@pytest.mark.parametrize("stop", RULES)
@pytest.mark.parametrize("seed", range(3))
def test_width_one_without_length_penalty_is_greedy_search(stop, seed):
    network = Recurrent(9, seed)
    batch = network.batch(8, seed)
    options = {"eos": EOS, "max_new": 7, "banned": (3,), "min_new": seed}
    greedy = generate(network, batch, temperature=0, **options)
    beam = beam_search(network, batch, width=1, alpha=0, stop=stop, **options)
    assert [(h.tokens, h.finished) for [h] in beam] == [(h.tokens, h.finished) for h in greedy]
    assert [h.log_probability for [h] in beam] == pytest.approx([h.log_probability for h in greedy])


@pytest.mark.parametrize("stop", RULES)
@pytest.mark.parametrize("alpha", [0, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_enough_beam_is_exhaustive(stop, alpha, seed):
    network = Recurrent(4, seed)
    batch = network.batch(3, seed)
    options = {"eos": EOS, "max_new": 4, "alpha": alpha, "n_best": 10, "stop": stop}
    # 3 + 9 + 27 endings and 81 live hypotheses: with 200 positions none is ever cut
    beam = beam_search(network, batch, width=200, **options)
    every = exhaustive_search(network, batch, **options)
    assert [[h.tokens for h in found] for found in beam] == [[h.tokens for h in found] for found in every]
    for found, reference in zip(beam, every, strict=True):
        assert [h.score for h in found] == pytest.approx([h.score for h in reference], abs=1e-5)


def test_a_wider_beam_never_holds_a_text_twice_and_is_sorted():
    network = Recurrent(5, seed=9)
    for stop in RULES:
        for found in beam_search(network, network.batch(4), eos=EOS, width=30, max_new=5, n_best=30, stop=stop):
            assert len({(h.tokens, h.finished) for h in found}) == len(found)
            finished = [h.score for h in found if h.finished or stop == "length"]
            assert finished == sorted(finished, reverse=True)


def test_a_search_stops_as_soon_as_nothing_can_change():
    # the end has probability 0.9 after a: with α = 0 no live hypothesis can beat 0.9 after two tokens
    toy, batch = chain([0, 1.0, 0], [0.9, 0.05, 0.05], [0.9, 0.05, 0.05])
    [[h]] = beam_search(toy, batch, eos=EOS, width=2, max_new=50, alpha=0)
    assert h.tokens == (A,)
    assert len(toy.rows) == 1  # one step after the start
    # under `length`, a beam of finished hypotheses only (0.9, and 0.045 · 0.9 twice, cut to one) cannot change
    toy.rows.clear()
    beam_search(toy, batch, eos=EOS, width=2, max_new=50, alpha=0, stop="length")
    assert len(toy.rows) < 5


def test_finished_sentences_leave_the_batch_with_all_their_rows():
    # 4 → 3 → 2 → 1 → end with certainty
    toy = Bigram([[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]])
    for stop in RULES:
        toy.rows.clear()
        toy.calls.clear()
        last = torch.tensor([2, 4, 1, 3])
        found = beam_search(toy, {"last": last}, eos=EOS, width=2, max_new=9, stop=stop)
        assert [h.tokens for [h] in found] == [(1,), (3, 2, 1), (), (2, 1)]
        assert toy.rows == [6, 4, 2]
        assert toy.calls == ["keep"] * 3  # the order never changes, so nothing is selected


def test_rows_are_selected_at_most_once_per_step():
    network = Recurrent(12, seed=10)
    beam_search(network, network.batch(1), eos=EOS, width=5, max_new=10, stop="length", banned=(EOS,))
    assert len(network.rows) == 9
    assert 0 < network.calls.count("select") <= 8  # never after the start, when all rows are equal


@pytest.mark.parametrize("stop", RULES)
def test_banned_tokens_never_appear_and_min_new_holds(stop):
    network = Recurrent(6, seed=11)
    found = beam_search(
        network, network.batch(10), eos=EOS, width=8, n_best=8, max_new=6, banned=(2, 5), min_new=3, stop=stop
    )
    assert {token for hypotheses in found for h in hypotheses for token in h.tokens} == {1, 3, 4}
    assert min(len(h.tokens) for hypotheses in found for h in hypotheses) == 3


def test_fewer_texts_than_places_gives_those_there_are():
    toy, batch = chain([0.5, 0.5, 0], [1.0, 0, 0], [1.0, 0, 0])  # only two texts are possible
    for stop in RULES:
        [found] = beam_search(toy, batch, eos=EOS, width=6, n_best=6, max_new=5, stop=stop, alpha=1)
        assert [(h.tokens, h.finished) for h in found] == [((A,), True), ((), True)]


def test_noise_reports_the_clean_score_and_vanishes_with_sigma():
    network = Recurrent(9, seed=12)
    batch = network.batch(6)
    options = {"eos": EOS, "width": 3, "max_new": 8}
    clean = beam_search(network, batch, **options)
    assert beam_search(network, batch, noise=1e-7, seeds=range(6), **options) == clean
    noisy = beam_search(network, batch, noise=8.0, seeds=range(6), **options)
    assert [h.tokens for [h] in noisy] != [h.tokens for [h] in clean]


@pytest.mark.parametrize("stop", RULES)
def test_attention_follows_the_hypothesis_through_the_beam(stop):
    network = Recurrent(6, seed=13)
    batch = network.batch(3)
    found = beam_search(network, batch, eos=EOS, width=4, n_best=4, max_new=6, stop=stop, attention=True)
    for i, hypotheses in enumerate(found):
        for h in hypotheses:
            step = network.start(sentence(batch, i), 1)
            for t in range(h.produced):
                torch.testing.assert_close(h.attention[t], step.attention[0])
                if t < len(h.tokens):
                    step = network.step(step.state, torch.tensor([h.tokens[t]]), attention=True)
            assert h.attention.shape == (h.produced, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"width": 0}, "width is 0"),
        ({"n_best": 3}, "between 1 and the beam width, 2"),
        ({"alpha": -1}, "alpha"),
        ({"stop": "later"}, "'finished' or 'length'"),
        ({"coverage": -0.1}, "coverage is -0.1"),
        ({"noise": 1.0}, "one seed per sentence"),
        ({"eos": 9}, "outside the model's vocabulary of 4"),
        ({"banned": (0, 1, 2, 3)}, "found nothing for sentence 0"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(options, words):
    toy, batch = chain([0.2, 0.3, 0.5], [0.2, 0.3, 0.5], [0.2, 0.3, 0.5])
    if "stop" in options:  # the type checker of the tests would speak first
        from lexigraph.decoding.beam import _check

        with pytest.raises(LexigraphError, match=words):
            _check(2, 0.7, "power", 0.0, 1, options["stop"], 0.0)
        return
    with pytest.raises(LexigraphError, match=words):
        beam_search(toy, batch, **{"eos": EOS, "width": 2, "max_new": 3, **options})


def test_a_model_that_gives_nan_is_reported():
    with pytest.raises(LexigraphError, match="not numbers at token 1"):
        beam_search(Bigram([[math.nan] * 2] * 2), {"last": torch.tensor([0])}, eos=0, width=2, max_new=2)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("stop", RULES)
def test_searches_run_on_a_gpu_with_the_same_answers(stop):
    network = Recurrent(20, seed=14)
    batch = network.batch(7)
    there = {name: value.cuda() for name, value in batch.items()}
    beam = {"eos": EOS, "width": 4, "max_new": 12, "n_best": 4, "stop": stop, "attention": True, "banned": (3,)}
    samples = {"eos": EOS, "max_new": 12, "seeds": range(7), "top_p": 0.9, "attention": True, "banned": (3,)}
    noisy = {**samples, "temperature": 0, "noise": 1.0}
    here = [
        beam_search(network, batch, **beam),
        generate(network, batch, **samples),
        generate(network, batch, **noisy),
    ]
    network.to("cuda")
    gpu = [
        beam_search(network, there, **beam),
        generate(network, there, **samples),
        generate(network, there, **noisy),
    ]
    assert [[h.tokens for h in found] for found in here[0]] == [[h.tokens for h in found] for found in gpu[0]]
    assert [[h.tokens for h in found] for found in here[1:]] == [[h.tokens for h in found] for found in gpu[1:]]
