import math
import re

import pytest
import torch
from toy_steppers import Bigram, Recurrent, forced, next_log_p, sentence
from typer.testing import CliRunner

from lexigraph.abilities.language import LanguageModel
from lexigraph.cli import app
from lexigraph.decoding import beam_search, filter_logits, generate
from lexigraph.decoding.choices import SentenceRng
from lexigraph.decoding.sampling import inverse_cdf
from lexigraph.errors import LexigraphError

EOS, INF = 0, float("inf")
LADDER = [0.5, 0.25, 0.125, 0.125]


def kept(row: torch.Tensor) -> list[int]:
    return (row > -INF).nonzero()[:, 0].tolist()


@pytest.mark.parametrize(
    ("top_k", "top_p", "expected"),
    [
        (0, 1.0, [0, 1, 2, 3]),
        (1, 1.0, [0]),
        (3, 1.0, [0, 1, 2]),  # the tie between 2 and 3 goes to the lower id
        (9, 1.0, [0, 1, 2, 3]),
        (0, 0.3, [0]),  # never empty
        (0, 0.5, [0]),  # 0.5 is reached by one token
        (0, 0.51, [0, 1]),
        (0, 0.75, [0, 1]),
        (0, 0.8, [0, 1, 2]),
        (2, 0.6, [0]),  # after top-2 the masses are 2/3 and 1/3
        (2, 0.7, [0, 1]),
    ],
)
def test_filters_keep_the_tokens_worked_out_by_hand(top_k, top_p, expected):
    assert kept(filter_logits(torch.tensor([LADDER]).log(), 1.0, top_k, top_p)[0]) == expected


def test_top_p_after_temperature_and_in_any_order_of_ids():
    logits = torch.tensor([[0.1, 0.6, 0.3]]).log()
    # temperature 0.5 squares the probabilities: 1 : 36 : 9, so 36/46 = 0.78 and 45/46 = 0.98
    assert kept(filter_logits(logits, 0.5, 0, 0.75)[0]) == [1]
    assert kept(filter_logits(logits, 0.5, 0, 0.9)[0]) == [1, 2]
    squared = filter_logits(logits, 0.5).softmax(1)
    torch.testing.assert_close(squared, torch.tensor([[1.0, 36.0, 9.0]]) / 46)


@pytest.mark.parametrize("flatness", [0.05, 1.0, 5.0])
def test_the_nucleus_of_a_large_vocabulary_is_that_of_a_plain_loop(flatness):
    """Flat rows need more tokens than are sorted at first; rounding makes many of them equal."""
    generator = torch.Generator().manual_seed(0)
    logits = (torch.randn(4, 1000, generator=generator) * flatness).bfloat16().double()
    found = filter_logits(logits, 1.0, 0, 0.9)
    for row, filtered in zip(logits.softmax(1).tolist(), found, strict=True):
        expected, mass = [], 0.0
        for token in sorted(range(1000), key=lambda v: (-row[v], v)):
            if mass >= 0.9 - 1e-6:
                break
            expected.append(token)
            mass += row[token]
        assert kept(filtered) == sorted(expected)


def test_inverse_cdf_by_hand():
    logits = torch.tensor([[0.0, 0.5, 0.0, 0.5, 0.0]]).log().expand(5, 5)
    uniform = torch.tensor([0.0, 0.49, 0.51, 0.99, 1 - 2**-53], dtype=torch.float64)
    assert inverse_cdf(logits, uniform).tolist() == [1, 1, 3, 3, 3]


def test_greedy_takes_the_most_probable_token_and_reports_its_probability():
    chain = Bigram([[1, 0, 0], [0.1, 0.2, 0.7], [0.8, 0.1, 0.1]])
    [hypothesis] = generate(chain, {"last": torch.tensor([1])}, eos=EOS, max_new=9, temperature=0)
    assert (hypothesis.tokens, hypothesis.finished, hypothesis.produced) == ((2,), True, 2)
    assert hypothesis.log_probability == pytest.approx(math.log(0.7 * 0.8))


def test_greedy_on_random_networks_is_the_argmax_of_every_prefix():
    network = Recurrent(7, seed=1)
    batch = network.batch(6)
    for i, found in enumerate(generate(network, batch, eos=EOS, max_new=8, temperature=0)):
        produced = found.tokens + (EOS,) * found.finished
        for t, token in enumerate(produced):
            scores = next_log_p(network, sentence(batch, i), produced[:t])
            assert token == max(range(7), key=scores.__getitem__)
        assert found.log_probability == pytest.approx(forced(network, sentence(batch, i), produced), abs=1e-5)
        assert found.finished or len(found.tokens) == 8


