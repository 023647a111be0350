"""Tags of frames: sequences of vectors from arrays, lists and files, each number scaled by its own."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import LexigraphError
from lexigraph.models.frames import Config, FrameTagger, Objective
from lexigraph.text import builtin
from lexigraph.text.vocabularies import Labels, Numbers, Vocabularies

CALM = {"train.tensorboard": False, "data.split": [1.0], "train.batch_tokens": 512}


def test_each_number_of_a_frame_has_a_scale_of_its_own():
    """A thousandfold unit makes no difference; with one scale for all it does."""
    rows = [np.array([[0.0, 10.0], [2.0, 30.0], [4.0, 50.0]]), np.array([[2.0, 30.0]])]
    numbers = Numbers.learn(((row, "") for row in rows), sequences=True)
    assert numbers.shape == (2,)
    assert numbers.means == pytest.approx((2, 30))
    assert numbers.deviations == pytest.approx((2**0.5, 200**0.5))
    larger = [row * [1, 1000] for row in rows]
    for scale, alike in (("each", True), ("all", False)):
        outputs = []
        for given in (rows, larger):
            torch.manual_seed(0)
            vocabularies = Vocabularies(
                {"frames": Numbers.learn(((row, "") for row in given), sequences=True), "tags": Labels(("a", "b"))}
            )
            network = FrameTagger(Config(dim=4, scale=scale), Objective(), vocabularies)
            outputs.append(network.outputs(network.prepare({"frames": given}))["logits"][0])
        assert torch.allclose(*outputs, atol=1e-5) == alike


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The same sequences as one .npz file, as JSON lines, and as a table that names .npy files."""
    folder, records = tmp_path_factory.mktemp("frames"), [r.columns for r in builtin.records(("frames", "tags"), 60)]
    frames, tags = ([r[name] for r in records] for name in ("frames", "tags"))
    lengths = [len(each) for each in frames]
    np.savez(folder / "all.npz", frames=np.concatenate(frames), tags=np.concatenate(tags), lengths=lengths)
    lines = [json.dumps({"frames": f.tolist(), "tags": t}) for f, t in zip(frames, tags, strict=True)]
    (folder / "all.jsonl").write_text("\n".join(lines))
    for number, each in enumerate(frames):
        np.save(folder / f"{number}.npy", each)
    rows = [f"{number}.npy\t{' '.join(each)}" for number, each in enumerate(tags)]
    (folder / "all.tsv").write_text("\n".join(["frames\ttags", *rows]))
    return folder


@pytest.fixture(scope="module")
def trained(files):
    changes = CALM | {"train.steps": 150, "train.lr": 0.01, "model.dim": 16}
    return api.train("frames", files / "all.npz", files / "run", test=files / "all.tsv", quiet=True, set=changes)


def test_it_learns_what_a_frame_alone_does_not_tell(trained):
    """The signal's height says nothing of where it goes: the commonest tag is right for under a half."""
    scores = json.loads((trained.path / "results.json").read_text())["scores"]["test"]
    assert scores["always_the_commonest_tag"] < 0.5
    assert scores["accuracy"]["value"] > 0.75


def test_arrays_lists_and_files_are_the_same_sequences(trained, files):
    accuracies = {api.evaluate(trained.path, files / f"all.{kind}")["accuracy"]["value"] for kind in ("npz", "jsonl")}
    assert len(accuracies) == 1
    (named,), (given,) = trained.tag([files / "0.npy"]), trained.tag([np.load(files / "0.npy")])
    assert named == given
    assert [frame.frame for frame in named] == list(range(len(named)))
    shown = CliRunner().invoke(app, ["tag", str(trained.path), str(files / "0.npy"), "--conll"]).output
    assert shown.splitlines()[0] == f"0\t{named[0].tag}"


def test_sequences_that_do_not_fit_are_refused(trained, files, tmp_path):
    with pytest.raises(LexigraphError, match="A frame has 3 numbers, and those of this model have 2"):
        trained.tag([np.zeros((5, 3))])
    with pytest.raises(LexigraphError, match="a frame, number 2, with what is no number"):
        trained.tag([np.array([[0.0, 1.0], [np.nan, 1.0]])])
    with pytest.raises(LexigraphError, match=r"nowhere\.npy cannot be read"):
        trained.tag(["nowhere.npy"])
    (tmp_path / "a.jsonl").write_text('{"frames": [[1, 2], [3]], "tags": ["a", "b"]}\n')
    with pytest.raises(LexigraphError, match=r"a\.jsonl, record 1: .* frames of different lengths"):
        api.train("frames", tmp_path / "a.jsonl", tmp_path / "run", quiet=True, set=CALM)
    (tmp_path / "b.jsonl").write_text('{"frames": [[1, 2], [3, 4]], "tags": ["a"]}\n')
    with pytest.raises(LexigraphError, match="line 1: there are 2 frames and 1 tags; each has one"):
        api.train("frames", tmp_path / "b.jsonl", tmp_path / "run", quiet=True, set=CALM)
    assert not (tmp_path / "run").exists()
