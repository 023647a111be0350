"""The constituency parser: what a tree is worth, phrases as evalb counts them, files of trees, the command line."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.phrases import counted
from lexigraph.models.constituency import Config, ConstituencyParser, Objective
from lexigraph.text.trees import PUNCTUATION, Span, parse
from lexigraph.text.vocabularies import Ids, Labels, Vocabularies
from tests.nn.test_chart import all_trees

VOCABULARIES = Vocabularies({"text": Ids(20), "phrases": Labels(("NP", "S")), "tags": Labels(("D", "N"))})


def network(learned: str = "trees") -> ConstituencyParser:
    torch.manual_seed(0)
    config = Config(dim=6, embedding=4, spans=8, dropout=0.0)
    return ConstituencyParser(config, Objective(learned), VOCABULARIES).eval().double()


def sentence(length: int, phrases: list[tuple[int, int, int]]) -> dict:
    words = [[np.array([5 + i]) for i in range(length)]]
    return {"words": words, "tags": [np.zeros(length, int)], "phrases": [np.array(phrases)]}


def scores_of(made: ConstituencyParser, length: int) -> dict[tuple[int, int], list[float]]:
    """By span: what no phrase and each label is worth."""
    with torch.no_grad():
        rows = made.outputs(made.prepare({"words": sentence(length, [])["words"]}))["phrases"][0]
    spans = [(i, j) for i in range(length) for j in range(i + 1, length + 1)]
    return {span: [0.0, *row] for span, row in zip(spans, rows.tolist(), strict=True)}


def labelled_trees(made: ConstituencyParser, length: int):
    """All trees of all labels, with what they are worth: brute force."""
    scores = scores_of(made, length)
    for tree in all_trees(length):
        for labels in product((1, 2), repeat=len(tree)):
            named = dict(zip(sorted(tree), labels, strict=True))
            yield named, sum(scores[span][label] for span, label in named.items())


@pytest.mark.parametrize("length", [1, 2, 4])
def test_the_tree_that_is_called_is_the_best_of_all(length):
    made = network()
    best, _ = max(labelled_trees(made, length), key=lambda tree: tree[1])
    (called,) = made.predict(made.prepare({"words": sentence(length, [])["words"]}))
    assert {(a, b + 1): label + 1 for a, b, label in called.phrases.tolist()} == best


def test_the_loss_is_the_share_of_the_true_tree_among_all():
    """A label that training has not seen counts as any."""
    made = network()
    for phrases, fits in (
        ([(0, 3, 1), (1, 3, 0)], {(0, 4): {2}, (1, 4): {1}}),
        ([(0, 3, 1), (2, 3, -1)], {(0, 4): {2}, (2, 4): {1, 2}}),
    ):
        worth = list(labelled_trees(made, 4))
        true = [
            value
            for named, value in worth
            if named.keys() == fits.keys() and all(named[span] in labels for span, labels in fits.items())
        ]
        wanted = np.logaddexp.reduce([value for _, value in worth]) - np.logaddexp.reduce(true)
        terms, _ = made.loss(made.prepare(sentence(4, phrases)))
        assert terms["loss"].total.item() == pytest.approx(wanted)


def test_spans_by_themselves_are_a_softmax_with_no_phrase_at_zero():
    made = network("spans")
    scores = scores_of(made, 3)
    true = {(0, 3): 2, (1, 3): 1}
    wanted = sum(np.logaddexp.reduce(row) - row[true.get(span, 0)] for span, row in scores.items())
    terms, _ = made.loss(made.prepare(sentence(3, [(0, 2, 1), (1, 2, 0)])))
    assert terms["loss"].total.item() == pytest.approx(wanted)


def test_phrases_are_counted_as_evalb_counts_them():
    """By hand: quotation marks and full stop are no words, PRT is ADVP, both phrases of a chain count."""
    tree = parse("(S (`` ``) (NP (PRP it)) (VP (VBZ gives) (PRT (RP up)) (NP (QP (CD 2)))) (. .) ('' ''))")
    kept = [tag not in PUNCTUATION for tag in tree.tags]
    assert sorted(counted(tree.phrases, kept).elements()) == sorted(
        [
            Span(0, 3, "S"),
            Span(0, 0, "NP"),
            Span(1, 3, "VP"),
            Span(2, 2, "ADVP"),
            Span(3, 3, "NP"),
            Span(3, 3, "QP"),
        ]
    )
    assert not counted([Span(0, 0, "NP")], [False])


TREES = """( (S (NP-SBJ (DT the) (NN dog)) (VP (VBZ sees) (NP (-NONE- *T*-1)) (NP (DT a) (NN cat))) (. .)) )
( (S (NP-SBJ (NN she)) (VP (VBZ sings)) (. .)) )
( (S
    (VP (VB sing)
        (NP (DT the) (NN song)))) )
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("constituency")
    (folder / "a.mrg").write_text(TREES * 8)
    changes = {"data.split": [1.0], "train.epochs": 0.0, "train.steps": 60, "train.batch_tokens": 64}
    changes |= {"model.dim": 24, "train.tensorboard": False, "train.lr": 0.01, "train.warmup": 5, "model.layers": 1}
    run = folder / "run"
    return api.train("constituency", folder / "a.mrg", run, test=folder / "a.mrg", quiet=True, set=changes)


def test_it_learns_trees_from_a_treebank(trained):
    assert [str(tree) for tree in trained.parse(["the dog sees a cat .", ["sing", "the", "song"]])] == [
        "(S (NP (DT the) (NN dog)) (VP (VBZ sees) (NP (DT a) (NN cat))) (. .))",
        "(S (VP (VB sing) (NP (DT the) (NN song))))",
    ]
    scores = json.loads((trained.path / "results.json").read_text())["scores"]["test"]
    assert [scores[name]["value"] for name in ("f1", "unlabelled", "exact", "accuracy")] == [1.0] * 4
    # without full stops: right are (0,4), (2,4), (3,4) of 4 phrases; (0,1) of 3; (0,2), once, and (1,2) of 3
    assert scores["right_branching"] == pytest.approx(2 * (3 + 1 + 2) / ((4 + 3 + 3) + (4 + 1 + 2)))


def test_the_command_line_prints_brackets_and_draws(trained, tmp_path):
    out = tmp_path / "tree.svg"
    shown = CliRunner().invoke(app, ["parse", str(trained.path), "she sings .", "--svg", str(out)]).output
    assert shown.strip() == "(S (NP (NN she)) (VP (VBZ sings)) (. .))"
    assert out.read_text().count('class="label"') == 6
    (row,) = json.loads(CliRunner().invoke(app, ["parse", str(trained.path), "she sings .", "--json"]).output)
    assert row["nodes"][0] == {"first": 0, "last": 2, "label": "S"}


def test_what_it_prints_it_can_learn_from(trained, tmp_path):
    (tmp_path / "own.trees").write_text("".join(f"{tree}\n" for tree in trained.parse(["she sings .", "sing ."])))
    assert api.evaluate(trained.path, data=tmp_path / "own.trees")["f1"]["value"] == 1.0


def test_a_text_without_words_is_refused(trained):
    with pytest.raises(LexigraphError, match="Text 2 of 2 has no words to parse"):
        trained.parse(["the dog", " "])
