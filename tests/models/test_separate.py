"""A translator with a vocabulary for each side (tokenizer.separate), from the recipe to scores."""

from __future__ import annotations

import json
import shutil
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from lexigraph import api
from lexigraph import recipe as recipes
from lexigraph.abilities.translating import Translator
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.exchange.folder import export_folder
from lexigraph.nn.translation import pairs
from lexigraph.text.corpus import examples
from lexigraph.text.tokenizer import Tokenizer

SEPARATE = {"tokenizer.separate": True}
BY_HEART = {"data.split": [1.0], "tokenizer.kind": "word", "model.dim": 32, "train.steps": 150, "train.warmup": 5,
            "train.validate_every": 150, "train.batch_tokens": 20}  # fmt: skip


def grammar_pairs(count: int) -> tuple[list[str], list[str]]:
    """Statements of the built-in corpus, and the questions that ask for them."""
    data = recipes.Data(train="grammar", sentences=count, split=(1.0,))
    found = [example.values for example in examples(data, pairs())]
    return [pair["source"] for pair in found], [pair["target"] for pair in found]


def written(file: Path, *columns: list[str]) -> Path:
    file.write_text("".join("\t".join(row) + "\n" for row in zip(*columns, strict=True)), encoding="utf-8")
    return file


def trained(file: Path, out: Path, **changes: Any) -> Translator:
    return api.train("transformer", file, out, tiny=True, quiet=True, set=BY_HEART | changes)


