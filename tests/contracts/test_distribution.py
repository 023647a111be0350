"""Accumulation and data-parallel equivalence, and what happens when one process fails."""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from lexigraph import api
from lexigraph.training.distribution import World

from .tiny import FORMS, bound_by, forms_with
from .two_processes import PIPELINED, SETTINGS, largest_difference, weights_after


def torchrun(*command: str | Path, processes: int = 2) -> subprocess.CompletedProcess[str]:
    """Two processes on this machine, with their output together."""
    launcher = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={processes}", "--standalone"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [*launcher, *map(str, command)], capture_output=True, text=True, env=environment, timeout=240, check=False
    )


@bound_by("accumulation")
@pytest.mark.parametrize("rows", [8, 1])
def test_micro_batches_give_the_step_of_the_whole_batch(system, rows):
    world = World(torch.device("cpu"))
    whole = weights_after(system, world, SETTINGS, rows)
    for parts in (2, 3, 8):
        cut = weights_after(system, world, dataclasses.replace(SETTINGS, accumulate=parts), rows)
        assert largest_difference(whole, cut) < 1e-10


def contents(run: Path) -> dict[str, set[tuple[str, tuple[int, ...]]]]:
    """The files of a run, with the names and shapes of the tensors in them: but for the random numbers, of which each
    process has its own."""
    files = [path for path in run.rglob("*") if path.is_file()]
    return {
        str(path.relative_to(run)): {
            (name, tuple(tensor.shape)) for name, tensor in load_file(path).items() if path.stem != "random"
        }
        if path.suffix == ".safetensors"
        else set()
        for path in files
    }


def written(system: str, tokenizer: str, file: Path) -> Path:
    """A recipe of a small model."""
    file.write_text(
        f'system = "{system}"\n[data]\nsentences = 300\n[tokenizer]\nsize = 400\n{tokenizer}\n'
        "[model]\nlayers = 1\nheads = 2\ndim = 16\ncontext = 32\n"
        "[train]\nsteps = 3\nbatch_tokens = 256\ntensorboard = false\n"
    )
    return file


def test_two_processes_give_the_step_of_one_and_train_with_a_vocabulary_for_each_side(tmp_path):
    recipe = written("transformer", "separate = true", tmp_path / "two.toml")
    command = [sys.executable, Path(__file__).with_name("two_processes.py"), tmp_path, recipe]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for system in forms_with("accumulation"):
        assert system in FORMS or f"{system}: ddp = fully_shard = " in done.stdout
    for system in ("seq2seq", "transformer", "gpt"):
        assert f"{system}: ddp = fully_shard = pipeline = one process" in done.stdout
    assert "growing batches: ddp = fully_shard = pipeline = one process" in done.stdout
    assert "fully_shard: resumed to the last bit" in done.stdout
    assert "pipeline: resumed to the last bit" in done.stdout
    api.train("seq2seq", "grammar", tmp_path / "alone", set=PIPELINED, tiny=True, quiet=True)
    assert contents(tmp_path / "calm") == contents(tmp_path / "alone")
    assert (tmp_path / "run" / "results.json").exists()
    assert "2 × cpu" in done.stderr


def test_two_processes_train_a_recipe_from_the_command_line(tmp_path):
    recipe = written("gpt", "", tmp_path / "two.toml")
    done = torchrun("-m", "lexigraph", "train", recipe, "--data", "grammar", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr[-3000:]
    assert (tmp_path / "run" / "results.json").exists()
    assert "2 × cpu" in done.stderr


def test_one_failing_process_ends_all_with_its_message(tmp_path):
    done = torchrun(
        "-m", "lexigraph", "train", "gpt", "--data", tmp_path / "no-such-file.txt", "--out", tmp_path / "run"
    )
    assert done.returncode != 0
    assert "no-such-file.txt" in done.stderr
    assert not (tmp_path / "run").exists()


def test_what_the_first_process_refuses_ends_all_in_a_sentence(tiny_run, tmp_path):
    run = shutil.copytree(tiny_run, tmp_path / "run")
    done = torchrun("-m", "lexigraph", "train", "--out", run, "--resume", "--set", "train.lr=1")
    assert done.returncode != 0
    assert "train.lr: " in done.stderr
    assert "The first process has failed, and says why." in done.stderr
    assert "[rank1]: Traceback" not in done.stderr
