"""One translator of several languages: what it is told to write, how that is said of files, and what mixtures are."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sacrebleu
import torch
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.abilities.directions import shares_of
from lexigraph.abilities.translating import Translator
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.translation import by_group, length_group
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.translation import pairs
from lexigraph.recipe import Data
from lexigraph.text.corpus import examples

WORDS = ["a", "b", "c d", "e f g", "h", "i j"]
BY_HEART = {"data.split": [1.0], "tokenizer.kind": "word", "tokenizer.separate": True, "model.dim": 32,
            "model.context": 24, "train.steps": 250, "train.warmup": 5, "train.validate_every": 250,
            "train.batch_tokens": 40, "train.lr": 1e-2}  # fmt: skip


def written(folder: Path) -> Path:
    """The same words in three languages, line by line: as they are, and with `up` or `down` before each of them."""
    for language in ("plain", "up", "down"):
        before = "" if language == "plain" else f"{language} "
        lines = [" ".join(before + word for word in words.split()) for words in WORDS]
        (folder / f"all.{language}").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that learned plain → up, plain → down and up → plain by heart."""
    out = written(tmp_path_factory.mktemp("directions"))
    data = [
        f"up={out}/all.plain+{out}/all.up",
        f"<2down>={out}/all.plain+{out}/all.down",
        f"plain={out}/all.up+{out}/all.plain",
    ]
    api.train("seq2seq", data, out / "run", tiny=True, quiet=True, set=BY_HEART)
    return out


@pytest.fixture(scope="module")
def model(folder: Path) -> Translator:
    return api.load(folder / "run")


# ---- files ---------------------------------------------------------------------------------------------------


def read(name: Any, **more: Any) -> list[dict[str, Any]]:
    return [dict(each.values) for each in examples(Data(train=name, split=(1.0,), **more), pairs(), str)]


