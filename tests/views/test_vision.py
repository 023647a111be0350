"""What is drawn over a picture is what the model looked at."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import lexigraph
from lexigraph.cli import app
from lexigraph.views import vision


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("picture") / "a.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (16, 16, 3)).astype(np.uint8)).save(path)
    return path


def looked(*arguments: object) -> str:
    found = CliRunner().invoke(app, ["look", *map(str, arguments)])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.stdout


@pytest.mark.parametrize(("recipe", "changes"), [("captioner", {}), ("vit", {}), ("vit", {"model.pooling": "mean"})])
def test_the_shares_of_each_look_add_up_to_one_and_are_drawn(recipe, changes, tiny_runs, file, tmp_path):
    run = tiny_runs(recipe, changes)
    facts = json.loads(looked(run, "--attention", file, "--out", tmp_path / "a.png", "--json"))
    assert all(np.sum(each["weights"]) == pytest.approx(1, abs=1e-4) for each in facts)
    assert Image.open(tmp_path / "a.png").size[0] > 300
    model = lexigraph.load(run)
    if recipe == "captioner":
        (best,) = model.caption(file, attention=True)
        assert [each["name"] for each in facts] == list(best.pieces)
    else:
        assert len(facts) == model.network.config.layers * model.network.config.heads
        assert len(json.loads(looked(run, "--attention", file, "--head", "layer 0 head 1", "--json"))) == 1


def test_positions_made_of_rows_and_columns_are_alike_where_they_share_one(tiny_runs, tmp_path):
    run = tiny_runs("vit", {"model.positions": "2d"})
    facts = json.loads(looked(run, "--positions", "--out", tmp_path / "a.png", "--json"))
    found = np.array(facts["similarities"])
    assert found.shape == (4, 4, 4, 4)
    assert all(found[y, x, y, x] == pytest.approx(1, abs=1e-5) for y, x in np.ndindex(4, 4))
    means = facts["means"]
    assert min(means["its row"], means["its column"]) > means["elsewhere"]
    assert (tmp_path / "a.png").stat().st_size > 1000
    assert vision.means(np.ones((1, 2, 1, 2))) == {"its row": 1.0}
