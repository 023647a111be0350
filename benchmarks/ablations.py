"""What each part of the picture autoencoder is worth: variants of one prepared run, at equal budgets, in one table.

    lexigraph train picture --data grammar --out runs/prepared --prepare
    python benchmarks/ablations.py runs/prepared runs/ablations --steps 800 [--only basis] [--set key=value]

Every variant sees the same batches. Prints KL, token accuracy and exact match on the held-out text, and the seconds
of training, validation included. Of a variational model these are given the mean z; the negative ELBO, with a sampled
z and plain NLL, and the posterior's KL in it have columns of their own.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

from train_for import derived

from lexigraph import api

VARIANTS: dict[str, list[str]] = {
    "basis": [],
    "linear head": ["model.head=linear"],
    "residual": ["model.form=residual"],
    "plain": ["model.form=plain"],
    "bare (no norms)": ["model.form=bare"],
    "attention pooling": ["model.pooling=attention"],
    "slot pooling": ["model.pooling=slots"],
    "sinusoidal positions": ["model.positions=sinusoidal"],
    "denoising, 20 % hidden": ["objective.mask_rate=0.2"],
    "denoising, 20 % dropped": ["objective.drop=0.2"],
    "variational, free bits 0.1": [
        "objective.variational=true",
        "objective.noise_level=0",
        "objective.free_bits=0.1",
    ],
    "noise": ["objective.noise_level=2.0"],
    "Adam instead of Muon": ["train.optimizer=adamw", "train.lr=0.003"],
}
ALWAYS = ["objective.noise_level=0", "eval.mixture=0", "train.tensorboard=false"]


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("prepared", type=Path)
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--steps", type=int, default=800)
    arguments.add_argument("--only", action="append", choices=list(VARIANTS), help="this variant; else all")
    arguments.add_argument("--set", action="append", default=[], help="section.key=value, for all variants")
    given = arguments.parse_args()
    columns = ("variant", "KL", "token accuracy", "exact", "negative ELBO", "posterior KL", "seconds")
    print(f"| {' | '.join(columns)} |\n|{' --- |' * len(columns)}", flush=True)
    for name in given.only or VARIANTS:
        folder = given.out / re.sub(r"\W+", "-", name)
        run = derived(given.prepared, folder, ALWAYS + given.set + VARIANTS[name], given.steps)
        api.train(out=folder, resume=True, quiet=True)
        results = run.json("results.json")
        scores = results["scores"].get("test") or results["scores"]["valid"]
        keys = ("kl", "accuracy", "exact", "negative_elbo", "posterior_kl")
        values = (f"{scores[key]['value']:.4f}" if key in scores else "" for key in keys)
        print(f"| {name} | {' | '.join(values)} | {results['seconds']:.0f} |", flush=True)
        (folder / "scores.json").write_text(json.dumps(scores))


if __name__ == "__main__":
    main()
