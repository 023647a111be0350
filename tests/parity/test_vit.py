"""The same weights give the same numbers: our vision transformer and transformers' ViTForImageClassification."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import lexigraph
from lexigraph import api
from lexigraph.errors import LexigraphError
from lexigraph.exchange.folder import export_folder, import_folder
from lexigraph.objectives.terms import Batch, value

from .same import assert_same

SIZES = [  # layers, heads, width, inner width, side, side of a patch, channels, activation
    (1, 1, 16, 24, 8, 4, 1, "gelu"),
    (2, 4, 32, 64, 12, 3, 3, "gelu_new"),
]
MEAN, STD = (0.2, 0.4, 0.6), (0.3, 0.2, 0.1)


def saved(folder: Path, size: tuple[Any, ...]) -> Any:
    """A model of theirs with random weights, in its folder."""
    transformers = pytest.importorskip("transformers")
    names = ("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size", "image_size",
             "patch_size", "num_channels", "hidden_act")  # fmt: skip
    torch.manual_seed(size[0])
    labels = {0: "zebra", 1: "ant", 2: "bear"}
    config = transformers.ViTConfig(**dict(zip(names, size, strict=True)), id2label=labels)
    theirs = transformers.ViTForImageClassification(config).eval()
    for parameter in theirs.parameters():  # norms and biases too, which are born as 1 and 0
        torch.nn.init.normal_(parameter, std=0.3)
    theirs.save_pretrained(folder)
    processor = {
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "image_mean": MEAN[: size[6]],
        "image_std": STD[: size[6]],
    }
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return theirs


def pixels(images: np.ndarray, size: tuple[Any, ...]) -> torch.Tensor:
    """Pictures as their processor makes them."""
    mean, std = (torch.tensor(each[: size[6]]) for each in (MEAN, STD))
    return ((torch.from_numpy(images) / 255 - mean) / std).permute(0, 3, 1, 2)


@pytest.mark.parametrize("size", SIZES)
def test_logits_and_gradients_of_an_imported_model_are_theirs_and_it_goes_back(size, tmp_path):
    theirs = saved(tmp_path / "theirs", size)
    model = lexigraph.load(import_folder(tmp_path / "theirs", tmp_path / "run"), device="cpu")
    images = np.random.default_rng(0).integers(0, 256, (3, size[4], size[4], size[6])).astype(np.uint8)
    labels, network = torch.tensor([2, 0, 1]), model.network
    logits = theirs(pixels(images, size)).logits
    assert_same(network(torch.from_numpy(images)), logits)
    best = logits.argmax(1).tolist()
    assert [found.label for found in model.classify(list(images))] == [("zebra", "ant", "bear")[i] for i in best]
    F.cross_entropy(logits, labels).backward()
    batch = Batch({"images": torch.from_numpy(images), "label": labels}, {"loss": 3.0})
    value(network.loss(batch)[0]).backward()
    names = {"encoder.token": "vit.embeddings.cls_token", "output.weight": "classifier.weight"}
    given = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    for ours, other in names.items():
        mine = dict(network.named_parameters())[ours].grad
        assert_same(mine.flatten(), given[other].flatten())
    back = type(theirs).from_pretrained(export_folder(tmp_path / "run", tmp_path / "back"))
    for one, other in zip(theirs.state_dict().items(), back.state_dict().items(), strict=True):
        assert one[0] == other[0]
        assert torch.equal(one[1], other[1])
    assert back.config.id2label == theirs.config.id2label
    processor = json.loads((tmp_path / "back" / "preprocessor_config.json").read_text())
    assert processor["image_mean"] == pytest.approx(MEAN[: size[6]])
    assert processor["image_std"] == pytest.approx(STD[: size[6]])


def test_a_trained_run_goes_to_transformers_and_comes_back(tiny_runs, tmp_path):
    transformers = pytest.importorskip("transformers")
    run = tiny_runs("vit")
    ours = api.load(run, device="cpu")
    theirs = transformers.ViTForImageClassification.from_pretrained(export_folder(run, tmp_path / "theirs")).eval()
    images = torch.randint(0, 256, (2, 16, 16, 3), dtype=torch.uint8)
    processor = json.loads((tmp_path / "theirs" / "preprocessor_config.json").read_text())
    mean, std = (torch.tensor(processor[name]) for name in ("image_mean", "image_std"))
    with torch.no_grad():
        found = theirs(((images / 255 - mean) / std).permute(0, 3, 1, 2)).logits
        assert_same(ours.network(images), found)
        again = api.load(import_folder(tmp_path / "theirs", tmp_path / "again"), device="cpu")
        assert_same(again.network(images), found)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"model.stem": True}, "no place for model.stem"),
        ({"model.positions": "2d"}, 'model.positions = "2d"'),
        ({"model.pooling": "mean"}, 'model.pooling = "mean"'),
    ],
)
def test_forms_that_they_do_not_have_stay_here(changes, said, tiny_runs, tmp_path):
    with pytest.raises(LexigraphError, match=said):
        export_folder(tiny_runs("vit", changes), tmp_path / "theirs")


def test_a_folder_without_its_processor_is_incomplete(tmp_path):
    saved(tmp_path / "theirs", SIZES[0])
    (tmp_path / "theirs" / "preprocessor_config.json").unlink()
    with pytest.raises(LexigraphError, match=r"incomplete: preprocessor_config\.json"):
        import_folder(tmp_path / "theirs", tmp_path / "run")
