"""The classifier: each encoder and pooling against what it says it is, order, parts, attention, the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.models import bow
from lexigraph.models.classifier import Classifier, Config, Objective
from lexigraph.text.vocabularies import Ids, Labels, Vocabularies

ROWS = [np.array([2, 7, 5, 6, 2]), np.array([2, 6, 2]), np.array([2, 5, 4, 3, 5, 7, 2])]  # between boundaries
CLASSES = Labels(("blame", "praise"))
KNOWN = Vocabularies({"text": Ids(8), "label": CLASSES})


PLAIN = Objective()


def network(*, objective: Objective = PLAIN, **keys: object) -> Classifier:
    torch.manual_seed(0)
    plain = {"embedding": 5, "dim": 4, "dropout": 0.0}
    return Classifier(Config(**plain | keys), objective, KNOWN).eval()  # type: ignore[arg-type]


def logits(made: Classifier, row: np.ndarray) -> torch.Tensor:
    return made.logits(made.prepare({"text": [row]}))[0]


def test_a_bag_of_one_hot_vectors_is_the_bag_of_words():
    made = network(encoder="bag", pooling="mean", embedding=0)
    words = bow.BagOfWords(bow.Config("shares"), bow.Objective(), KNOWN)
    with torch.no_grad():
        words.weight.weight.copy_(made.output.weight.T)
        words.bias.copy_(made.output.bias)
    for row in ROWS:
        assert torch.allclose(logits(made, row), words.logits(words.prepare({"text": [row]}))[0], atol=1e-6)


@pytest.mark.parametrize("cell", ["rnn", "gru", "lstm"])
def test_the_last_state_is_torchs_own(cell):
    made = network(encoder=cell, pooling="last", layers=2)
    for row in ROWS:
        last = made.recurrent.blocks[0].kernel(made.embedding(torch.tensor(row[1:-1]))[None])[1]
        last = (last[0] if cell == "lstm" else last)[-2:, 0].flatten()  # of the upper layer, both directions
        assert torch.allclose(logits(made, row), made.output(last), atol=1e-6)


def test_filters_see_their_words_and_nothing_beyond_the_text():
    """Width 3 by hand: at each word the one before, itself and the one after, zeros beyond the ends."""
    made = network(encoder="cnn", pooling="max", widths=(3,))
    filters, row = made.convolutions.filters[0], ROWS[0][1:-1]
    x = torch.cat([torch.zeros(1, 5), made.embedding(torch.tensor(row)), torch.zeros(1, 5)])
    h = [(filters.weight * x[t : t + 3].T).sum((1, 2)) + filters.bias for t in range(len(row))]
    best = torch.stack(h).relu().amax(0)
    assert torch.allclose(logits(made, ROWS[0]), made.output(best), atol=1e-6)


def test_attention_is_a_mean_by_shares_that_are_told():
    made = network(pooling="attention", encoder="bag")
    (answer,) = made.predict(made.prepare({"text": ROWS[:1]}))
    x = made.embedding(torch.tensor(ROWS[0][1:-1]))
    scores = torch.tanh(x @ made.attention.key.weight.T + made.attention.key.bias) @ made.attention.query
    shares = scores.exp() / scores.exp().sum()
    assert torch.allclose(answer.attention, shares, atol=1e-6)
    assert answer.tokens.tolist() == [7, 5, 6]
    assert torch.allclose(answer.probabilities, made.output(shares @ x).softmax(0), atol=1e-6)


@pytest.mark.parametrize(("encoder", "minds"), [("bag", False), ("cnn", True), ("lstm", True)])
def test_who_minds_the_order_of_words(encoder, minds):
    made = network(encoder=encoder, pooling="mean", widths=(2,))
    one, other = (logits(made, row) for row in (ROWS[0], ROWS[0][::-1]))
    assert torch.allclose(one, other, atol=1e-6) != minds


def test_a_text_without_words_is_its_end():
    made = network()
    assert torch.equal(logits(made, np.array([2, 2])), logits(made, np.array([2, 2, 2])))


def test_some_words_are_unknown_in_training_alone():
    made = network(word_dropout=0.4)
    rows = [np.array([2, *([7] * 50), 2]), np.array([2, *([6] * 10), 2])]
    examples = {"text": rows}
    plain, dropped = made.prepare(examples), made.prepare(examples, {"": np.array([3, 4])})
    unknown = dropped["inputs"] == made.unk
    assert not (plain["inputs"] == made.unk).any()
    assert torch.equal(plain["inputs"][~unknown], dropped["inputs"][~unknown])
    assert 0.2 < unknown[0].float().mean() < 0.6
    assert not unknown[1, 10:].any()


def test_examples_count_by_the_weight_of_their_class():
    """By hand: praise counts three times; a label that training has not seen, not at all."""
    labels = {"label": [np.array(0), np.array(1), np.array(-1)]}
    plain, weighted = network(), network(objective=Objective(class_weights={"praise": 3.0}))
    nll = plain.loss(plain.prepare({"text": ROWS, **labels}))[0]["loss"].items
    batch = weighted.prepare({"text": ROWS, **labels})
    term = weighted.loss(batch)[0]["loss"]
    assert batch.counts == {"loss": 4.0}
    assert torch.allclose(term.total, nll[0, 0] + 3 * nll[1, 0])


def test_label_smoothing_shares_with_all_classes():
    smooth, plain = network(objective=Objective(smoothing=0.2)), network()
    batch = plain.prepare({"text": ROWS[:1], "label": [np.array(1)]})
    log_p = plain.logits(batch).log_softmax(1)[0]
    assert torch.allclose(smooth.loss(batch)[0]["loss"].total, -(0.8 * log_p[1] + 0.2 * log_p.mean()))


def test_settings_that_make_no_sense_get_a_sentence():
    with pytest.raises(UsageError, match='"last" is for encoders that read in order, and "cnn" does not'):
        network(encoder="cnn", pooling="last")
    with pytest.raises(UsageError, match="no class 'prais'; did you mean 'praise'"):
        network(objective=Objective(class_weights={"prais": 2.0}))
    with pytest.raises(UsageError, match=r"praise = 0\.0 must be greater than 0"):
        network(objective=Objective(class_weights={"praise": 0.0}))


FIXED = {"train.batch_tokens": 64, "train.tensorboard": False, "tokenizer.min_count": 1, "model.dropout": 0.0}
SMALL = {"model.dim": 16, "model.embedding": 16, "data.split": [1.0], "train.lr": 0.01}


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    folder = tmp_path_factory.mktemp("classifier")
    rows = ["good , not bad\tpraise", "bad , not good\tblame", "not bad but good\tpraise", "not good but bad\tblame"]
    (folder / "a.tsv").write_text("\n".join(rows * 8) + "\n")
    changes = FIXED | SMALL | {"train.steps": 60, "model.pooling": "attention"}
    return api.train("classifier", folder / "a.tsv", folder / "run", quiet=True, set=changes)


def test_it_tells_texts_with_the_same_words_apart(judge):
    found = judge.classify(["good , not bad", "bad , not good"])
    assert [each.label for each in found] == ["praise", "blame"]
    words, shares = zip(*found[0].attention, strict=True)
    assert [word.strip() for word in words] == ["good", ",", "not", "bad"]
    assert sum(shares) == pytest.approx(1)


def test_the_command_line_shows_what_attention_took(judge, tiny_runs):
    run = CliRunner().invoke
    label, _, shown = run(app, ["classify", str(judge.path), "--weights", "not good"]).output.strip().split("\t")
    assert label in CLASSES.names
    assert [part.split(":")[0] for part in shown.split()] == ["not", "good"]
    (item,) = json.loads(run(app, ["classify", str(judge.path), "--weights", "--json", "not good"]).output)
    assert [each["token"].strip() for each in item["attention"]] == ["not", "good"]
    assert "does not pool by attention" in str(
        run(app, ["classify", str(tiny_runs("bow")), "--weights", "a"]).exception
    )


def test_an_empty_text_is_refused(judge):
    with pytest.raises(LexigraphError, match="Text 2 of 2 is empty: there is nothing to classify"):
        judge.classify(["good", " "])


def test_another_system_reads_for_it(tiny_runs, tmp_path):
    """A text longer than the part's context is read in several rows, and its states are pooled as one."""
    changes = {"train.steps": 2, "train.batch_tokens": 256, "train.tensorboard": False, "data.sentences": 300}
    model = api.train(
        "classifier", "grammar", tmp_path / "run", start=tiny_runs("gpt"), quiet=True, set=changes | {"model.dim": 8}
    )
    assert model.recipe.parts["reader"].system == "gpt"
    assert not list(model.network.embedding.parameters())
    long = " ".join(["She sings ."] * 200)
    assert len(model.rows([long])[0][0]) > 2 * model.network.reader.traits.context > 0
    alone, beside = model.classify(long), model.classify(["He sang .", long])[1]
    assert alone.probabilities == pytest.approx(beside.probabilities, abs=1e-5)


