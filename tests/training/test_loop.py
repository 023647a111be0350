"""What a run does besides learning: stop, go on, keep the best, explain failures."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

import lexigraph.api
import lexigraph.preparation
from lexigraph.errors import LexigraphError
from lexigraph.evaluation import language
from lexigraph.nn.network import build
from lexigraph.training import loop
from lexigraph.training.progress import Reporter

TINY = {"train.tensorboard": False, "train.steps": 12, "train.validate_every": 4}


def train(out: Path, **changes: Any) -> Any:
    return lexigraph.api.train("gpt", "grammar", out, set=TINY | changes, tiny=True, quiet=True)


def log(out: Path, kind: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    return [line for line in lines if line["kind"] == kind]


def test_loss_falls_and_everything_is_logged(tmp_path):
    train(tmp_path / "run", **{"train.steps": 40, "train.lr": 0.01, "train.log_every": 10})
    losses = [line["loss"] for line in log(tmp_path / "run", "train")]
    assert losses[-1] < losses[0] - 0.3
    assert {"loss", "gradient_norm", "lr", "tokens_per_second"} <= log(tmp_path / "run", "train")[0].keys()
    assert [line["step"] for line in log(tmp_path / "run", "valid")] == [4 * i for i in range(1, 11)]


def test_the_best_weights_are_kept_not_the_last(tmp_path, monkeypatch):
    scores = iter([3.0, 1.0, 2.0])
    monkeypatch.setattr(lexigraph.api, "_validator", lambda *_: lambda network: {"loss": next(scores)})
    train(tmp_path / "run")
    newest = next((tmp_path / "run" / "checkpoints").glob("step-*"))
    best, last = load_file(tmp_path / "run" / "model.safetensors"), load_file(newest / "weights.safetensors")
    assert newest.name == "step-00000012"
    assert not torch.equal(best["embedding.weight"], last["embedding.weight"])
    assert json.loads((tmp_path / "run" / "results.json").read_text())["best_step"] == 8


def test_the_signature_names_the_step_whose_weights_were_scored(tmp_path, monkeypatch):
    text = tmp_path / "text.txt"
    text.write_text("She laughed .\n" * 3)

    def steps_of(folder: str) -> set[str]:
        results = tmp_path / folder / "results.json"
        said = [json.loads(results.read_text())["scores"]["test"], lexigraph.api.evaluate(tmp_path / folder, text)]
        results.unlink()  # as of a run that goes on: its checkpoint knows
        said.append(lexigraph.api.evaluate(tmp_path / folder, text))
        return {part for scores in said for part in scores["signature"].split("|") if part.startswith("steps:")}

    train(tmp_path / "without", **{"data.split": [0.95, 0.0, 0.05]})
    assert steps_of("without") == {"steps:12"}  # nothing says which weights are the best: the last
    scores = iter([3.0, 1.0, 2.0])
    monkeypatch.setattr(lexigraph.api, "_validator", lambda *_: lambda network: {"loss": next(scores)})
    train(tmp_path / "with")
    assert steps_of("with") == {"steps:8"}


def test_validations_before_a_network_is_settled_are_no_reason_to_keep_or_to_stop(tmp_path, monkeypatch):
    scores = iter([1.0, 2.0, 9.0, 8.0, 8.5, 8.6])
    monkeypatch.setattr(lexigraph.api, "_validator", lambda *_: lambda network: {"loss": next(scores)})

    def built(*parts):
        network = build(*parts)
        network.traits = dataclasses.replace(network.traits, settled=10)
        return network

    monkeypatch.setattr(lexigraph.preparation, "build", built)
    train(tmp_path / "run", **{"train.steps": 40, "train.patience": 2})
    assert log(tmp_path / "run", "valid")[-1]["step"] == 24  # two worse ones, and not those of steps 8 and 12
    assert json.loads((tmp_path / "run" / "results.json").read_text())["best_step"] == 16


@pytest.mark.parametrize(
    ("system", "anneal", "kept"),
    [("picture", 8, 8), ("lstm-autoencoder", 8, 8), ("lstm-autoencoder", 9, 12), ("lstm-autoencoder", 100, 12)],
)
def test_the_best_weights_of_a_variational_run_are_never_of_before_annealing_ends(
    tmp_path, monkeypatch, system, anneal, kept
):
    """While the KL costs little the vector holds too much, and validation can look better than it ever will again."""
    scores = iter([1.0, 2.0, 3.0])
    monkeypatch.setattr(lexigraph.api, "_validator", lambda *_: lambda network: {"loss": next(scores)})
    changes = {"objective.variational": True, "objective.anneal": anneal, "eval.mixture": 0}
    changes |= {"objective.noise_level": 0.0} if system == "picture" else {}
    said: list[str] = []
    monkeypatch.setattr(Reporter, "say", lambda self, text: said.append(text))
    out = tmp_path / "run"
    lexigraph.api.train(system, "grammar", out, set=TINY | changes, tiny=True, quiet=True)
    assert json.loads((out / "results.json").read_text())["best_step"] == kept
    best, last = (
        load_file(out / "model.safetensors"),
        load_file(out / "checkpoints/step-00000012/weights.safetensors"),
    )
    assert torch.equal(best["embedding.weight"], last["embedding.weight"]) == (kept != 8)
    assert any("the last weights are kept" in text for text in said) == (anneal == 100)


@pytest.mark.parametrize(
    ("greater", "scores", "stopped"), [(False, [3, 1, 2, 4, 0], 16), (True, [3, 1, 2, 4, 0], 12)]
)
def test_patience_ends_a_run_on_any_metric(tmp_path, monkeypatch, greater, scores, stopped):
    values = iter(scores)
    monkeypatch.setattr(lexigraph.api, "_validator", lambda *_: lambda network: {"f1": float(next(values))})
    monkeypatch.setattr(language, "METRICS", {"f1": greater})
    train(tmp_path / "run", **{"train.metric": "f1", "train.patience": 2, "train.steps": 40})
    assert log(tmp_path / "run", "valid")[-1]["step"] == stopped


def test_a_loss_that_is_not_finite_names_the_step_and_keeps_the_checkpoint(tmp_path, monkeypatch):
    honest = loop.Training.step

    def poisoned(self):
        facts = honest(self)
        return facts | {"loss": facts["loss"] * float("nan")} if self.progress.step == 7 else facts

    monkeypatch.setattr(loop.Training, "step", poisoned)
    with pytest.raises(LexigraphError, match=r"loss of step 7 is nan.*train\.lr"):
        train(tmp_path / "run")
    kept = [path.name for path in (tmp_path / "run" / "checkpoints").iterdir()]
    assert kept == ["step-00000004"]
    monkeypatch.undo()
    assert train(tmp_path / "run2").recipe.train.steps == 12


def test_running_out_of_memory_says_which_batch_and_what_to_set(tmp_path, monkeypatch):
    def full(self):
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(loop.Training, "step", full)
    with pytest.raises(LexigraphError, match=r"step 1: a batch of \d+ rows of up to \d+ tokens.*train\.accumulate=2"):
        train(tmp_path / "run")


@pytest.mark.parametrize("precision", ["bf16", "fp32"])
def test_precisions_train_on_the_cpu(tmp_path, precision):
    train(tmp_path / "run", **{"train.precision": precision, "train.steps": 4})
    assert log(tmp_path / "run", "train")[-1]["loss"] < 10


@pytest.mark.parametrize("name", ["sgd", "rmsprop", "adam", "adamw", "muon"])
def test_every_optimizer_resumes_to_the_last_bit(tmp_path, name, monkeypatch):
    changes = {"train.optimizer": name, "train.momentum": 0.5, "train.checkpoint_every": 4, "train.lr": 0.01}
    train(tmp_path / "calm", **changes)
    honest = loop.Training.step

    def dying(self):
        if self.progress.step == 6:
            raise KeyboardInterrupt
        return honest(self)

    monkeypatch.setattr(loop.Training, "step", dying)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path / "rough", **changes)
    monkeypatch.undo()
    lexigraph.api.train("gpt", "grammar", tmp_path / "rough", set=TINY | changes, tiny=True, quiet=True, resume=True)
    calm, rough = ((tmp_path / run / "model.safetensors").read_bytes() for run in ("calm", "rough"))
    assert calm == rough


def test_fine_tuning_starts_from_the_weights_and_tokenizer_of_a_run(tmp_path):
    first = train(tmp_path / "first")
    changes = TINY | {"train.steps": 1, "train.lr": 0.0, "train.seed": 5, "model.dropout": 0.5}
    second = lexigraph.api.train(
        "gpt", "grammar", tmp_path / "second", start=tmp_path / "first", set=changes, tiny=True, quiet=True
    )
    assert second.tokenizer.fingerprint == first.tokenizer.fingerprint
    assert second.recipe.model.dropout == 0.5  # a key that was asked for, and fits the weights
    for name, weight in first.network.state_dict().items():
        assert torch.equal(weight, second.network.state_dict()[name]), name


def test_fine_tuning_refuses_what_it_cannot_change(tmp_path):
    train(tmp_path / "first", **{"train.steps": 1})
    for changes, word in (({"tokenizer.size": 300}, "tokenizer.size"), ({"model.dim": 32}, "shape")):
        with pytest.raises(LexigraphError, match=word):
            lexigraph.api.train(
                "gpt",
                "grammar",
                tmp_path / "second",
                start=tmp_path / "first",
                set=TINY | changes,
                tiny=True,
                quiet=True,
            )
        assert not (tmp_path / "second").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_and_exits_cleanly(tmp_path, number):
    recipe = tmp_path / "long.toml"
    recipe.write_text(
        'system = "gpt"\n[data]\nsentences = 300\n[tokenizer]\nsize = 400\n[model]\nlayers = 1\nheads = 2\ndim = 16\n'
        "context = 32\n[train]\nsteps = 1000000\nvalidate_every = 1000000\nbatch_tokens = 256\ntensorboard = false\n"
    )
    command = [sys.executable, "-m", "lexigraph", "train", recipe, "--data", "grammar", "--out", tmp_path / "run"]
    process = subprocess.Popen(list(map(str, command)), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (tmp_path / "run" / "log.jsonl").exists() and time.monotonic() < deadline:
        assert process.poll() is None
        os.sched_yield()
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "all of it is saved" in errors
    assert "--resume" in errors
    step = int(next((tmp_path / "run" / "checkpoints").iterdir()).name.removeprefix("step-"))
    assert f"step {step:,} of" in errors


def test_parts_that_are_not_trained_stay_as_they_were(tmp_path):
    train(tmp_path / "first")
    changes = {"train.lr_scale": {"embedding": 0.0, "blocks.0": 0.0}, "train.tensorboard": False, "train.steps": 8}
    again = {"start": tmp_path / "first", "set": TINY | changes, "tiny": True, "quiet": True}
    lexigraph.api.train("gpt", "grammar", tmp_path / "again", **again)
    before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("first", "again"))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed == {name for name in before if not name.startswith(("embedding.", "blocks.0."))}


def test_the_average_of_the_weights_is_kept_and_goes_on_after_a_stop(tmp_path):
    settings = {"train.average": 0.9, "train.steps": 4, "train.validate_every": 2, "train.schedule": "constant"}
    train(tmp_path / "once", **settings)
    kept = load_file(tmp_path / "once" / "model.safetensors")
    newest = next((tmp_path / "once" / "checkpoints").glob("step-*"))
    for name, value in load_file(newest / "average.safetensors").items():
        assert torch.equal(kept[name], value)
    assert not torch.equal(kept["embedding.weight"], load_file(newest / "weights.safetensors")["embedding.weight"])

    train(tmp_path / "parts", **settings | {"train.steps": 2})
    lexigraph.api.train(out=tmp_path / "parts", resume=True, set={"train.steps": 4}, quiet=True)
    resumed = load_file(tmp_path / "parts" / "model.safetensors")
    assert all(torch.equal(resumed[name], kept[name]) for name in kept)
