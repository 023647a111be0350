"""Several recipes on one text, one table: which kind of model fits it?

    rows = compare(["gpt", "lstm-lm"], data="my.txt", out="runs/compare")
    rows = compare(["skipgram", "glove"], data="my.txt", out="runs/compare", benchmarks="data")

Networks are trained on the same split and scored on its test part, language models in bits per byte with n-grams
beside them. Word vectors are trained in a process of their own each, so that the memory is theirs, and are judged by
the similarity sets and analogies of `benchmarks` or, without them, by what is known anyway: loss, coverage, and a few
questions of the built-in grammar. All of it stays in `out`, with the rows as compare.json.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.outputs import json_text
from lexigraph.registry import nearest
from lexigraph.run import folder_for, replacing
from lexigraph.stored import json_in
from lexigraph.text.files import Given, Names, named, on_disk

Row = dict[str, Any]


def compare(
    names: Sequence[str],
    data: Given,
    out: str | Path,
    *,
    benchmarks: str | Path | None = None,
    set: Mapping[str, Any] | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> list[Row]:
    """Train each recipe on the text; one row each, in the order given."""
    known = recipes.names()
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"There is no recipe named {unknown[0]!r}{nearest(unknown[0], known)}")
    kinds = {recipes.of_word_vectors(name) for name in names}
    if len(kinds) > 1:
        raise UsageError("Word vectors and networks are not measured alike: compare the ones or the others.")
    folder = folder_for(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise LexigraphError(f"{folder} is not empty: choose another --out.")
    data = named(data)
    one = _vectors if kinds == {True} else _network
    rows = []
    for name in names:
        report(f"{name} …")
        rows.append(one(name, data, folder / name, dict(set or {})))
    if kinds == {True}:  # only now: a process counts what its parent held as its own memory
        rows = [_judged(row, folder / name, benchmarks) for row, name in zip(rows, names, strict=True)]
    with replacing(folder / "compare.json") as temporary:
        temporary.write_text(json_text(rows, indent=1), encoding="utf-8")
    return rows


def _network(name: str, data: Names, out: Path, changes: dict[str, Any]) -> Row:
    from lexigraph import api

    model = api.train(name, [Path(each) for each in on_disk(data)], out, set=changes, quiet=True)
    results = json_in(out / "results.json")
    scores = results["scores"].get("test") or results["scores"].get("valid") or {}
    row: Row = {"recipe": name, "parameters": sum(p.numel() for p in model.network.parameters())}
    row |= {key: value["value"] for key, value in scores.items() if isinstance(value, dict) and "value" in value}
    if ngrams := scores.get("ngram_baseline"):
        if "bits_per_byte" in ngrams:
            row["bits_per_byte of n-grams"] = ngrams["bits_per_byte"]
        else:  # the vocabulary loses some of the text
            row["perplexity of n-grams"] = math.exp(ngrams["nll"])
    return row | {"seconds": results["seconds"], "peak memory, GB": results["peak_memory_gb"]}


def _vectors(name: str, data: Names, out: Path, changes: dict[str, Any]) -> Row:
    whole = {key if "." in key else f"words.{key}": value for key, value in changes.items()}
    changed = [part for key, value in whole.items() for part in ("--set", f"{key}={value}")]
    given = [part for each in on_disk(data) for part in ("--data", each)]
    command = ["train", name, *given, "--out", str(out), "--quiet", *changed]
    done = subprocess.run([sys.executable, "-m", "lexigraph", *command], capture_output=True, text=True, check=False)
    if done.returncode:
        raise LexigraphError(f"{name}: {done.stderr.strip().removeprefix('lexigraph: ')}")
    results = json_in(out / "results.json")
    known = {key: value["value"] for key, value in results["scores"]["train"].items() if isinstance(value, dict)}
    return {"recipe": name, **known, "seconds": results["seconds"], "peak memory, GB": results["peak_memory_gb"]}


def _judged(row: Row, vectors: Path, benchmarks: str | Path | None) -> Row:
    """A row with what the vectors are worth, before what they cost."""
    from lexigraph.words import builtin, evaluation
    from lexigraph.words.vectors import WordVectors

    wv = WordVectors.load(vectors)
    judged: Row = {"recipe": row["recipe"], "words": len(wv), "dim": wv.dim}
    if benchmarks is not None:
        judged["similarity"], judged["analogies"] = evaluation.averages(wv, benchmarks)
    else:  # a few questions of the built-in grammar, as far as the text has their words
        judged |= {name: figure["value"] for name, figure in builtin.judged(wv).items()}
    return judged | row


def cell(value: Any) -> str:
    """A value of a row as text."""
    if value is None:
        return ""
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