def test_a_word_that_training_has_not_seen_has_its_own_vector(tmp_path):
    """superb stands beside good, awful beside bad; what has no vector is like nothing."""
    near = {"good": "1 0 0", "superb": "0.9 0.1 0", "bad": "0 1 0", "awful": "0.1 0.9 0", "film": "0 0 1"}
    rows = "".join(f"{word} {numbers}\n" for word, numbers in near.items())
    (tmp_path / "my.vec").write_text(f"{len(near)} 3\n{rows}")
    (tmp_path / "a.tsv").write_text("good film\tpraise\nbad film\tblame\n" * 16)
    changes = FIXED | SMALL | {"model.encoder": "bag", "model.pooling": "mean", "model.tuned": False}
    model = api.train(
        "classifier",
        tmp_path / "a.tsv",
        tmp_path / "run",
        start=tmp_path / "my.vec",
        quiet=True,
        set=changes | {"train.steps": 100, "train.lr": 0.1},
    )
    found = model.classify(["superb film", "awful film", "odd film"])
    assert [each.label for each in found[:2]] == ["praise", "blame"]
    assert all(each.probability > 0.8 for each in found[:2])
    assert found[2].probability == pytest.approx(0.5, abs=0.2)
    assert not model.network.embedding.weight.requires_grad


