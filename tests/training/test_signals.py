"""A signal stops a training where nothing is lost by it: what goes on afterwards ends with the same bits."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import lexigraph.api
from lexigraph.errors import Interrupted
from lexigraph.models.gpt import GPT

SETTINGS = {"train.tensorboard": False, "train.steps": 4, "train.accumulate": 2, "train.validate_every": 2}
SETTINGS |= {"model.dropout": 0.2}


def train(out: Path, **more: Any) -> None:
    lexigraph.api.train("gpt", "grammar", out, set=SETTINGS, tiny=True, quiet=True, **more)


def resume(out: Path) -> None:
    lexigraph.api.train(None, None, out, resume=True, quiet=True)


def files(out: Path) -> list[dict[str, torch.Tensor]]:
    (newest,) = (out / "checkpoints").glob("step-*")
    return [load_file(out / "model.safetensors"), load_file(newest / "weights.safetensors")]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, torch.Tensor]]:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    train(out)
    return files(out)


def same(one: list[dict[str, torch.Tensor]], other: list[dict[str, torch.Tensor]]) -> bool:
    return all(torch.equal(a[name], b[name]) for a, b in zip(one, other, strict=True) for name in a)


@pytest.mark.parametrize(("calls", "step"), [(6, 2), (5, 2)])  # in the second micro-batch of step 3, and its first
def test_it_stops_between_micro_batches(undisturbed, calls, step, tmp_path, monkeypatch):
    count, loss = 0, GPT.loss

    def counted(self, *arguments):
        nonlocal count
        count += self.training
        if count == calls and self.training:
            os.kill(os.getpid(), signal.SIGTERM)
        return loss(self, *arguments)

    monkeypatch.setattr(GPT, "loss", counted)
    with pytest.raises(Interrupted, match=r"Stopped at step \d of 4; all of it is saved"):
        train(tmp_path / "run")
    (newest,) = (tmp_path / "run" / "checkpoints").glob("step-*")
    assert newest.name == f"step-0000000{step if calls == 5 else step + 1}"
    monkeypatch.undo()
    resume(tmp_path / "run")
    assert same(files(tmp_path / "run"), undisturbed)


def test_it_stops_in_a_validation_which_is_done_when_it_goes_on(undisturbed, tmp_path, monkeypatch):
    validator, begun = lexigraph.api._validator, []

    def stopping(*arguments):
        validate = validator(*arguments)

        def stopped(network):
            begun.append(1)
            os.kill(os.getpid(), signal.SIGTERM)
            return validate(network)

        return stopped

    monkeypatch.setattr(lexigraph.api, "_validator", stopping)
    with pytest.raises(Interrupted, match="Stopped at step 2 of 4"):
        train(tmp_path / "run")
    assert begun == [1]
    assert not (tmp_path / "run" / "model.safetensors").exists()  # it was not measured yet
    monkeypatch.undo()
    resume(tmp_path / "run")
    assert same(files(tmp_path / "run"), undisturbed)


def test_a_second_signal_of_either_kind_ends_it_at_once(tmp_path, monkeypatch):
    loss = GPT.loss

    def interrupted(self, *arguments):
        if self.training:
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGINT)
        return loss(self, *arguments)

    monkeypatch.setattr(GPT, "loss", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "run")
