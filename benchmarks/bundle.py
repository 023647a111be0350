"""Make a bundled model from a run: weights in 8 bits, mixture in 16, results and card; and say what it costs.

    python benchmarks/bundle.py RUN NAME --test FILE [--sentences 2000] [--mixture FILE]

Prints exact match before and after on the first sentences of the test file, and the size of the folder; results.json
holds the scores of the weights in 8 bits on the whole test file. With --mixture, what samples are drawn from is
fitted to lines of that file, and not to those of the training text. CARD.md is kept as it is: read it again.
"""

from __future__ import annotations

import argparse
import json
import shutil
from itertools import islice
from pathlib import Path

import numpy as np
from safetensors.torch import load_file, save_file

import lexigraph
from lexigraph import api
from lexigraph.abilities.spaces import MIXTURE
from lexigraph.run import BUNDLED, Run, replacing
from lexigraph.text.corpus import texts_of
from lexigraph.weights import compacted

MIXED = 20_000  # sentences that the mixture is fitted to


def exact(folder: str | Path, texts: list[str]) -> float:
    model = lexigraph.load(folder)
    return sum(a == b for a, b in zip(model.decode(model.encode(texts)), texts, strict=True)) / len(texts)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("run", type=Path)
    arguments.add_argument("name")
    arguments.add_argument("--test", required=True)
    arguments.add_argument("--sentences", type=int, default=2000)
    arguments.add_argument("--mixture", help="a text, one sentence a line")
    given = arguments.parse_args()
    run = Run.open(given.run)
    model = lexigraph.load(given.run)
    if given.mixture:
        lines = list(texts_of(given.mixture))
        some = [lines[i] for i in np.linspace(0, len(lines) - 1, min(len(lines), MIXED)).astype(int)]
        model.fit_mixture([text for text, fits in zip(some, model.fits(some), strict=True) if fits])
    fitting = (
        text for text in texts_of(given.test) if len(model.tokenizer.encode(text)) < model.network.traits.context
    )
    texts = list(islice(fitting, given.sentences))
    target = BUNDLED / given.name
    target.parent.mkdir(exist_ok=True)
    card = (target / "CARD.md").read_text() if (target / "CARD.md").exists() else ""
    with replacing(target) as folder:
        folder.mkdir()
        for name in ("config.json", "recipe.toml", "tokenizer.json", "results.json", "unigrams.npy"):
            shutil.copyfile(run.path / name, folder / name)
        save_file(compacted(load_file(run.path / "model.safetensors")), folder / "model.safetensors")
        (folder / "model.safetensors").chmod(0o644)
        model.mixture.save(folder / MIXTURE, half=True)
        if card:
            (folder / "CARD.md").write_text(card)
    results = {key: run.json("results.json")[key] for key in ("system", "steps", "best_step", "seed")}
    scores = {"test": api.evaluate(target, given.test, device="cpu")}
    (target / "results.json").write_text(json.dumps(results | {"scores": scores}, indent=2) + "\n")
    before, after = exact(given.run, texts), exact(target, texts)
    size = sum(file.stat().st_size for file in target.iterdir()) / 1e6
    print(
        json.dumps({"sentences": len(texts), "exact": before, "exact in 8 bits": after, "megabytes": round(size, 2)})
    )


if __name__ == "__main__":
    main()
