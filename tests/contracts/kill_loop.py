"""Train, be killed at random moments, resume; at the end compare with a run that was left in peace.

    python tests/contracts/kill_loop.py FOLDER KILLS FORM [FORM …]         forms of systems, as tiny.py names them

Children are forked after the imports, so that a life costs milliseconds, not seconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import lexigraph.api
from tests.contracts.tiny import form_of

STEPS = 24
CHANGES = {"train.steps": STEPS, "train.validate_every": 6, "train.checkpoint_every": 4, "train.log_every": 1}


def live(system: str, out: Path, after: float | None) -> bool:
    """One life of a training process; killed `after` so many seconds, if given. True if it came to its end."""
    child = os.fork()
    if child == 0:
        name, form = form_of(system)
        try:
            lexigraph.api.train(name, "grammar", out, set=CHANGES | form, tiny=True, resume=True, quiet=True)
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
    folder.mkdir(parents=True)
    if kills > 1:  # the first life is slow, and would make kills come too late
        live(system, folder / "warm-up", None)
    begin = time.monotonic()
    live(system, calm, None)
    whole = time.monotonic() - begin
    moments = random.Random(seed)
    longest = whole / 2  # a busy machine may have slowed the calm run; there shall be enough kills all the same
    killed = sum(not live(system, rough, moments.uniform(0, longest)) for _ in range(kills))
    live(system, rough, None)
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
