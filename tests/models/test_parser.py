"""The parser: scores that equal the formula, files of trees, attachment scores, the command line."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.parsing import neighbours, row_sums
from lexigraph.models.biaffine import BiaffineParser, Config, Objective
from lexigraph.text import corpus
from lexigraph.text.columns import Column
from lexigraph.text.learning import learn_vocabularies
from lexigraph.text.storing import write_tables
from lexigraph.text.tables import tables
from lexigraph.text.vocabularies import Ids, Labels, Vocabularies

NAMES = Labels(("det", "nsubj", "punct", "root"))


def network(tags: float = 0.0) -> BiaffineParser:
    torch.manual_seed(0)
    vocabularies = {"text": Ids(20), "relations": NAMES, "tags": Labels(("D", "N", "V"))}
    config = Config(dim=8, embedding=6, arcs=5, relations=4, dropout=0.0)
    return BiaffineParser(config, Objective(tags=tags), Vocabularies(vocabularies)).eval()


def sentence(*tokens: int) -> list[np.ndarray]:
    return [np.array([token]) for token in tokens]


def test_scores_are_those_of_the_formula():
    made = network()
    with torch.no_grad():
        made.u.normal_()
        batch = made.prepare({"words": [sentence(5, 6, 7)]})
        h = made.states(batch)[0]
        arcs = made.arcs(h[None], batch["lengths"])[0]
        relations = made.relations(h[None], torch.tensor([[2, 0, 2]]))[0]
        every = [made.h_0, *h]
        for t in range(3):
            for s in range(4):
                a, b = made.A(h[t]), made.B(every[s])
                wanted = b @ made.U @ a + made.u @ b if s != t + 1 else torch.tensor(-torch.inf)
                assert torch.isclose(arcs[t, s], wanted, atol=1e-5)
        one = torch.ones(1)
        for t, s in enumerate([2, 0, 2]):
            c, d = torch.cat([made.C(h[t]), one]), torch.cat([made.D(every[s]), one])
            for relation, V in enumerate(made.V):
                assert torch.isclose(relations[t, relation], c @ V @ d, atol=1e-5)


def test_what_is_right_is_counted_by_hand(monkeypatch):
    """Of four words three hang where they should, and of those one by another relation; a relation that training has
    not seen is wrong."""
    made = network(tags=1.0)
    rows = {"words": [sentence(5, 6, 7, 8)], "heads": [np.array([2, 0, 2, 2])]}
    rows |= {"relations": [np.array([1, 3, 2, -1])], "tags": [np.array([0, 1, 2, -1])]}
    scores = torch.full((1, 4, 5), -9.0)
    for word, head in enumerate([2, 0, 2, 3]):
        scores[0, word, head] = 9.0
    called = torch.nn.functional.one_hot(torch.tensor([[1, 0, 2, 2]]), 4).float() * 9
    monkeypatch.setattr(made, "arcs", lambda states, lengths: scores)
    monkeypatch.setattr(made, "relations", lambda states, heads: called)
    monkeypatch.setattr(made, "tags", lambda states: called[:, :, :3])
    sums, _ = row_sums(made, made.prepare(rows), None)
    counted = {name: int(sums[name]) for name in ("heads", "relations", "tags", "known", "words")}
    assert counted == {"heads": 3, "relations": 2, "tags": 1, "known": 3, "words": 4}


# ---- files ----

CONLLU = """# sent_id = 1
1	The	the	DET	DT	_	2	det	_	_
2	dog	dog	NOUN	NN	_	5	nsubj:pass	_	_
3-4	isn't	_	_	_	_	_	_	_	_
3	is	be	AUX	VBZ	_	5	aux:pass	_	_
4	n't	not	PART	RB	_	5	advmod	_	_
5	seen	see	VERB	VBN	_	0	root	_	_
5.1	seen	see	VERB	VBN	_	_	_	5:conj	_
6	.	.	PUNCT	.	_	5	punct	_	_