SOURCES, TARGETS = (side[1:] for side in grammar_pairs(9))  # the sides of these have unlike numbers of words


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs that learned eight pairs by heart: with a vocabulary for each side, and with one for both."""
    out = tmp_path_factory.mktemp("separate")
    file = written(out / "pairs.tsv", SOURCES, TARGETS)
    trained(file, out / "separate", **SEPARATE)
    trained(file, out / "shared")
    return out


def test_eight_pairs_are_learned_as_well_as_with_one_vocabulary(folder):
    assert api.load(folder / "shared").translate(SOURCES) == TARGETS
    assert api.load(folder / "separate").translate(SOURCES) == TARGETS


def test_each_side_has_the_words_of_that_side(folder):
    model = api.load(folder / "separate")
    for tokenizer, texts in ((model.reading_tokenizer, SOURCES), (model.tokenizer, TARGETS)):
        assert {tokenizer.token_of(i) for i in range(3, len(tokenizer))} == {w for t in texts for w in t.split()}
    network = model.network
    assert len(model.reading_tokenizer) != len(model.tokenizer)  # so that a table of the wrong side would show
    assert network.source_embedding.weight.shape == (len(model.reading_tokenizer), 32)
    assert network.output_table is network.embedding.weight
    assert network.embedding.weight.shape == (len(model.tokenizer), 32)
    shared = api.load(folder / "shared")
    assert shared.reading_tokenizer is shared.tokenizer
    assert not (folder / "shared" / "source-tokenizer.json").exists()


def test_a_source_is_seen_through_its_own_table_only(folder):
    network = api.load(folder / "separate").network
    source, target = torch.tensor([[5, 6, 2]]), torch.tensor([[2, 7]])
    with torch.no_grad():
        before, written_before = network.read(source, None), network(source, target)
        network.embedding.weight[[5, 6]] += 1
        assert torch.equal(network.read(source, None), before)
        network.source_embedding.weight[[5]] += 1
        assert not torch.allclose(network(source, target), written_before)


def test_pieces_of_an_alignment_are_those_of_their_side(folder):
    [[best]] = api.load(folder / "separate").translate(SOURCES[:1], alignment=True)
    assert best.source == (*SOURCES[0].split(), "<eos>")
    assert best.target == (*TARGETS[0].split(), "<eos>")


def test_scores_of_a_file_are_those_of_its_texts_and_name_both_tokenizers(folder, tmp_path):
    shutil.copytree(folder / "separate", tmp_path / "run")
    model = api.load(tmp_path / "run")
    found = api.evaluate(tmp_path / "run", written(tmp_path / "test.tsv", SOURCES[:3], TARGETS[:3]))
    total = -sum(model.score(TARGETS[:3], sources=SOURCES[:3]))
    assert found["nll"]["value"] * found["tokens"] == pytest.approx(total, rel=1e-4)
    assert found["exact"]["value"] == 1
    for name, tokenizer in (("tokenizer", model.tokenizer), ("source_tokenizer", model.reading_tokenizer)):
        assert f"|{name}:word-{len(tokenizer)}-{tokenizer.fingerprint[:8]}|" in found["signature"]
    assert "source_tokenizer" not in json.dumps(api.evaluate(folder / "shared", tmp_path / "test.tsv"))


@pytest.mark.parametrize("kind", ["separate", "shared"])
def test_the_baseline_counts_tokens_of_targets(folder, kind):
    tokenizer = api.load(folder / kind).tokenizer
    counts = np.load(folder / kind / "unigrams.npy")
    seen = {tokenizer.token_of(i): int(n) for i, n in enumerate(counts) if n}
    assert seen == Counter(word for text in TARGETS for word in [*text.split(), "<eos>"])


def test_a_character_may_be_known_to_one_side_only(tmp_path):
    file = written(tmp_path / "pairs.tsv", ["né", "dé", "né dé"], ["born", "die", "born die"])
    model = trained(file, tmp_path / "run", **SEPARATE, **{"tokenizer.kind": "char", "train.steps": 2})
    unk = model.tokenizer.unk
    assert unk not in model.reading_tokenizer.encode("né")
    assert model.tokenizer.encode("né") == [model.tokenizer.id_of("n"), unk]
    assert model.reading_tokenizer.encode("bd") == [unk, model.reading_tokenizer.id_of("d")]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.translate("né")
    with pytest.warns(UserWarning, match="1 words are not in the vocabulary"):
        model.translate("bd")
    assert np.isfinite(model.score(["né"], sources=["né"])).all()


def test_directions_are_tokens_of_sources(tmp_path):
    ways, words = ["<up>", "<down>"] * 2, ["a", "a", "b", "b"]
    targets = [f"{way[1:-1]} {word}" for way, word in zip(ways, words, strict=True)]
    file = written(tmp_path / "ways.tsv", ways, words, targets)
    changes = {
        "data.columns": {"direction": "1", "source": "2", "target": "3"},
        "tokenizer.special": ["<up>", "<down>"],
    }
    model = trained(file, tmp_path / "run", **SEPARATE, **changes)
    assert list(model.reading_tokenizer.special)[3:] == ["<up>", "<down>"]
    assert list(model.tokenizer.special) == ["<pad>", "<unk>", "<eos>"]
    assert model.translate(["a", "b"], to="<up>") == ["up a", "up b"]
    assert model.translate(["a", "b"], to="<down>") == ["down a", "down b"]
    with pytest.raises(LexigraphError, match=r"'<left>' is no direction of this model; it has <up>, <down>"):
        model.translate("a", to="<left>")


def test_fine_tuning_takes_over_both(folder, tmp_path):
    file = written(tmp_path / "more.tsv", SOURCES[:4], TARGETS[4:])
    changes = {key: value for key, value in BY_HEART.items() if not key.startswith(("tokenizer", "model"))}
    api.train("transformer", file, tmp_path / "run", start=folder / "separate", tiny=True, quiet=True, set=changes)
    old, new = api.load(folder / "separate"), api.load(tmp_path / "run")
    assert new.recipe.tokenizer == old.recipe.tokenizer
    assert new.tokenizer.fingerprint == old.tokenizer.fingerprint
    assert new.reading_tokenizer.fingerprint == old.reading_tokenizer.fingerprint
    assert new.translate(SOURCES[:4]) == TARGETS[4:]
    with pytest.raises(UsageError, match=r"taken over and cannot be changed: leave out tokenizer\.separate"):
        api.prepare("transformer", file, tmp_path / "b", start=folder / "shared", set=SEPARATE, quiet=True)


def test_tokenize_says_whose_tokenizer_it_shows(folder):
    def asked(run: str, *options: str) -> Any:
        return CliRunner().invoke(app, ["tokenize", str(folder / run), SOURCES[0], *options])

    target, source = asked("separate"), asked("separate", "--source")
    assert source.stdout.split() == SOURCES[0].split()
    assert "of the sources" in source.stderr
    assert "of the targets; --source" in target.stderr
    assert target.stdout != source.stdout
    assert asked("shared").stderr == ""
    assert isinstance(asked("shared", "--source").exception, UsageError)


@pytest.mark.smoke
@pytest.mark.parametrize("system", ["gpt", "bart", "t5", "picture"])
def test_other_systems_have_one_vocabulary(system):
    changes = {"objective.noise": "none"} if system in ("bart", "t5") else {}  # from pairs, too
    with pytest.raises(UsageError, match=rf"{system} model has one vocabulary.*tokenizer\.separate.* translators"):
        recipes.read(system, SEPARATE | changes)


@pytest.mark.smoke
def test_plain_text_has_no_sides(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text('system = "gpt"\n[tokenizer]\nseparate = true\n')
    with pytest.raises(UsageError, match=r"mine\.toml, line 3: This gpt model"):
        recipes.read(file)


def test_an_incomplete_run_and_an_export_are_refused(folder, tmp_path):
    shutil.copytree(folder / "separate", tmp_path / "run")
    with pytest.raises(LexigraphError, match="This transformer model has no form in transformers"):
        export_folder(tmp_path / "run", tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "run" / "source-tokenizer.json").unlink()
    with pytest.raises(LexigraphError, match=r"There is no tokenizer file .*source-tokenizer\.json"):
        api.load(tmp_path / "run")


def test_tokenizers_of_a_run_differ_and_come_back(folder):
    model = api.load(folder / "separate")
    files = {"tokenizer.json": model.tokenizer, "source-tokenizer.json": model.reading_tokenizer}
    for name, tokenizer in files.items():
        assert Tokenizer.load(folder / "separate" / name).fingerprint == tokenizer.fingerprint
    assert model.tokenizer.fingerprint != model.reading_tokenizer.fingerprint