def test_finished_sentences_leave_the_batch_and_greedy_never_selects():
    # 4 → 3 → 2 → 1 → end: a sentence that starts after token i produces i − 1 tokens and the end
    chain = Bigram([[1, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]])
    found = generate(chain, {"last": torch.tensor([2, 4, 1, 3])}, eos=EOS, max_new=9, temperature=0)
    assert [h.tokens for h in found] == [(1,), (3, 2, 1), (), (2, 1)]
    assert chain.rows == [3, 2, 1]
    assert chain.calls == ["keep"] * 3


def test_max_new_counts_the_end_token_and_cuts_what_has_not_ended():
    chain = Bigram([[1, 0, 0], [0, 0, 1], [1, 0, 0]])  # 1 → 2 → end
    for max_new, expected in ((1, ((2,), False)), (2, ((2,), True))):
        [h] = generate(chain, {"last": torch.tensor([1])}, eos=EOS, max_new=max_new, temperature=0)
        assert (h.tokens, h.finished) == expected


@pytest.mark.parametrize("options", [{}, {"top_k": 3}, {"top_p": 0.8}, {"temperature": 1.7}, {"min_new": 3}])
def test_a_sample_is_the_same_alone_and_in_a_batch_and_its_score_is_the_models(options):
    network = Recurrent(11, seed=2)
    batch = network.batch(8)
    seeds = list(range(50, 58))
    together = generate(network, batch, eos=EOS, max_new=12, seeds=seeds, **options)
    assert len({h.tokens for h in together}) > 4
    for i, found in enumerate(together):
        assert len(found.tokens) >= options.get("min_new", 0)
        [alone] = generate(network, sentence(batch, i), eos=EOS, max_new=12, seeds=[seeds[i]], **options)
        assert alone.tokens == found.tokens
        produced = found.tokens + (EOS,) * found.finished
        assert found.log_probability == pytest.approx(forced(network, sentence(batch, i), produced), abs=1e-5)


def test_a_longer_sample_begins_like_a_shorter_one():
    network = Recurrent(11, seed=3)
    batch = network.batch(4)
    short, long = (generate(network, batch, eos=EOS, max_new=n, seeds=[7] * 4, min_new=9) for n in (4, 9))
    assert [h.tokens for h in short] == [h.tokens[:4] for h in long]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, LADDER),
        ({"top_k": 2}, [2 / 3, 1 / 3, 0, 0]),
        ({"temperature": 0.5}, [32 / 44, 8 / 44, 2 / 44, 2 / 44]),
        ({"banned": (0,)}, [0, 0.5, 0.25, 0.25]),
    ],
)
def test_samples_follow_the_filtered_distribution(options, expected):
    n = 8000
    chain = Bigram(torch.tensor([LADDER] * 4))
    found = generate(chain, {"last": torch.zeros(n, dtype=torch.long)}, eos=3, max_new=1, seeds=range(n), **options)
    drawn = [(*h.tokens, 3)[0] for h in found]
    for token, p in enumerate(expected):
        assert abs(drawn.count(token) / n - p) <= 4 * math.sqrt(p * (1 - p) / n)
    for token, h in zip(drawn, found, strict=True):  # the clean model's probability, whatever was filtered
        assert h.log_probability == pytest.approx(math.log(LADDER[token]))


@pytest.mark.parametrize(
    "options", [{"temperature": 0}, {"seeds": range(20)}, {"temperature": 0, "noise": 3.0, "seeds": range(20)}]
)
def test_banned_tokens_never_appear(options):
    network = Recurrent(6, seed=4)
    found = generate(network, network.batch(20), eos=EOS, max_new=10, banned=(2, 5), **options)
    assert {token for h in found for token in h.tokens} == {1, 3, 4}


def test_noise_changes_the_choice_not_the_score_and_belongs_to_the_sentence():
    network = Recurrent(9, seed=5)
    batch = network.batch(6)
    options = {"eos": EOS, "max_new": 8, "temperature": 0}
    greedy = generate(network, batch, **options)
    noisy = generate(network, batch, noise=4.0, seeds=range(6), **options)
    assert [h.tokens for h in noisy] != [h.tokens for h in greedy]
    for i, found in enumerate(noisy):
        assert generate(network, sentence(batch, i), noise=4.0, seeds=[i], **options) == [found]
        produced = found.tokens + (EOS,) * found.finished
        assert found.log_probability == pytest.approx(forced(network, sentence(batch, i), produced), abs=1e-5)
    assert generate(network, batch, noise=1e-6, seeds=range(6), **options) == greedy


