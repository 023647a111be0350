"""T5: what it reads and writes when it learns from plain text, and positions that are only distances."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.models import t5
from lexigraph.nn.relative_bias import RelativeBias, bucket
from tests.ids import ids

EOS, SENTINELS = 2, range(3, 19)
PUBLISHED = range(59, 51, -1)  # counted down from the end


def network_of(noise: str = "spans", sentinels: range = SENTINELS[:8]) -> t5.T5:
    torch.manual_seed(0)
    objective = t5.Objective(noise=noise, mask_rate=0.3, mean_span=2.0)  # type: ignore[arg-type]
    config = t5.Config(layers=2, heads=2, dim=16, context=40)
    return t5.T5(config, objective, ids(60, sentinels=sentinels)).eval()


def prepared(network: t5.T5, tokens: list[int], seed: int) -> tuple[list[int], list[int], list[int]]:
    """Source, inputs and targets of one text."""
    batch = network.prepare({"text": [np.array([EOS, *tokens, EOS], np.uint16)]}, {"": np.array([seed])})
    return batch["source"][0].tolist(), batch["inputs"][0].tolist(), batch["targets"][0].tolist()


@pytest.mark.parametrize("noise", ["spans", "replaced"])
def test_sentinels_say_where_what_is_missing_belongs(noise):
    network, tokens = network_of(noise, sentinels=SENTINELS), list(range(20, 50))
    for seed in range(10):
        source, inputs, target = prepared(network, tokens, seed)
        assert source[-1] == target[-1] == EOS
        assert inputs == [0, *target[:-1]]  # the decoder begins with <pad>
        missing: dict[int, list[int]] = {}
        for token in target[:-1]:
            if token in SENTINELS:
                missing[token] = []
            else:
                missing[max(missing)].append(token)
        assert list(missing) == list(SENTINELS)[: len(missing)]
        whole = [part for token in source[:-1] for part in missing.get(token, [token])]
        assert whole == tokens


def test_the_other_ways_of_the_paper():
    tokens = list(range(20, 50))
    source, _, target = prepared(network_of("prefix"), tokens, 0)
    assert source[:-1] + target[:-1] == tokens
    source, _, target = prepared(network_of("deshuffle"), tokens, 0)
    assert source[:-1] != tokens
    assert sorted(source[:-1]) == target[:-1] == tokens
    source, _, target = prepared(network_of("dropped"), tokens, 0)
    assert sorted(source[:-1] + target[:-1]) == tokens
    for noise in ("mass", "bert"):
        source, _, target = prepared(network_of(noise), tokens, 0)
        assert target[:-1] == tokens
        changed = [token for token, right in zip(source, tokens, strict=False) if token != right]
        assert changed
        assert noise == "bert" or set(changed) == {3}


def test_scores_depend_on_distances_alone():
    """Behind a prefix that nothing looks at, a text would be read in the same way: only differences count."""
    distances = RelativeBias(3, bidirectional=True, buckets=8, farthest=20)
    bias = distances(10, 10)
    for shift in range(1, 9):
        assert torch.equal(bias[..., shift:, shift:], bias[..., :-shift, :-shift])
    assert torch.equal(distances(1, 10, 9), bias[:, :, 9:])


def test_buckets_of_a_hand_worked_table():
    distance = torch.tensor([0, 1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 1000])
    # 8 buckets one way: 0-3 by themselves, then [4, 8), [8, 16), [16, 32), and all the rest would be 8, so the last
    found = bucket(-distance, bidirectional=False, buckets=8, farthest=64)
    assert found.tolist() == [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7]
    assert bucket(distance, bidirectional=False, buckets=8, farthest=64).tolist() == [0] * 12  # what comes later


@pytest.mark.parametrize("sentinels", [range(0), range(3, 4)])
def test_a_vocabulary_must_have_sentinels(sentinels):
    with pytest.raises(LexigraphError, match=r"fewer than two.* tokenizer\.special"):
        t5.T5(t5.Config(layers=1, heads=1, dim=8), t5.Objective(), ids(40, sentinels=sentinels))


@pytest.mark.parametrize("noise", ["spans", "replaced"])
def test_fifteen_percent_of_texts_of_any_length_are_missing_by_default(noise):
    """Raffel et al. (2020), 3.1.4 and 3.3.4: a rate of 15 %, and random spans of three tokens on average."""
    config = t5.Config(layers=1, heads=1, dim=8)
    network = t5.T5(config, t5.Objective(noise=noise), ids(1000, sentinels=range(3, 103)))
    first_word = 1 + max(network.sentinels)
    for length in (20, 40, 100, 250, config.context - 1):
        row, tokens, spans = np.arange(200, 200 + length), 0, 0
        texts = 40_000 // length
        for seed in range(texts):
            source, target = network.corrupted(row, np.random.default_rng(seed))
            tokens += int((target >= first_word).sum())
            spans += int((source < first_word).sum())
        assert tokens / (texts * length) == pytest.approx(0.15, abs=0.01)
        assert noise == "replaced" or tokens / spans == pytest.approx(3, abs=0.1)


def test_sentinels_that_cannot_suffice_are_refused():
    config = t5.Config(layers=1, heads=1, dim=8, context=512)
    few, enough = (ids(1000, sentinels=range(3, 3 + count)) for count in (26, 27))
    text = {"text": [np.array([EOS, 100, 101, EOS])]}
    # 15 % of 511 tokens are 77, in 26 spans; one sentinel more ends the target
    with pytest.raises(UsageError, match=r"list 27 in tokenizer\.special, as <0> to <26> .* model\.context"):
        t5.T5(config, t5.Objective(), few).prepare(text)
    t5.T5(config, t5.Objective(), enough).prepare(text)
    t5.T5(config, t5.Objective(noise="dropped"), few).prepare(text)  # needs none
    t5.T5(config, t5.Objective(), few).prepare({"source": text["text"], "target": text["text"]})


def test_a_run_whose_sentinels_cannot_suffice_is_refused_before_it_begins(tmp_path):
    with pytest.raises(UsageError, match=r"sentinels are too few"):
        api.prepare("t5", "grammar", tmp_path / "run", tiny=True, quiet=True, set={"model.context": 256})
    assert not (tmp_path / "run").exists()


def test_published_models_count_their_sentinels_down():
    network = network_of(sentinels=PUBLISHED)
    assert network.sentinels == [59, 58, 57, 56, 55, 54, 53, 52]
    source, _, target = prepared(network, list(range(20, 50)), 0)
    assert [token for token in source if token > 51] == [t for t in target if t > 51][:-1]
    assert target[0] == 59


def test_words_that_are_put_in_for_others_are_never_sentinels():
    network, tokens = network_of("bert", PUBLISHED), list(range(20, 50))
    mask, others = 59, range(52, 59)  # sentinels 59 … 52, of which the first hides words
    for seed in range(200):
        source, _, _ = prepared(network, tokens, seed)
        assert not set(source) & set(others)
    assert mask in source