"""
SENTENCES = (
    "The/DET/2/det dog/NOUN/3/nsubj sleeps/VERB/0/root",
    "Dogs/NOUN/2/nsubj run/VERB/0/root ./PUNCT/2/punct",
    "She/PRON/2/nsubj sees/VERB/0/root the/DET/4/det dog/NOUN/2/obj",
    "Run/VERB/0/root ./PUNCT/1/punct",
)


def conllu(*sentences: str) -> str:
    """A file of sentences written word/tag/head/relation."""
    rows = ([word.split("/") for word in each.split()] for each in sentences)
    return "".join(
        "".join(f"{n}\t{w}\t_\t{tag}\t_\t_\t{head}\t{rel}\t_\t_\n" for n, (w, tag, head, rel) in enumerate(row, 1))
        + "\n"
        for row in rows
    )


def test_heads_of_a_file_count_words_and_relations_are_cut_at_the_colon(tmp_path):
    """Neither the span 3-4 nor the empty node 5.1 is a word."""
    (tmp_path / "a.conllu").write_text(CONLLU)
    recipe = api.recipes.read("parser", {"data.train": str(tmp_path / "a.conllu"), "data.split": [1.0]}, tiny=True)
    for subtypes, relations in ((False, ["aux", "nsubj"]), (True, ["aux:pass", "nsubj:pass"])):
        columns = BiaffineParser.columns(recipe) | {
            "relations": Column("tags", "relations", aligned="words", until="" if subtypes else ":")
        }
        vocabularies = learn_vocabularies(recipe, recipe.data, columns)
        assert set(relations) < set(vocabularies.labels("relations").names)
        write_tables(corpus.examples(recipe.data, columns), columns, vocabularies, tmp_path / str(subtypes))
        table = tables(tmp_path / str(subtypes), columns)["train"]
        assert table.columns["heads"].of(0).tolist() == [2, 5, 5, 5, 0, 5]
        assert neighbours(table) == (1 / 6, 2 / 6)  # the full stop; The, n't … and the last word as the root: no


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parser")
    data, test = folder / "a.conllu", folder / "b.conllu"
    data.write_text(conllu(*SENTENCES * 8))
    test.write_text(conllu(*SENTENCES[:3], "Dogs/NOUN/2/vocative run/VERB/0/root"))
    changes = {"data.split": [1.0], "train.steps": 80, "train.batch_tokens": 64, "train.tensorboard": False}
    changes |= {"model.dim": 32, "model.layers": 1, "model.arcs": 32, "model.relations": 16, "train.warmup": 5}
    return api.train("parser", data, folder / "run", test=test, quiet=True, set=changes)


def test_it_learns_trees_from_a_file(trained):
    first, second = trained.parse(["The dog sleeps", ["Run", "."]])
    assert (first.heads, first.relations, first.tags) == (
        (2, 3, 0),
        ("det", "nsubj", "root"),
        ("DET", "NOUN", "VERB"),
    )
    assert str(second) == "1\tRun\t_\tVERB\t_\t_\t0\troot\t_\t_\n2\t.\t_\tPUNCT\t_\t_\t1\tpunct\t_\t_\n"
    assert all(0.3 < each <= 1 for each in first.probabilities)
    assert first.svg().count('class="label"') == 3


def test_scores_stand_beside_what_neighbours_give(trained):
    scores = json.loads((trained.path / "results.json").read_text())["scores"]["test"]
    assert scores["uas"]["value"] == pytest.approx(1.0)
    assert scores["las"]["value"] == pytest.approx(11 / 12)  # training has not seen `vocative`
    assert (scores["words"], scores["sentences"]) == (12, 4)
    assert scores["all_on_the_word_behind"] == pytest.approx(
        8 / 12
    )  # all of 1, Dogs of 2, She and the of 3, all of 4
    assert scores["all_on_the_word_before"] == pytest.approx(1 / 12)  # the full stop


def test_the_command_line_prints_conllu_and_draws(trained, tmp_path):
    out = tmp_path / "tree.svg"
    shown = CliRunner().invoke(app, ["parse", str(trained.path), "Dogs run .", "--svg", str(out)]).output
    assert shown == conllu("Dogs/NOUN/2/nsubj run/VERB/0/root ./PUNCT/2/punct")
    assert re.findall(r'class="word"[^>]*>([^<]*)', out.read_text()) == ["Dogs", "run", "."]
    both = ["parse", str(trained.path), "Dogs run .", "Run .", "--json", "--svg", str(tmp_path / "drawings")]
    rows = json.loads(CliRunner().invoke(app, both).output)
    assert [[word["head"] for word in row["words"]] for row in rows] == [[2, 0, 2], [0, 1]]
    assert sorted(path.name for path in (tmp_path / "drawings").iterdir()) == ["0000.svg", "0001.svg"]


def test_what_it_prints_it_can_learn_from(trained, tmp_path):
    (tmp_path / "own.conllu").write_text("".join(f"{tree}\n" for tree in trained.parse(["Dogs run .", "Run ."])))
    scores = api.evaluate(trained.path, data=tmp_path / "own.conllu")
    assert scores["las"]["value"] == 1.0


def test_a_text_without_words_or_with_too_many_is_refused(trained):
    with pytest.raises(LexigraphError, match="Text 2 of 2 has no words to parse"):
        trained.parse(["the dog", " "])
    with pytest.raises(LexigraphError, match="has 301 words, and this parser reads sentences of at most 300"):
        trained.parse("dog " * 301)
