"""The vision transformer: patches by hand, pictures from files and arrays, wrong pictures, the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.models.vit import Config, Objective, VisionTransformer
from lexigraph.text import builtin, images
from lexigraph.text.vocabularies import Labels, Numbers, Vocabularies

SMALL = {"train.tensorboard": False, "train.batch_tokens": 340, "model.layers": 1, "model.heads": 2, "model.dim": 32}


def network(patch: int = 2, shape: tuple[int, ...] = (4, 6, 3)) -> VisionTransformer:
    torch.manual_seed(0)
    vocabularies = Vocabularies({"image": Numbers(shape, 100.0, 50.0), "label": Labels(("a", "b"))})
    return VisionTransformer(Config(patch=patch, layers=1, heads=2, dim=8), Objective(), vocabularies).eval()


def pictures(count: int, shape: tuple[int, ...] = (4, 6, 3)) -> list[np.ndarray]:
    return list(np.random.default_rng(0).integers(0, 256, (count, *shape)).astype(np.uint8))


def test_patches_are_squares_of_the_picture_in_reading_order():
    made, (picture,) = network(), pictures(1)
    seen: list[torch.Tensor] = []
    made.embed.register_forward_hook(lambda module, given, result: seen.append(given[0][0]))
    made(torch.from_numpy(picture)[None])
    normal = (picture.astype(np.float32) - 100) / 50
    squares = [normal[y : y + 2, x : x + 2] for y in (0, 2) for x in (0, 2, 4)]
    assert seen[0].shape == (6, 12)
    for patch, square in zip(seen[0], squares, strict=True):
        assert sorted(patch.tolist()) == pytest.approx(sorted(square.flatten().tolist()))
    assert made.traits.row_tokens == 7  # and the class token


def test_sixteen_dots_of_224_are_196_patches_and_the_class_token():
    assert network(16, (224, 224, 3)).traits.row_tokens == 197


def test_pictures_and_patches_that_do_not_fit_are_refused():
    with pytest.raises(UsageError, match=r"model\.patch = 4 must divide .*4 and 6"):
        network(4)
    with pytest.raises(UsageError, match=r"shape \(4, 6, 3\), not \(4, 4, 3\)"):
        network().prepare({"image": pictures(1, (4, 4, 3))})


def test_grey_pictures_have_one_channel(tmp_path):
    Image.fromarray(np.arange(16, dtype=np.uint8).reshape(4, 4)).save(tmp_path / "grey.png")
    assert images.read("grey.png", tmp_path).shape == (4, 4, 1)
    with pytest.raises(LexigraphError, match=r"nothing\.png cannot be read"):
        images.read("nothing.png", tmp_path)
    with pytest.raises(LexigraphError, match="an array of uint8"):
        images.read(np.zeros((4, 4)))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same scenes as files with a table, and as arrays."""
    folder = tmp_path_factory.mktemp("scenes")
    scenes = [record.columns for record in builtin.records(["image", "label"], 60)]
    rows = []
    for number, scene in enumerate(scenes):
        Image.fromarray(scene["image"]).save(folder / f"{number}.png")
        rows.append(f"{number}.png\t{scene['label']}\n")
    (folder / "table.tsv").write_text("".join(rows))
    np.savez(folder / "arrays.npz", image=np.stack([s["image"] for s in scenes]), label=[s["label"] for s in scenes])
    return folder


@pytest.fixture(scope="module")
def trained(files):
    changes = SMALL | {"data.split": [1.0], "train.steps": 200, "train.lr": 0.003}
    return api.train("vit", files / "arrays.npz", files / "run", quiet=True, set=changes)


def test_files_and_arrays_are_the_same_pictures(files, trained, tmp_path):
    scores = [api.evaluate(trained.path, files / name) for name in ("table.tsv", "arrays.npz")]
    assert scores[0]["nll"] == scores[1]["nll"]
    assert scores[0]["accuracy"]["value"] > 0.9  # learned by heart
    assert "tokenizer" not in scores[0]["signature"]
    assert json.loads((trained.path / "image-numbers.json").read_text())["shape"] == [16, 16, 3]


def test_a_picture_is_classified_from_its_file_and_from_its_array(files, trained):
    from_file = trained.classify([files / "0.png"])
    assert from_file == trained.classify([images.read(files / "0.png")])
    shown = CliRunner().invoke(app, ["classify", str(trained.path), str(files / "0.png")]).output
    assert shown.startswith(f"{from_file[0].label}\t")


def test_arrays_that_are_missing_or_of_other_lengths_are_refused(tmp_path):
    np.savez(tmp_path / "a.npz", pixels=np.zeros((2, 4, 4, 3), np.uint8), label=["a", "b"])
    with pytest.raises(LexigraphError, match="no array 'image'; it has: pixels, label"):
        api.train("vit", tmp_path / "a.npz", tmp_path / "run", quiet=True)
    np.savez(tmp_path / "b.npz", image=np.zeros((3, 4, 4, 3), np.uint8), label=["a", "b"])
    with pytest.raises(LexigraphError, match="different lengths"):
        api.train("vit", tmp_path / "b.npz", tmp_path / "run", quiet=True)
