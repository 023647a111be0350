"""BART: what it reads and writes when it learns from plain text, and the way to a translator."""

from __future__ import annotations

from itertools import chain, groupby, permutations

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph.errors import LexigraphError
from lexigraph.models import bart

EOS, MASK = 2, 3


def network_of(objective: bart.Objective = bart.Objective(), **more: int) -> bart.BART:  # noqa: B008
    torch.manual_seed(0)
    return bart.BART(bart.Config(layers=1, heads=2, dim=16, context=40, **more), objective, 60).eval()


def row_of(tokens: list[int]) -> np.ndarray:
    return np.array([EOS, *tokens, EOS], np.uint16)


def test_it_reads_the_text_with_spans_hidden_and_writes_all_of_it():
    tokens = list(range(10, 30))
    batch = network_of().prepare({"text": [row_of(tokens)], "seeds": np.array([4])})
    assert batch["targets"][0].tolist() == [*tokens, EOS]
    assert batch["inputs"][0].tolist() == [EOS, *tokens]
    source = batch["source"][0].tolist()
    assert source[-1] == EOS
    seen = [token for token in source[:-1] if token != MASK]
    assert len(seen) == 14  # 30 % are hidden
    assert seen == sorted(set(seen) & set(tokens))
    assert MASK in source


def test_a_text_is_spoilt_alike_in_any_company_but_otherwise_in_each_epoch():
    network, rows = network_of(), [row_of(list(range(10, 10 + n))) for n in (20, 8, 15)]
    together, alone = network.prepare({"text": rows}), network.prepare({"text": rows[1:2]})
    length = int(alone["source_lengths"][0])
    assert torch.equal(together["source"][1, :length], alone["source"][0, :length])
    epochs = [network.prepare({"text": rows[:1], "seeds": np.array([seed])})["source"].tolist() for seed in range(5)]
    assert len({str(source) for source in epochs}) == 5


def test_units_inside_a_window_of_a_stream_change_places():
    network = network_of(bart.Objective(noise="masking", rate=0.0))  # one token is hidden in any case
    units = ([10, 11, EOS], [20, 21, 22, EOS], [30, 31, EOS])
    row = np.array([EOS, *chain(*units), 5])
    orders = set()
    for seed in range(40):
        batch = network.prepare({"text": [row], "seeds": np.array([seed])})
        assert batch["targets"][0].tolist() == [*chain(*units), EOS]
        seen = [token // 10 for token in batch["source"][0].tolist() if token > MASK]
        orders.add(tuple(unit for unit, _ in groupby(seen)))
    assert orders == set(permutations((1, 2, 3)))


@pytest.mark.parametrize("noise", ["infilling", "masking", "deletion", "rotation"])
@pytest.mark.parametrize("length", [0, 1, 2, 39])
def test_texts_of_any_length_fit(noise, length):
    network = network_of(bart.Objective(noise=noise, rate=0.6, mean=0.1))
    batch = network.prepare({"text": [row_of(list(range(10, 10 + length)))]})
    assert batch["source"].shape[1] <= 40
    assert torch.isfinite(network.loss(batch)[0]["loss"].total)


def test_a_token_before_every_text_is_given_not_predicted():
    network = network_of(begin=4)
    batch = network.prepare({"source": [row_of([10, 11])], "target": [row_of([20, 21])]})
    assert batch["source"].tolist() == [[4, 10, 11, EOS]]
    assert batch["inputs"].tolist() == [[EOS, 4, 20, 21]]
    assert batch["targets"].tolist() == [[-100, 20, 21, EOS]]
    with torch.inference_mode():
        step = network.start({"ids": batch["source"], "lengths": torch.tensor([4])})
        step = network.step(step.state, torch.tensor([20]))
    full = network(batch["source"], batch["inputs"])[0, 2]
    assert torch.allclose(step.logits[0], full, atol=1e-5)


def test_the_mask_must_be_a_special_token(tmp_path):
    with pytest.raises(LexigraphError, match=r"list them in tokenizer\.special"):
        api.train("bart", "grammar", tmp_path / "run", tiny=True, quiet=True, set={"tokenizer.special": []})


def test_a_model_of_plain_text_becomes_a_translator(tmp_path):
    api.train("bart", "grammar", tmp_path / "plain", tiny=True, quiet=True)
    changes = {"data.unit": "pair", "data.sentences": 200}
    model = api.train(
        "bart", "grammar", tmp_path / "pairs", start=tmp_path / "plain", tiny=True, quiet=True, set=changes
    )
    before = api.load(tmp_path / "plain")
    assert model.tokenizer.fingerprint == before.tokenizer.fingerprint
    assert len(model.translate(["She sang ."])) == 1


def test_it_learns_from_a_stream(tmp_path):
    changes = {"data.unit": "stream", "train.batch_tokens": 192}
    model = api.train("bart", "grammar", tmp_path / "run", tiny=True, quiet=True, set=changes)
    weight = model.network.norm_embedding.weight
    assert not torch.equal(weight, torch.ones_like(weight))  # as which it was born
    assert len(model.translate(["She sang ."])) == 1
