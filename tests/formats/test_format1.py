"""Run folders of format 1, as the version before format 2 wrote them, load and give the outputs that they gave then.

format1.tar.xz holds a tiny run of every system, some of them in other forms, models that were imported from Hugging
Face folders, and in each outputs.json what it answered; books.json is what the bundled model answered.
"""

from __future__ import annotations

import json
import lzma
import shutil
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lexigraph import api
from lexigraph.errors import LexigraphError
from lexigraph.registry import SYSTEMS
from lexigraph.run import Run

ARCHIVE = Path(__file__).with_name("format1.tar.xz")
with tarfile.open(ARCHIVE) as _archive:
    NAMES = sorted(Path(name).parent.name for name in _archive.getnames() if name.endswith("config.json"))
TEXTS = ["She laughed .", "He is not tired ."]
ASKED: dict[str, Any] = {  # what each ability was asked
    "generate": lambda m: m.generate(TEXTS, max_new=5, temperature=0),
    "fill": lambda m: [(str(f), f.probability) for f in m.fill("She <mask> .", k=3)],
    "translate": lambda m: m.translate(TEXTS, beam=3),
    "encode": lambda m: m.encode(TEXTS)[:, :8].tolist(),
    "decode": lambda m: m.decode(m.encode(TEXTS)),
    "pictures": lambda m: m.pictures(TEXTS)[:, ::8, ::8].tolist(),
    "sample": lambda m: [str(s) for s in m.sample(2)],
}


@pytest.fixture(scope="module")
def old(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("format1")
    with lzma.open(ARCHIVE) as packed, tarfile.open(fileobj=packed) as archive:
        archive.extractall(folder, filter="data")
    return folder / "runs"


def same(one: Any, other: Any) -> bool:
    """Equal but for the last bits of numbers, which depend on the processor."""
    if isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return np.isclose(one, other, rtol=1e-4, atol=1e-5) if isinstance(other, float) else one == other


def test_every_system_is_among_the_old_runs(old):
    assert {Run(old / name).config()["system"] for name in NAMES} >= set(OLD)


OLD = (
    "gpt",
    "lstm-lm",
    "nplm",
    "xlnet",
    "bert",
    "electra",
    "transformer",
    "bart",
    "t5",
    "lstm-autoencoder",
    "picture",
)


@pytest.mark.parametrize("name", NAMES)
def test_an_old_run_gives_the_outputs_that_it_gave(name, old):
    wanted = json.loads((old / name / "outputs.json").read_text())
    model = api.load(old / name, "cpu")
    assert Run.open(old / name).config()["format"] == 1
    assert model.recipe.system in SYSTEMS
    for ability, answer in wanted.items():
        if ability == "score":
            given = {"sources": TEXTS[::-1]} if "translate" in wanted else {}
            assert same(model.score(TEXTS, **given), answer), ability
        else:
            assert same(ASKED[ability](model), answer), ability


def test_the_bundled_model_answers_as_before(old):
    wanted = json.loads((old / "books.json").read_text())
    books, texts = api.load("books", "cpu"), ["She laughed.", "The rain had stopped, but nobody went outside."]
    z = books.encode(texts)
    assert books.fingerprint == wanted["fingerprint"]
    assert same(z[:, :8].tolist(), wanted["encode"])
    assert books.decode(z) == wanted["decode"]
    assert same(books.score(texts), wanted["score"])
    assert [str(s) for s in books.solve("She is tired. - He is tired. + He is here.")] == wanted["solve"]
    assert np.abs(books.pictures(z)[:, ::8, ::8].astype(int) - np.array(wanted["pictures"])).max() <= 1


def test_an_unfinished_old_run_is_refused_with_a_sentence(old, tmp_path):
    shutil.copytree(old / "gpt", tmp_path / "run")
    (tmp_path / "run" / "results.json").unlink()
    before = sorted(path.name for path in (tmp_path / "run").iterdir())
    with pytest.raises(LexigraphError, match="begun by an older Lexigraph and is not finished: train it anew"):
        api.train(out=tmp_path / "run", resume=True, quiet=True)
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == before


def test_an_old_run_can_be_the_start_of_a_new_one(old, tmp_path):
    changes = {"train.steps": 1, "train.tensorboard": False, "data.sentences": 400, "objective.noise": "none"}
    model = api.train("bart", "grammar", tmp_path / "run", start=old / "bart", set=changes, quiet=True, tiny=True)
    assert model.translate(TEXTS[:1], beam=1)
    assert Run.open(tmp_path / "run").config()["format"] == 2
