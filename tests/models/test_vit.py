"""The vision transformer: patches by hand, pictures from files and arrays, wrong pictures, the command line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

from lexigraph import api, upgrades
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.models.vit import Config, Objective, VisionTransformer
from lexigraph.objectives.augmentation import changed
from lexigraph.objectives.rng import random_of
from lexigraph.objectives.terms import value
from lexigraph.text import builtin, images
from lexigraph.text.vocabularies import Labels, Numbers, Vocabularies

SMALL = {"train.tensorboard": False, "train.batch_tokens": 340, "model.layers": 1, "model.heads": 2, "model.dim": 32}


def network(patch: int = 2, shape: tuple[int, ...] = (4, 6, 3), learned: Any = (), **form: Any) -> VisionTransformer:
    torch.manual_seed(0)
    vocabularies = Vocabularies({"image": Numbers(shape, 100.0, 50.0), "label": Labels(("a", "b"))})
    config = Config(**{"patch": patch, "layers": 1, "heads": 2, "dim": 8, **form})
    return VisionTransformer(config, Objective(**dict(learned)), vocabularies).eval()


def pictures(count: int, shape: tuple[int, ...] = (4, 6, 3)) -> list[np.ndarray]:
    return list(np.random.default_rng(0).integers(0, 256, (count, *shape)).astype(np.uint8))


def labels(*ids: int) -> list[np.ndarray]:
    return [np.asarray(each) for each in ids]


def test_patches_are_squares_of_the_picture_in_reading_order():
    made, (picture,) = network(), pictures(1)
    seen: list[torch.Tensor] = []
    made.encoder.embed.register_forward_hook(lambda module, given, result: seen.append(given[0][0]))
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


def test_two_dimensional_positions_are_those_of_a_row_beside_those_of_a_column():
    encoder = network(positions="2d").encoder
    table, (rows, columns) = encoder.table(), (encoder.row_positions.weight, encoder.column_positions.weight)
    assert (len(rows), len(columns)) == (2, 3)
    assert torch.equal(table[1 + 3 * 1 + 2], torch.cat([rows[1], columns[2]]))  # the last patch
    assert not table[0].any()  # the class token stands nowhere


def test_the_mean_of_patches_without_positions_does_not_mind_their_order():
    made = network(pooling="mean", positions="none", layers=2).double()
    assert made.traits.row_tokens == 6  # no class token
    (picture,) = pictures(1)
    squares = [[picture[y : y + 2, x : x + 2] for x in (0, 2, 4)] for y in (0, 2)]
    moved = np.concatenate([np.concatenate(row, 1) for row in (squares[1][::-1], squares[0])])
    both = made(torch.from_numpy(np.stack([picture, moved])))
    assert torch.allclose(both[0], both[1])
    placed = network(pooling="mean", layers=2).double()(torch.from_numpy(np.stack([picture, moved])))
    assert not torch.allclose(placed[0], placed[1])


def test_a_stem_halves_the_picture_until_a_position_is_a_patch():
    made = network(4, (16, 8, 1), stem=True)
    strides = [module.stride[0] for module in made.encoder.embed if isinstance(module, torch.nn.Conv2d)]
    assert strides == [2, 2, 1]
    assert made.encoder(torch.zeros(1, 16, 8, 1)).shape == (1, 1 + 4 * 2, 8)
    with pytest.raises(UsageError, match=r"model\.patch = 3: a stem halves"):
        network(3, (6, 6, 1), stem=True)


def test_a_picture_is_shifted_with_black_coming_in_or_mirrored():
    picture = np.arange(1, 13, dtype=np.uint8).reshape(3, 4, 1)
    framed = np.zeros((7, 8, 1), np.uint8)
    framed[2:5, 2:6] = picture
    windows = {framed[y : y + 3, x : x + 4].tobytes() for y in range(5) for x in range(5)}
    seen = {changed(picture, random_of(seed), 2, False).tobytes() for seed in range(300)}
    assert seen == windows
    mirrored = [changed(picture, random_of(seed), 0, True) for seed in range(100)]
    shares = [np.array_equal(each, picture[:, ::-1]) for each in mirrored]
    assert 30 < sum(shares) < 70
    assert all(np.array_equal(each, picture) or own for each, own in zip(mirrored, shares, strict=True))


def test_what_happens_to_a_picture_follows_from_its_seed_in_any_batch():
    made = network(learned={"crop": 1, "flip": True, "mixup": 0.5})
    given = {"image": pictures(6), "label": labels(0, 1) * 3}
    given |= {"other": pictures(6)[::-1], "other_label": labels(1, 0) * 3}
    seeds = np.array([5, 3, 9, 100, 7, 8])
    whole = made.prepare(given, {"": seeds})
    for place in range(6):
        own = made.prepare({name: [rows[place]] for name, rows in given.items()}, {"": seeds[place : place + 1]})
        assert torch.equal(own["images"][0], whole["images"][place])
        assert own["share"][0] == whole["share"][place]
    assert not torch.equal(whole["images"], made.prepare(given, {"": seeds + 1})["images"])
    assert torch.equal(made.prepare(given)["images"], torch.from_numpy(np.stack(given["image"])))  # not in evaluation


def test_mixup_mixes_pictures_and_the_losses_of_both_labels():
    made = network(learned={"mixup": 1.0})
    (picture, other) = pictures(2)
    given = {"image": [picture], "label": labels(0), "other": [other], "other_label": labels(1)}
    batch = made.prepare(given, {"": np.array([4])})
    share = float(batch["share"][0])
    assert 0 < share < 1
    mixture = share * picture.astype(float) + (1 - share) * other
    assert batch["images"][0].numpy() == pytest.approx(mixture, abs=1e-3)
    log_p = made(batch["images"]).log_softmax(1)[0]
    assert float(value(made.loss(batch)[0])) == pytest.approx(float(-share * log_p[0] - (1 - share) * log_p[1]))


def test_an_older_run_finds_its_weights_within_the_encoder():
    assert upgrades.tensor_name("layers.0.attention.qkv.weight", "vit") == "encoder.layers.0.attention.qkv.weight"
    assert upgrades.tensor_name("token", "vit") == "encoder.token"
    assert upgrades.tensor_name("output.weight", "vit") == "output.weight"


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