def test_a_user_is_told_that_noise_is_on_logits_and_not_on_hidden_states():
    """Cho (2016) adds noise to a recurrent network's hidden state; who looks for that must not take this for it."""
    command = CliRunner().invoke(app, ["generate", "--help"], env={"COLUMNS": "300", "TERM": "dumb"}).output
    for told in (command, generate.__doc__, beam_search.__doc__, LanguageModel.generate.__doc__):
        assert re.search(r"noise.*logits, not on hidden states", " ".join(told.split()))


def test_noise_decays_as_one_over_t():
    # two tokens whose logits differ by 1, whatever came before: at step t the less probable one is taken
    # where N(0, 2 (σ/t)²) exceeds 1, so with σ = 2 at 1 − Φ(t / 2√2)
    chain = Bigram(torch.tensor([[0.0, 1.0, math.e]] * 3) / (1 + math.e))
    n = 4000
    found = generate(
        chain, {"last": torch.ones(n, dtype=torch.long)}, eos=0, max_new=8, temperature=0, noise=2.0, seeds=range(n)
    )
    for t in (1, 2, 4, 8):
        p = 0.5 * math.erfc(t / 4)  # 1 − Φ(x) = erfc(x / √2) / 2
        assert abs(sum(h.tokens[t - 1] == 1 for h in found) / n - p) < 4 * math.sqrt(p * (1 - p) / n) + 1e-3


def test_tokens_stream_out_as_they_are_chosen():
    network = Recurrent(9, seed=6)
    heard: dict[int, list[int]] = {i: [] for i in range(5)}
    found = generate(
        network,
        network.batch(5),
        eos=EOS,
        max_new=9,
        seeds=range(5),
        on_token=lambda i, token: heard[i].append(token),
    )
    assert [tuple(heard[i]) for i in range(5)] == [h.tokens for h in found]


def test_attention_has_a_line_for_each_produced_token():
    network = Recurrent(5, seed=7)
    batch = network.batch(4)
    found = generate(network, batch, eos=EOS, max_new=6, seeds=range(4), attention=True)
    assert len({h.produced for h in found}) > 1
    for i, h in enumerate(found):
        step = network.start(sentence(batch, i), 1)
        for t in range(h.produced):
            torch.testing.assert_close(h.attention[t], step.attention[0])
            if t < len(h.tokens):
                step = network.step(step.state, torch.tensor([h.tokens[t]]), attention=True)
        assert h.attention.shape == (h.produced, 3)


def test_half_precision_logits_are_normalised_in_full_precision():
    class Half(Bigram):
        def start(self, batch, width=1):
            step = super().start(batch, width)
            return type(step)(step.logits.bfloat16(), step.state)

    [h] = generate(Half([[0.25] * 4] * 4), {"last": torch.tensor([0])}, eos=3, max_new=1, temperature=0)
    assert h.log_probability == pytest.approx(math.log(0.25), abs=1e-6)


def test_no_sentences_give_no_hypotheses():
    assert (
        generate(Bigram([[1.0]]), {"last": torch.zeros(0, dtype=torch.long)}, eos=0, max_new=3, temperature=0) == []
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"max_new": 0}, "max_new"),
        ({"temperature": -1.0}, "temperature"),
        ({"top_p": 0.0}, "top_p"),
        ({"top_k": -1}, "top_k"),
        ({"seeds": None}, "one seed per sentence"),
        ({"seeds": [1, 2]}, "1 wanted, 2 given"),
        ({"seeds": [-1]}, "negative"),
        ({"noise": 1.0}, "temperature to 0"),
        ({"banned": (3,)}, "outside the model's vocabulary of 3"),
        ({"banned": (0, 1, 2)}, "cannot be continued"),
        ({"banned": (0, 1, 2), "temperature": 0.0}, "cannot be continued"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_sentence(options, words):
    chain = Bigram([[0.2, 0.3, 0.5]] * 3)
    with pytest.raises(LexigraphError, match=words):
        generate(chain, {"last": torch.tensor([0])}, **{"eos": 0, "max_new": 3, "seeds": [0], **options})


def test_a_model_that_gives_nan_is_reported():
    with pytest.raises(LexigraphError, match="not numbers"):
        generate(Bigram([[float("nan")] * 2] * 2), {"last": torch.tensor([0])}, eos=0, max_new=2, temperature=0)


def test_each_seed_has_its_own_numbers():
    assert torch.equal(SentenceRng([3, 4], 2).uniforms(5)[1], SentenceRng([4], 1).uniforms(9)[0, :5])
    assert not torch.equal(*SentenceRng([3, 4], 2).uniforms(5))
