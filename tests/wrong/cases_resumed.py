"""Runs that were stopped and then damaged: the encoded text, the checkpoint, the log; asked to go on, or measured."""

import json
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

from tests.wrong.case import FAILED, WRONG_USAGE, Case, Made

RESUME = "train --out stopped --resume --quiet"
STEP = "stopped/checkpoints/step-00000002"
NESTED = "[" * 100_000


@cache
def stopped_run() -> Path:
    """A run that has its encoded text and a checkpoint after its second step, as one has that was killed then."""
    from lexigraph import api

    folder = Path(tempfile.mkdtemp())
    api.prepare("gpt", "grammar", folder / "stopped", tiny=True, quiet=True)
    api.train("gpt", "grammar", folder / "ended", tiny=True, quiet=True)
    for name in ("checkpoints", "log.jsonl", "model.safetensors"):
        (folder / "ended" / name).rename(folder / "stopped" / name)
    return folder / "stopped"


def stopped(path: Path) -> None:
    shutil.copytree(stopped_run(), path)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def gone(path: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()


def state(**changes: object) -> Callable[[Path], None]:
    """A state as older versions wrote it, without checksums, with other values."""

    def change(path: Path) -> None:
        found = json.loads(path.read_text())
        del found["checksum"], found["files"]
        path.write_text(json.dumps(found | changes))

    return change


def damaged(name: str, made: Made, *names: str, command: str = RESUME, code: int = FAILED) -> Case:
    """A stopped run with one file that is not as it was."""
    return Case(command, (*names, name.rpartition("/")[2]), code, given={"stopped": stopped, name: made})


TABLES = {
    f"{what} of the encoded text": damaged(f"stopped/tables/{name}", made, "stopped/tables")
    for what, name, made in [
        ("a bit", "train.text.values", flipped), ("half", "train.text.values", cut),
        ("nothing", "train.text.values", empty), ("the absence", "train.text.values", gone),
        ("a bit in the ends", "train.text.offsets", flipped), ("half of the ends", "train.text.offsets", cut),
        ("the ends", "valid.text.offsets", gone), ("nested checksums", "checksums.json", NESTED),
        ("half of the checksums", "checksums.json", cut), ("a list for checksums", "checksums.json", "[1]"),
        ("checksums of other things", "checksums.json", '{"train.text.values": "many"}'),
    ]
} | {
    "no encoded text at all": damaged("stopped/tables", gone, "stopped", "incomplete"),
}  # fmt: skip

STATES = {
    f"a checkpoint with {what}": damaged(f"{STEP}/state.json", made, "damaged")
    for what, made in {
        "half a state": cut, "an empty state": empty, "no state": gone, "a nested state": NESTED,
        "a list for a state": "[]", "a state of bytes": b"\xff\xfe\x00", "a state of digits": "9" * 10_000,
        "a changed state": flipped, "a state without steps": state(step="two"), "a state of nothing": "{}",
        "a state that is more": state(more=1), "a world of words": state(world="one"),
        "a truth for a step": state(step=True),
    }.items()
} | {
    "a checkpoint of two processes": Case(
        RESUME, (STEP, "2 processes"), given={"stopped": stopped, f"{STEP}/state.json": state(world=2)}
    ),
    "a damaged text, asked for more steps": damaged(
        "stopped/tables/train.text.values", cut, "damaged", command=f"{RESUME} --set train.steps=4"
    ),
    "a checkpoint without its folder's files": damaged(STEP, lambda path: [gone(each) for each in path.iterdir()]),
    "a checkpoint whose moments are half": damaged(f"{STEP}/optimizer.safetensors", cut, "damaged"),
    "a checkpoint whose weights changed": damaged(f"{STEP}/weights.safetensors", flipped, "damaged"),
    "a checkpoint without its random numbers": damaged(f"{STEP}/random.safetensors", gone, "missing"),
    "a damaged state, asked for more steps": damaged(
        f"{STEP}/state.json", NESTED, "damaged", command=f"{RESUME} --set train.steps=4"
    ),
    "a damaged state, measured": damaged(f"{STEP}/state.json", NESTED, command="eval stopped --data good.txt"),
}  # fmt: skip

ASKED = {
    "a negative seed to go on with": Case(
        f"{RESUME} --set train.seed=-1", ("train.seed",), WRONG_USAGE, given={"stopped": stopped}
    ),
    "a rate without end to go on with": Case(
        f"{RESUME} --set train.lr=1e999", ("train.lr",), WRONG_USAGE, given={"stopped": stopped}
    ),
    "steps without end to go on with": Case(
        f"{RESUME} --set train.steps=1{'0' * 30}", ("train.steps",), WRONG_USAGE, given={"stopped": stopped}
    ),
    "fewer steps than were made": Case(
        f"{RESUME} --set train.steps=1", ("stopped", "2 steps already"), WRONG_USAGE, given={"stopped": stopped}
    ),
    "a negative seed of a map": Case("words map wv --seed -1 --out m.html", ("--seed",), WRONG_USAGE),
    "a negative seed of word vectors": Case(
        "words train --data good.txt --seed -1 --out o", ("seed", "-1"), WRONG_USAGE
    ),
    "a seed of words": Case("generate @gpt the --seed one", ("--seed", "integer"), WRONG_USAGE),
    "a seed with a point": Case("sample @picture --seed 1.5", ("--seed", "integer"), WRONG_USAGE),
    "a temperature that overflows": Case("generate @gpt the --temperature 1e999", ("temperature",), WRONG_USAGE),
    "a length penalty that overflows": Case("complete @gpt the --alpha 1e999", ("alpha",), WRONG_USAGE),
    "a noise that overflows": Case("decode @picture z.npy --noise 1e999", ("z.npy",), FAILED),
}  # fmt: skip

CASES = {**TABLES, **STATES, **ASKED}
