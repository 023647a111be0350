"""Train, be killed at random moments, resume; at the end compare with a run that was left in peace.

    python tests/contracts/kill_loop.py FOLDER KILLS FORM [FORM …]         forms of systems, as tiny.py names them

The run left in peace is trained by this process itself, and the others by its forks: what is loaded at the first
training is loaded once, a life costs milliseconds, and kills come at moments of training, not of imports.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import torch

import lexigraph.api
from tests.contracts.tiny import form_of

STEPS = 24
CHANGES = {"train.steps": STEPS, "train.validate_every": 6, "train.checkpoint_every": 4, "train.log_every": 1}


def train(system: str, out: Path, changes: Mapping[str, Any] = CHANGES) -> None:
    """A training by this process, whose forks then have loaded all that it loads."""
    name, form = form_of(system)
    lexigraph.api.train(name, "grammar", out, set={**changes, **form}, tiny=True, resume=True, quiet=True)


def live(system: str, out: Path, after: float | None = None) -> bool:
    """One life of a training process; killed `after` so many seconds, if given. True if it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            train(system, out)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        sys.exit(f"{system}: the process failed by itself")
    return os.WIFEXITED(status)


def losses(run: Path) -> list[tuple[str, int, float]]:
    lines = [json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()]
    return [(line["kind"], line["step"], line["loss"]) for line in lines]


def main(system: str, folder: Path, kills: int, seed: int) -> None:
    calm, rough = folder / "calm", folder / "rough"
    os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # to ask for a card without opening it
    card = torch.cuda.is_available()  # which forks of a process that has opened it cannot use
    folder.mkdir(parents=True)
    if not card:  # the first training is slow, and would make kills come too late
        train(system, folder / "warm-up", {})
    elif kills > 1:
        live(system, folder / "warm-up")
    begin = time.monotonic()
    (live if card else train)(system, calm)
    whole = time.monotonic() - begin
    moments = random.Random(seed)
    longest = whole / 2  # a busy machine may have slowed the calm run; there shall be enough kills all the same
    killed = sum(not live(system, rough, moments.uniform(0, longest)) for _ in range(kills))
    live(system, rough)
    assert killed > kills // 4, f"only {killed} of {kills} came before the end"
    weights = [(run / "model.safetensors").read_bytes() for run in (calm, rough)]
    assert weights[0] == weights[1], "the weights differ"
    assert losses(calm) == losses(rough), "the logs differ"
    scores = [json.loads((run / "results.json").read_text())["scores"] for run in (calm, rough)]
    assert scores[0] == scores[1], "the scores differ"
    left = [path.name for path in rough.iterdir()]
    assert not [name for name in left if "partial" in name], left
    print(f"{system}: killed {killed} times, the same to the last bit")


if __name__ == "__main__":
    for form in sys.argv[3:]:
        main(form, Path(sys.argv[1]) / form, int(sys.argv[2]), seed=7)
