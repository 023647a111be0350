"""BART: what it reads and writes when it learns from plain text, and the way to a translator."""

from __future__ import annotations

from itertools import groupby, permutations

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph.errors import LexigraphError
from lexigraph.models import bart
from lexigraph.objectives.masked import Words
from lexigraph.run import Run
from lexigraph.training.distribution import World
from tests.ids import ids

EOS, MASK = 2, 3


def network_of(objective: bart.Objective = bart.Objective(), begin: int = EOS) -> bart.BART:  # noqa: B008
    torch.manual_seed(0)
    config = bart.Config(layers=1, heads=2, dim=16, context=40)
    return bart.BART(config, objective, ids(60, mask=MASK, begin=begin)).eval()


def row_of(tokens: list[int]) -> np.ndarray:
    return np.array([EOS, *tokens, EOS], np.uint16)


def test_it_reads_the_text_with_spans_hidden_and_writes_all_of_it():
    tokens = list(range(10, 30))
    batch = network_of().prepare({"text": [row_of(tokens)]}, {"": np.array([4])})
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
    epochs = [network.prepare({"text": rows[:1]}, {"": np.array([seed])})["source"].tolist() for seed in range(5)]
    assert len({str(source) for source in epochs}) == 5


def test_sentences_change_places_within_their_document():
    """Lewis et al. (2020): a document is divided into sentences by its full stops, and these are shuffled."""
    network = network_of(bart.Objective(noise="masking", mask_rate=0.0))  # one token is hidden in any case
    stop = 5
    begins = np.ones(60, bool)
    network.words = Words(begins, ~begins, np.arange(60) == stop, 4)
    first = [10, 11, stop, 20, 21, 22, stop, stop, 30, 31, stop]  # two stops in a row end one sentence
    second = [40, stop, 50, 51]  # its end is in the next window
    row = np.array([EOS, *first, EOS, *second, 7])
    orders = set()
    for seed in range(200):
        batch = network.prepare({"text": [row]}, {"": np.array([seed])})
        assert batch["targets"][0].tolist() == [*first, EOS, *second, EOS]
        source = batch["source"][0].tolist()
        assert source[len(first)] == EOS  # between documents
        seen = [token // 10 for token in source if token > 7]
        orders.add(tuple(sentence for sentence, _ in groupby(seen)))
    # one token is hidden, which may be all that a sentence of one word has
    assert {order for order in orders if len(order) == 5} == {
        (*one, *other) for one in permutations((1, 2, 3)) for other in permutations((4, 5))
    }


@pytest.mark.parametrize("documents", ["none", "blank"])
def test_sentences_of_a_stream_change_places(tmp_path, documents):
    words = ["dogs", "owls", "cats", "boys", "girls", "sang", "ran", "slept", "swam", "ate"]
    lines = [f"{first} {second} ." for first in words for second in words]
    text = "\n\n".join("\n".join(lines[n::20]) for n in range(20))  # documents of five lines
    (tmp_path / "text.txt").write_text(text)
    changes = {
        "data.unit": "stream", "data.documents": documents, "tokenizer.kind": "word", "train.batch_tokens": 64,
        "objective.noise": "masking", "objective.mask_rate": 0.01, "model.context": 32,
    }  # fmt: skip
    folder = api.prepare("bart", tmp_path / "text.txt", tmp_path / "run", tiny=True, quiet=True, set=changes)
    training, _ = api.training_of(Run.open(folder), World(torch.device("cpu")))
    rows = training.plan.batch(0)
    batch = training.network.prepare(training.fetch(rows, {"": np.arange(len(rows[""]))}))
    moved = (batch["source"] != batch["targets"]) & (batch["source"] != MASK)
    assert moved.any(1).all()  # in every window, beside the masked token
    assert not (moved & (batch["targets"] == EOS)).any()  # but for what stands between documents


LINES = {
    "one": ["He ran .", "Did she sing ?"],
    "two": ["He ran . She sang .", "Who slept ? Nobody slept ."],
}


@pytest.mark.parametrize(
    ("lines", "changes", "said"),
    [
        ("one", {}, True),
        ("one", {"objective.permute": False}, False),
        ("one", {"data.unit": "stream"}, False),
        ("one", {"data.unit": "stream", "data.documents": "line"}, True),
        ("two", {}, False),
    ],
)
def test_a_user_hears_before_training_that_there_is_nothing_to_permute(tmp_path, capsys, lines, changes, said):
    (tmp_path / "text.txt").write_text("\n".join(LINES[lines] * 50))
    common = {"tokenizer.kind": "word", "train.batch_tokens": 64, "data.split": [1.0]}
    api.prepare("bart", tmp_path / "text.txt", tmp_path / "run", tiny=True, set=common | changes)
    heard = capsys.readouterr().err
    assert ("objective.permute has nothing to do" in heard) == said
    assert ('data.unit = "stream"' in heard) == said


def test_a_text_of_one_sentence_keeps_its_order():
    network = network_of(bart.Objective(noise="masking", mask_rate=0.0))
    begins = np.ones(60, bool)
    network.words = Words(begins, ~begins, np.arange(60) == 5, 4)
    tokens = [10, 11, 12, 5]
    for seed in range(20):
        source = network.prepare({"text": [row_of(tokens)]}, {"": np.array([seed])})["source"][0].tolist()
        assert sum(token != right for token, right in zip(source, tokens, strict=False)) == 1


@pytest.mark.parametrize("noise", ["infilling", "masking", "deletion", "rotation"])
@pytest.mark.parametrize("length", [0, 1, 2, 39])
def test_texts_of_any_length_fit(noise, length):
    network = network_of(bart.Objective(noise=noise, mask_rate=0.6, mean_span=0.1))
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
    with pytest.raises(LexigraphError, match=r"set tokenizer\.special"):
        api.train("bart", "grammar", tmp_path / "run", tiny=True, quiet=True, set={"tokenizer.special": []})


def test_a_model_of_plain_text_becomes_a_translator(tiny_runs, tmp_path):
    plain, changes = tiny_runs("bart"), {"objective.noise": "none", "data.sentences": 200}
    model = api.train("bart", "grammar", tmp_path / "pairs", start=plain, tiny=True, quiet=True, set=changes)
    before = api.load(plain)
    assert model.tokenizer.fingerprint == before.tokenizer.fingerprint
    assert len(model.translate(["She sang ."])) == 1


def test_it_learns_from_a_stream(tmp_path):
    changes = {"data.unit": "stream", "train.batch_tokens": 192}
    model = api.train("bart", "grammar", tmp_path / "run", tiny=True, quiet=True, set=changes)
    weight = model.network.norm_embedding.weight
    assert not torch.equal(weight, torch.ones_like(weight))  # as which it was born
    assert len(model.translate(["She sang ."])) == 1
