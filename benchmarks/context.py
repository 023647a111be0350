"""What context buys: models of one size, trained as long as each other with one window, read in blocks and sliding.

    python benchmarks/documents.py $LEXIGRAPH_DATA/wikipedia-en-sample wiki
    python benchmarks/context.py wiki out                                  on a GPU
    python benchmarks/context.py wiki out --tiny --seconds 100             one thread of a CPU

gpt, transformer-xl and shortformer (and others with --systems) share a tokenizer and a window; the width inside the
feed-forward parts of each is chosen so that all have as many parameters as the gpt, and the number of steps so that
all train for so many seconds, of the processor on a CPU. Then each reads the test text in several ways, and bits per
byte stand beside tokens that are processed for each that is scored, and the seconds that it took: table.json,
context.png.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import shutil
import time
from pathlib import Path
from typing import Any

import torch

from lexigraph import api
from lexigraph import recipe as recipes
from lexigraph.nn.devices import choose_device
from lexigraph.nn.network import columns_of, skeleton
from lexigraph.run import Run
from lexigraph.text.vocabularies import Vocabularies
from lexigraph.training.distribution import World
from lexigraph.views import context, picture

SYSTEMS = ("gpt", "transformer-xl", "shortformer")
SIZES = {  # of the models, their windows and batches
    True: {"layers": 4, "heads": 4, "dim": 128, "window": 64, "batch": 1024, "vocabulary": 2048, "lr": 2e-3},
    False: {"layers": 8, "heads": 8, "dim": 512, "window": 256, "batch": 32_768, "vocabulary": 8192, "lr": 1e-3},
}
SHORT = 0.3  # of the steps of the shortformer read windows of a quarter
WARM, TIMED = 5, 20  # steps before the speed is measured, and while


def changes_of(system: str, size: dict[str, Any]) -> dict[str, Any]:
    """The keys in which a recipe is another: one size, one text, one schedule."""
    window = size["window"]
    changes: dict[str, Any] = {
        "data.unit": "stream", "data.documents": "blank", "data.window": window, "eval.streams": 8,
        "tokenizer.kind": "bpe", "tokenizer.size": size["vocabulary"],
        "model.layers": size["layers"], "model.dim": size["dim"], "model.dropout": 0.0,
        "train.batch_tokens": size["batch"], "train.lr": size["lr"], "train.betas": [0.9, 0.95],
        "train.weight_decay": 0.1, "train.schedule": "cosine", "train.final_lr": 0.0, "train.clip": 1.0,
        "train.tensorboard": False, "train.log_every": 50,
    }  # fmt: skip
    if system in SYSTEMS:
        changes |= {"model.heads": size["heads"], "model.context": window}
    if system == "gpt":
        changes |= {"model.positions": "rotary"}
    elif system in SYSTEMS:
        changes |= {"model.memory": window}
    if system == "transformer-xl":  # behind the sums, at this rate and in so few steps, it learned frequencies alone
        changes |= {"model.norm": "pre"}
    return changes


def parameters(recipe: recipes.Recipe, vocabularies: Any, inner: int) -> int:
    """Of a model whose feed-forward parts are so wide."""
    model = dataclasses.replace(recipe.model, inner=inner)
    return sum(p.numel() for p in skeleton(dataclasses.replace(recipe, model=model), vocabularies).parameters())


def clock(device: torch.device) -> float:
    """Seconds; on a CPU those of the processor, which other programs do not change."""
    if device.type == "cuda":
        torch.cuda.synchronize()
        return time.perf_counter()
    return time.process_time()


def seconds_per_step(prepared: Path, out: Path, changes: dict[str, Any], device: torch.device) -> float:
    """Measured on a copy that is thrown away."""
    copy = out / "timed"
    training, _ = api.training_of(derived(prepared, copy, changes), World(device))
    for _ in range(WARM):
        training.step()
    begin = clock(device)
    for _ in range(TIMED):
        training.step()
    found = (clock(device) - begin) / TIMED
    shutil.rmtree(copy)
    return found


def derived(prepared: Path, out: Path, changes: dict[str, Any]) -> Run:
    """A run like the prepared one with other keys."""
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(prepared, out)
    run = Run(out)
    run.write("recipe.toml", recipes.read(prepared / "recipe.toml", changes).toml())
    return run


def trained(
    system: str, text: Path, out: Path, size: dict[str, Any], seconds: float, wanted: int
) -> tuple[Path, int]:
    """A run of so many seconds, and how many parameters it has: about as many as `wanted`, 0: as the recipe says."""
    prepared, run = out / f"{system}-prepared", out / system
    given = {name: text / f"{name}.txt" for name in ("valid", "test")}
    changes = changes_of(system, size)
    shutil.rmtree(prepared, ignore_errors=True)
    api.prepare(system, text / "train.txt", prepared, **given, set=changes, quiet=True)
    recipe = Run(prepared).recipe()
    vocabularies = Vocabularies.load(Run(prepared), columns_of(recipe))
    own: dict[str, Any] = {}
    if "model.inner" in recipe.flat():
        four = 4 * size["dim"]
        least, most = (parameters(recipe, vocabularies, inner) for inner in (four, four + 8))
        own["model.inner"] = four + round(((wanted or least) - least) * 8 / (most - least))
    device = choose_device(recipe.train.device)
    long = seconds_per_step(prepared, out, own | ({"train.short_steps": 0}), device)
    share, short = 0.0, long
    if system == "shortformer":
        share, window = SHORT, {"train.short_window": size["window"] // 4}
        short = seconds_per_step(prepared, out, own | window | {"train.short_steps": WARM + TIMED}, device)
        own |= window
    steps = max(10, int(seconds / (share * short + (1 - share) * long)))
    own |= {"train.steps": steps, "train.warmup": steps // 10, "train.short_steps": int(share * steps)}
    own["train.validate_every"] = max(1, steps // 2)
    print(f"{system}: {1000 * long:.1f} ms a step ({1000 * short:.1f} in short windows), {steps:,} steps", flush=True)
    derived(prepared, run, own)
    shutil.rmtree(prepared)
    api.train(out=run, resume=True, quiet=True)
    model = api.load(run)
    return run, sum(p.numel() for p in model.network.parameters())


def ways(system: str, window: int) -> dict[str, dict[str, int]]:
    """How a test text is read."""
    found = {"blocks": {"window": window}}
    if system in ("transformer-xl", "shortformer"):
        found["memory as trained"] = {"window": 2 * window, "stride": window}
        found["memory three times as long"] = {"window": 4 * window, "stride": window}
    else:
        found["sliding by a half"] = {"window": window, "stride": window // 2}
        found["sliding by a quarter"] = {"window": window, "stride": window // 4}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text", type=Path, help="a folder of benchmarks/documents.py")
    parser.add_argument("out", type=Path)
    parser.add_argument("--seconds", type=float, default=150, help="of training, for each system")
    parser.add_argument("--tiny", action="store_true", help="the size for a CPU")
    parser.add_argument("--systems", nargs="+", default=list(SYSTEMS))
    parser.add_argument("--parameters", type=int, default=0, help="of each; else as many as the first system has")
    given = parser.parse_args()
    size, wanted, rows, drawn = SIZES[given.tiny], given.parameters, [], {}
    torch.set_num_threads(1 if given.tiny else torch.get_num_threads())
    given.out.mkdir(parents=True, exist_ok=True)
    for system in given.systems:
        run, count = trained(system, given.text, given.out, size, given.seconds, wanted)
        wanted = wanted or count
        device = choose_device(Run(run).recipe().train.device)
        for name, read_as in ways(system, size["window"]).items():
            begin = clock(device)
            scores = api.evaluate(run, given.text / "test.txt", **read_as, by_position=True)
            row = {"system": system, "parameters": count, "read": name, **read_as,
                   "bits_per_byte": round(scores["bits_per_byte"]["value"], 4),
                   "interval": [round(end, 4) for end in scores["bits_per_byte"]["interval"]],
                   "processed": round(scores["processed"], 2), "seconds": round(clock(device) - begin, 1),
                   "by_context": {n: round(g["bits_per_byte"]["value"], 3) for n, g in scores["context"].items()},
                   "by_document": {n: round(g["bits_per_byte"]["value"], 3)
                                   for n, g in scores.get("document", {}).items()}}  # fmt: skip
            rows.append(row)
            drawn[f"{system}, {name}"] = scores
            print(json.dumps(row), flush=True)
    (given.out / "table.json").write_text(json.dumps(rows, indent=1))
    picture.save(context.picture(drawn), given.out / "context.png")


if __name__ == "__main__":
    main()