def test_a_name_gives_its_pairs_a_direction(tmp_path, monkeypatch):
    written(tmp_path)
    (tmp_path / "few.tsv").write_text("x\ty\n")
    monkeypatch.setenv("LEXIGRAPH_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path.parent)
    found = read(("down=all.plain+all.down", "<2up>=all.plain+all.up"))
    assert found[0] == {"source": "a", "target": "down a", "direction": "down"}
    assert found[len(WORDS)] == {"source": "a", "target": "up a", "direction": "<2up>"}
    assert read("it=few.tsv") == [{"source": "x", "target": "y", "direction": "it"}]


def test_a_file_whose_name_has_the_sign_is_that_file(tmp_path):
    (tmp_path / "a=b.tsv").write_text("x\ty\n")
    assert read(str(tmp_path / "a=b.tsv")) == [{"source": "x", "target": "y"}]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("ways.tsv", "target\tdirection\tsource\ny\tup\tx\n"),
        ("ways.csv", "direction,source,target\nup,x,y\n"),
        ("ways.jsonl", json.dumps({"source": "x", "target": "y", "direction": "up", "more": 1}) + "\n"),
    ],
)
def test_a_field_of_that_name_is_read_without_a_map(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    assert read(str(tmp_path / name)) == [{"source": "x", "target": "y", "direction": "up"}]
    with pytest.raises(UsageError, match=r"line [12]: there is a field 'direction' as well. Leave out down="):
        read(f"down={tmp_path / name}")


def test_directions_are_learned_from_the_training_text(folder, model):
    assert model.directions == ("<2down>", "<2plain>", "<2up>")
    assert not {*model.directions} & {*model.tokenizer.special}  # nothing writes them
    assert model.recipe.tokenizer.special == ()
    listed = f"<up>={folder}/all.plain+{folder}/all.up"
    special = {**BY_HEART, "tokenizer.special": ["<up>", "<down>"], "train.steps": 2, "train.validate_every": 2}
    again = api.train(
        "transformer", [listed], folder / "listed", tiny=True, quiet=True, set=special | {"model.heads": 2}
    )
    assert again.directions == ("<up>", "<down>")


def test_too_many_directions_are_a_wrong_field(tmp_path):
    rows = "".join(f"{n}\tx {n}\ty\n" for n in range(1200))
    (tmp_path / "wrong.tsv").write_text("direction\tsource\ttarget\n" + rows)
    with pytest.raises(LexigraphError, match=r"'direction' names 1,200 directions, as '0' and '1'"):
        api.train(
            "seq2seq", tmp_path / "wrong.tsv", tmp_path / "run", tiny=True, quiet=True, set={"data.split": [1.0]}
        )


# ---- translating ---------------------------------------------------------------------------------------------


def test_a_model_writes_what_it_is_told_to(model):
    for to in ("up", "<2up>", {"up": 2}):
        assert model.translate(["a", "c d"], to=to) == ["up a", "up c up d"]
    assert model.translate("a", to="down") == "down a"
    assert model.translate("up a", to="plain") == "a"
    assert isinstance(model.translate("down a", to="plain"), str)  # that way it was never taught
    assert isinstance(model.translate("a", to=""), str)


def test_it_is_not_asked_without_saying_what_for(model):
    for ask in (
        lambda: model.translate("a"),
        lambda: model.score("up a", sources="a"),
        lambda: model.align("up a", sources="a"),
        lambda: model.diagnose(["up a"], sources=["a"]),
    ):
        with pytest.raises(UsageError, match=r"several directions, <2down>, <2plain>, <2up>: say which one"):
            ask()
    with pytest.raises(
        LexigraphError, match=r"'left' is no direction of this model; it has <2down>, <2plain>, <2up>"
    ):
        model.translate("a", to="left")
    with pytest.raises(LexigraphError, match="'<eos>' is no direction"):
        model.translate("a", to="<eos>")


def test_a_model_of_one_language_has_no_directions(tiny_runs):
    model = api.load(tiny_runs("transformer"))
    assert model.directions == ()
    with pytest.raises(LexigraphError, match="'de': this model was taught no directions"):
        model.translate("She sings .", to="de")


def test_scores_depend_on_what_is_wanted(model):
    right, wrong = (model.score("up a", sources="a", to=to) for to in ("up", "down"))
    assert right > wrong + 1
    assert model.score_lines(["a\tup a"], to="up") == pytest.approx([right])


def test_links_and_pieces_count_words_of_the_source_alone(model):
    assert all(source in (0, 1) for source, _ in model.align("up c up d", sources="c d", to="up"))
    for to, shown in (("up", "<2up>"), ("up=0.5,down=0.5", "<mixture>")):
        ((best,),) = model.translate(["c d"], to=to, alignment=True)
        assert best.source == (shown, "c", "d", "<eos>")
        assert best.alignment.shape == (len(best.target), 4)


def test_a_copied_word_is_never_the_direction(model):
    changed = copy.deepcopy(model.network)
    teller = Translator(changed, model.vocabularies, model.recipe)
    with torch.no_grad():
        changed.bias[model.tokenizer.unk] = 100.0
    assert {*teller.translate("c d", to="up", copy_unknown=True).split()} <= {"c", "d"}


def test_a_source_that_fills_the_model_leaves_no_room_for_a_direction(model):
    longest = " ".join(["a"] * (model.network.context - 1))
    assert isinstance(model.translate(longest, to=""), str)
    with pytest.raises(LexigraphError, match=r"has \d+ tokens, and behind a direction this model reads at most"):
        model.translate(longest, to="up")


# ---- mixtures ------------------------------------------------------------------------------------------------


def test_a_mixture_is_one_token_more_for_a_while():
    table = TokenTable(5, 3)
    ids = torch.tensor([[4, 0], [1, 5]])
    with table.mixture({1: 0.25, 2: 0.75}) as token, table.mixture({3: 1.0}) as other:
        assert (token, other) == (5, 6)
        found = table(ids)
    assert torch.equal(found[0], table(ids[0]))
    assert torch.allclose(found[1, 1], 0.25 * table.weight[1] + 0.75 * table.weight[2])
    with pytest.raises(IndexError):
        table(ids)


def test_a_mixture_is_what_a_token_with_that_vector_would_be(model):
    """The sources have a table of their own, so that a row can be overwritten without changing the output."""
    up, down = (model.reading_tokenizer.special[name] for name in ("<2up>", "<2down>"))
    changed = copy.deepcopy(model.network)
    with torch.no_grad():
        row = changed.source_table.weight
        row[up] = 0.3 * row[up] + 0.7 * row[down]
    other = Translator(changed, model.vocabularies, model.recipe)
    texts, sources = ["up a", "down a", "a"], ["a", "a", "a"]
    mixed = model.score(texts, sources=sources, to={"up": 0.3, "down": 0.7})
    assert mixed == pytest.approx(other.score(texts, sources=sources, to="up"), abs=1e-5)
    assert model.translate("c d", to="up=3,down=7") == other.translate("c d", to="up")
    assert mixed[1] != pytest.approx(model.score("down a", sources="a", to="down"))


def test_shares_are_of_the_whole():
    assert shares_of("de=3,fr=1") == {"de": 0.75, "fr": 0.25}
    assert shares_of({"de": 1, "fr": 0}) == {"de": 1.0}
    for wrong, says in (
        ("de=0.5,fr", "'fr' is no direction with its share"),
        ("de=1,de=2", "a direction twice"),
        ("=1", "names no direction"),
        ("de=-1,fr=2", "share of 'de' is -1.0"),
        ("de=nan", "share of 'de' is nan"),
        ("de=0", "shares of all directions are 0"),
    ):
        with pytest.raises(UsageError, match=says):
            shares_of(wrong)


# ---- scores --------------------------------------------------------------------------------------------------


def test_each_direction_has_a_score_by_itself(folder, model):
    names = [f"up={folder}/all.plain+{folder}/all.up", f"plain={folder}/all.up+{folder}/all.plain"]
    scores = api.evaluate(folder / "run", names)
    most = model.recipe.eval.sentences  # of each direction so many are translated
    assert most < len(WORDS)
    assert scores["sentences"] == 2 * most
    counts = {name: group["sentences"] for name, group in scores["by_direction"].items()}
    assert counts == {"<2plain>": most, "<2up>": most}
    alone = api.evaluate(folder / "run", names[0])
    assert alone["by_direction"]["<2up>"] == scores["by_direction"]["<2up>"]
    assert alone["nll"]["value"] == pytest.approx(alone["by_direction"]["<2up>"]["nll"]["value"])
    with pytest.warns(
        UserWarning, match="6 of 6 sources say no direction, and this model knows <2down>, <2plain>, <2up>"
    ):
        api.evaluate(folder / "run", names[0].removeprefix("up="))
    with pytest.raises(LexigraphError, match="'left' is no direction"):
        api.evaluate(folder / "run", names[0].replace("up=", "left=", 1))


def test_groups_of_length_have_the_bleu_of_their_texts():
    assert [length_group("word " * count) for count in (1, 5, 6, 20, 21, 60, 61)] == [
        "1-5", "1-5", "6-10", "16-20", "21-30", "41-60", "over 60"
    ]  # fmt: skip
    written = ["the cat sat on the mat", "a dog ran off", "she sings in the rain"]
    wanted = ["the cat sat on a mat", "a dog ran away", "she sings in the rain"]
    found = by_group(["long", "short", "long"], written, wanted, ["short", "middle", "long"])
    assert [*found] == ["short", "long"]
    for name, own in (("short", [1]), ("long", [0, 2])):
        expected = sacrebleu.corpus_bleu([written[i] for i in own], [[wanted[i] for i in own]]).score
        assert found[name]["bleu"] == {"value": pytest.approx(expected), "interval": []}
        assert found[name]["sentences"] == len(own)


# ---- whose fault ---------------------------------------------------------------------------------------------


def test_a_translator_is_diagnosed_by_its_own_scores(model):
    texts, sources = ["up a", "up b up", "up c up d"], ["a", "b", "c d"]
    found = model.diagnose(texts, sources=sources, to="up", beam=3, alpha=0.0)
    assert [item.reference_score for item in found.items] == pytest.approx(
        model.score(texts, sources=sources, to="up"), rel=1e-5
    )
    assert [item.verdict for item in found.items] == ["correct", "model error", "correct"]


def test_a_search_that_is_too_narrow_is_to_blame(model, monkeypatch):
    """A search that gives up after a token finds no reference, which the model likes better."""
    search = Translator.translations

    def cut(self: Translator, *given: Any, **more: Any) -> Any:
        short = search(self, *given, **more)
        return [[type(best[0])(best[0].tokens[:1], -50.0, -50.0, True)] for best in short]

    monkeypatch.setattr(Translator, "translations", cut)
    assert model.diagnose(["up c up d"], sources=["c d"], to="up").items[0].verdict == "search error"


def test_pairs_that_cannot_be_found_are_left_out_and_counted(model):
    texts, sources = ["up a", "up unheard", "up a", "up b"], ["a", "a", "a " * 500, ""]
    with pytest.warns(UserWarning, match=r"3 of 4 texts cannot be held or written"):
        found = model.diagnose(texts, sources=sources, to="up")
    assert (len(found.items), found.left_out) == (1, 3)
    with pytest.raises(LexigraphError, match="nothing to diagnose: all of 1 texts"):
        model.diagnose(["up unheard"], sources=["a"], to="up")


# ---- verbs ---------------------------------------------------------------------------------------------------


def said(folder: Path, *words: str) -> str:
    found = CliRunner().invoke(app, [*words], catch_exceptions=False)
    assert found.exit_code == 0
    return found.stdout


def test_every_verb_of_translators_takes_a_direction(folder):
    run, both = str(folder / "run"), f"{folder}/all.plain+{folder}/all.up"
    assert said(folder, "translate", run, "a", "--to", "up") == "up a\n"
    scored = said(folder, "score", run, "--file", both, "--to", "up").splitlines()
    assert [line.split("\t")[1:] for line in scored[:2]] == [["a", "up a"], ["b", "up b"]]
    assert len(said(folder, "align", run, "--file", both, "--to", "up").splitlines()) == len(WORDS)
    table = json.loads(said(folder, "diagnose", run, "--data", both, "--to", "up", "--beams", "1,2", "--json"))
    assert table["verdicts"]["correct"] == {"texts": len(WORDS), "share": 1.0}
    assert [row["BLEU"] for row in table["beams"]] == ["100.00", "100.00"]
    assert "<2up>" in said(folder, "look", run, "--alignment", "a", "--to", "up", "--json")
    shown = said(folder, "eval", run, "--data", f"up={both}")
    assert "by direction\tsentences\tbleu\texact\tnll\n<2up>\t5\t100.0000\t1.0000\t" in shown
    assert "by length\tsentences\tbleu\texact\n1-5\t5\t100.0000\t1.0000\n" in shown


def test_pairs_of_the_built_in_corpus_are_lines_with_a_tab(tiny_runs):
    run = str(tiny_runs("transformer"))
    table = json.loads(
        CliRunner().invoke(app, ["diagnose", run, "--data", "grammar", "--limit", "3", "--json"]).stdout
    )
    assert sum(each["texts"] for each in table["verdicts"].values()) == 3
    found = CliRunner().invoke(app, ["diagnose", run, "--data", "sentiment", "--limit", "3"])
    assert "sentiment has no records of source and target" in str(found.exception)


def test_sources_are_padded_behind_their_directions(model):
    alone = [model.translate(text, to="up") for text in WORDS]
    assert model.translate(WORDS, to="up") == alone
    assert np.allclose(
        model.score(["up a", "up c up d"], sources=["a", "c d"], to="up=0.9,down=0.1"),
        [
            model.score(text, sources=source, to="up=0.9,down=0.1")
            for text, source in (("up a", "a"), ("up c up d", "c d"))
        ],
        atol=1e-5,
    )
