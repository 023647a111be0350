"""Kill everything that writes at random moments: what was there stays whole, and a training resumed ends the same.

    python tests/contracts/kill_everything.py FOLDER KILLS

Children are forked after the imports and a warm-up, so that a life costs milliseconds, and kills come at moments of
writing. Writers go to and fro between two contents, with force; whatever lies there after a kill is one of the two.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np

import lexigraph
from lexigraph import api
from lexigraph.exchange.folder import export_folder, import_folder
from lexigraph.words.vectors import WordVectors

Content = dict[str, bytes | None]
Writer = Callable[[Path, int], object]
STEPS = {"train.steps": 12, "train.validate_every": 6, "train.checkpoint_every": 3, "train.log_every": 1}
SMALL = {"words.dim": 8, "words.min_count": 2, "words.threads": 1, "words.epochs": 6}
SENTENCES = (["She sings .", "He sang ."], ["They slept .", "The cat sat ."])


def life(work: Callable[[], object], after: float | None = None) -> bool:
    """One life of a process, killed `after` so many seconds, if given. True if it came to its end."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    if after is not None:
        time.sleep(after)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        sys.exit("the process failed by itself")
    return os.WIFEXITED(status)


def timed(work: Callable[[], object]) -> float:
    begin = time.monotonic()
    life(work)
    return time.monotonic() - begin


def seen(folder: Path) -> Content:
    """What a user sees in a folder: all but hidden files and folders."""
    paths = [path for path in folder.rglob("*") if not any(p.startswith(".") for p in path.relative_to(folder).parts)]
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in paths}


def hidden(folder: Path) -> list[str]:
    return [str(path) for path in folder.rglob(".*")]


def written(name: str, write: Writer, folder: Path, kills: int, moments: random.Random, whole: bool = True) -> None:
    """Write two contents in turn until killed so often. `whole`: what is there is one of them, not some of each."""
    folder.mkdir(parents=True)
    contents = []
    for variant in (1, 0):
        took = timed(lambda variant=variant: write(folder, variant))
        contents.insert(0, seen(folder))
    assert contents[0].keys() == contents[1].keys()
    assert contents[0] != contents[1], name
    killed = turn = 0
    while killed < kills:  # a life that ended before its moment came is none
        turn += 1
        killed += not life(lambda turn=turn: write(folder, turn % 2), moments.uniform(0, took))
        found = seen(folder)
        assert found.keys() == contents[0].keys(), (name, sorted(found))
        if whole:
            assert found in contents, f"{name}: a mixture of two contents"
        for file, content in found.items():
            assert content in (contents[0][file], contents[1][file]), f"{name}: half of {file}"
    life(lambda: write(folder, 0))
    assert seen(folder) == contents[0]
    assert not hidden(folder), hidden(folder)
    print(f"{name}: killed {killed} times in {turn} lives, nothing damaged", flush=True)


def trained(name: str, train: Callable[[Path], object], folder: Path, kills: int, moments: random.Random,
            same: str) -> None:  # fmt: skip
    """Train, be killed, go on; a run that was killed ends with the same bits as one that was left in peace."""
    folder.mkdir(parents=True)
    took = timed(lambda: train(folder / "calm"))
    killed = ended = 0
    rough = folder / "rough"
    while killed < kills:
        if life(lambda: train(rough), moments.uniform(0, took / 2)) and (rough / "results.json").exists():
            ended += 1
            assert (rough / same).read_bytes() == (folder / "calm" / same).read_bytes(), name
            shutil.rmtree(rough)
        else:
            killed += 1
    life(lambda: train(rough))
    assert (rough / same).read_bytes() == (folder / "calm" / same).read_bytes(), name
    assert not hidden(folder), hidden(folder)
    print(f"{name}: killed {killed} times, {ended + 1} runs the same to the last bit", flush=True)


def main(folder: Path, kills: int) -> None:
    folder.mkdir(parents=True)
    moments = random.Random(7)
    picture = api.train("picture", "grammar", folder / "picture", tiny=True, quiet=True)
    gpt = folder / "gpt"
    api.train("gpt", "grammar", gpt, set={"model.positions": "learned"}, tiny=True, quiet=True)
    texts = [folder / f"{number}.txt" for number in (0, 1)]
    for number, text in enumerate(texts):
        text.write_text("".join(f"{sentence}\n" for sentence in SENTENCES[number] * 20))
    before = json.loads((gpt / "results.json").read_text())
    random_numbers = np.random.default_rng(0).normal(size=(2, 2000, 50)).astype(np.float32)
    vectors = [WordVectors([f"w{i}" for i in range(2000)], each) for each in random_numbers]
    exported = [export_folder(gpt, folder / f"exported-{number}") for number in (0, 1)]
    second = exported[1] / "config.json"  # tells the two imports apart
    second.write_text(json.dumps(json.loads(second.read_text()) | {"bos_token_id": 0}))
    runs = [gpt, import_folder(exported[1], folder / "imported")]
    tokenizers = [lexigraph.Tokenizer.train(SENTENCES[n] * 5, kind="char", size=40) for n in (0, 1)]

    def scored(out: Path, variant: int) -> None:
        api.evaluate(out / "gpt", texts[variant], device="cpu")

    writers: dict[str, tuple[Writer, bool]] = {
        "vectors as text": (lambda out, n: vectors[n].save(out / "a.vec", force=True), True),
        "vectors as a folder": (lambda out, n: vectors[n].save(out / "wv", force=True), True),
        "a map": (lambda out, n: vectors[n].head(50).map(out=out / "map.html", force=True), True),
        "pictures": (lambda out, n: picture.save_pictures(SENTENCES[n], out / "drawn", force=True), False),
        "a tokenizer": (lambda out, n: tokenizers[n].save(out / "t.json", force=True), True),
        "a run made of a folder": (lambda out, n: import_folder(exported[n], out / "run", force=True), True),
        "a folder made of a run": (lambda out, n: export_folder(runs[n], out / "theirs", force=True), True),
        "an index": (lambda out, n: picture.neighbours(SENTENCES[0], SENTENCES[n] * 50, index=out / "index"), True),
    }
    each = math.ceil(kills / (len(writers) + 3))
    for name, (write, whole) in writers.items():
        written(name, write, folder / "writers" / name, each, moments, whole)
    train = lambda out: api.train("gpt", "grammar", out, set=STEPS, tiny=True, resume=True, quiet=True)  # noqa: E731
    trained("train gpt", train, folder / "train", each, moments, "model.safetensors")
    learn = lambda out: lexigraph.train("cbow", "grammar", out, set=SMALL | {"data.sentences": 3000},  # noqa: E731
                                        resume=True, quiet=True)  # fmt: skip
    lexigraph.train("cbow", "grammar", folder / "warm-up", set=SMALL | {"data.sentences": 300}, quiet=True)
    trained("train cbow", learn, folder / "words", each, moments, "vectors/vectors.npy")
    took = timed(lambda: scored(folder, 0))
    killed = turn = 0
    while killed < each:
        turn += 1
        killed += not life(lambda turn=turn: scored(folder, turn % 2), moments.uniform(0, took))
        found = json.loads((gpt / "results.json").read_text())
        assert str(texts[0]) in found["files"]
        assert {key: value for key, value in found.items() if key != "files"} == before
    scored(folder, 1)
    assert not hidden(gpt), hidden(gpt)
    print(f"eval: killed {killed} times in {turn} lives, no score lost", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