def test_own_vectors_may_be_added_to_those_of_tokens(tmp_path):
    (tmp_path / "own.vec").write_text("4 2\ngood 1 0\nbad -1 0\nfilm 0 1\nlovely 1 1\n")
    lines = [f"{'good' if n % 2 else 'bad'} film {n}\t{'+' if n % 2 else '-'}\n" for n in range(200)]
    (tmp_path / "films.tsv").write_text("text\tlabel\n" + "".join(lines))
    keys = {"model.joined": "summed", "tokenizer.kind": "word", "model.word_dropout": 0.5, "model.tuned": False}
    start, films = tmp_path / "own.vec", tmp_path / "films.tsv"
    model = api.train("classifier", films, out=tmp_path / "run", start=start, set=keys, tiny=True, quiet=True)
    network = model.network
    assert network.own.weight.requires_grad is False
    assert network.embedding.weight.shape[1] == network.own.weight.shape[1] == 2
    batch = next(model._batches(["lovely film ."]))
    own, learned = network.own(batch["vectors"]), network.embedding(batch["inputs"])
    scale = own[0, 0, 0].item()  # as large as vectors are at the start
    assert torch.allclose(own[0, :2], scale * torch.tensor([[1.0, 1.0], [0.0, 1.0]]))
    assert torch.equal(network.vectors(batch), own + learned)
    assert learned[0, 0].tolist() == network.embedding.weight[network.unk].tolist()
    with pytest.raises(UsageError, match=r'tokenizer\.kind = "word"'):
        api.train(
            "classifier", films, out=tmp_path / "no", start=start, set=keys | {"tokenizer.kind": "bpe"}, tiny=True
        )
