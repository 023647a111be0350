"""How long recurrent cells remember: formal languages, agreement and the adding problem, all cells tuned alike.

    python benchmarks/memory_tests.py anbn --out results            one table, results/anbn.json and results/anbn.svg
    python benchmarks/memory_tests.py dyck1 --dim 1 --cells lstm gru

Every cell is trained at each learning rate with the first seed; the rate whose validation is best is trained with the
other seeds, too. Validation and test have lengths of their own, beyond those of training; the test decides nothing.

A string is right if, after each of its prefixes, every symbol that may stand next is more probable than every one
that may not. So where one symbol alone is possible, it must be the most probable. (Gers & Schmidhuber 2001 and
Suzgun et al. 2019 put a threshold between the two sets.) A network is right up to n if no string of length n or less
is wrong: all strings where a language has one of each length, else SAMPLES of each length. An agreement is right if
the verb is more probable than its other number.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch

import lexigraph
from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.textmodel import TextModel
from lexigraph.text import languages
from lexigraph.text.languages import END, Lengths
from lexigraph.views import gates

CELLS = ("lstm", "gru", "rnn", "rnn-relu", "irnn", "lstm-peephole", "gru-before", "gru-simple", "unitary")
RATES = (0.005, 0.02)
SAMPLES = 20  # strings of each length, where there are many
TEXT = {"data.unit": "line", "tokenizer.kind": "word", "model.layers": 1, "model.dropout": 0.0, "model.tied": False}
TEXT |= {"model.scale": 0.3}  # uniform in ± 1 / √10, about: what torch gives ten units
EVERY = {"train.tensorboard": False, "train.schedule": "linear", "train.final_lr": 0.0, "train.warmup": 50}


@dataclass(frozen=True)
class Test:
    """A language: what is trained on, what chooses, what is measured at the end."""

    train: str
    valid: str
    lengths: Sequence[int]  # of the test
    dim: int
    steps: int
    batch_tokens: int = 1024
    more: Mapping[str, Any] = field(default_factory=dict)

    @property
    def language(self) -> str:
        return self.train.partition(":")[0]


ALPHABETS = {"anbn": set("ab"), "anbncn": set("abc"), "dyck1": set("()"), "dyck2": set("()[]"), "copying": set("xy#")}
FAR = [*range(1, 161), *range(170, 301, 10), *range(350, 1001, 50)]  # every length for a while, then some
TESTS = {
    "anbn": Test("anbn:100", "anbn:101-150", FAR, 10, 3000),
    "anbncn": Test("anbncn:50", "anbncn:51-75", FAR, 10, 3000),
    "dyck1": Test(
        "dyck1:50", "dyck1:51-75", [*range(1, 10), *range(10, 301, 10)], 1, 3000, more={"data.sentences": 3000}
    ),
    "dyck2": Test(
        "dyck2:50", "dyck2:51-75", [*range(1, 20), *range(20, 101, 10)], 10, 3000, more={"data.sentences": 3000}
    ),
    "copying": Test("copying:10", "copying:11-13", range(1, 41), 32, 3000, more={"data.sentences": 3000}),
    "agreement": Test("agreement:20", "agreement:21-30", range(0, 71, 10), 32, 3000, more={"data.sentences": 20_000}),
    "adding": Test("adding:200-200", "adding:200-200", (50, 100, 200, 400), 100, 3000, 3200),
}


# ---- what is right ----------------------------------------------------------------------------------------------


@torch.no_grad()
def right(model: TextModel, language: str, string: str) -> bool:
    """Whether after every prefix all symbols that may follow are more probable than all others."""
    tokenizer = model.tokenizer
    ids = torch.tensor([[tokenizer.eos, *tokenizer.encode(string)]])
    possible = torch.zeros(ids.shape[1], len(tokenizer), dtype=torch.bool)
    known = {symbol: tokenizer.encode(symbol)[0] for symbol in ALPHABETS[language]}
    known[END] = tokenizer.eos
    for row, symbols in zip(possible, languages.may_follow(language, string.split()), strict=True):
        row[[known[symbol] for symbol in symbols]] = True
    logits = model.network(ids)[0]
    least, most = logits.masked_fill(~possible, torch.inf), logits.masked_fill(possible, -torch.inf)
    return bool((least.min(1).values > most.max(1).values).all())


def shares(model: TextModel, test: Test) -> dict[int, float]:
    """Of each length, how many strings are right; of the adding problem, the mean squared error."""
    if test.language == "adding":
        return {n: _error(model, n) for n in test.lengths}
    if test.language == "agreement":
        return {n: float(np.mean(list(_agreements(model, n)))) for n in test.lengths}
    found = {}
    for n in test.lengths:
        strings = languages.strings(Lengths(test.language, n, n), SAMPLES, seed=n)
        found[n] = float(np.mean([right(model, test.language, string) for string in strings]))
    return found


def _agreements(model: TextModel, gap: int) -> Iterator[bool]:
    """Whether the right verb is the more probable one, in sentences with `gap` to `gap + 9` words between."""
    assert isinstance(model, LanguageModel)
    rng = Random(gap)
    items = [languages.distant_agreement(rng, gap, gap + 9 if gap else 0) for _ in range(10 * SAMPLES)]
    texts = [f"{item.before} {verb}" for item in items for verb in (item.verb, item.wrong)]
    scores = model.score(texts, ended=False)
    yield from (right > wrong for right, wrong in zip(scores[::2], scores[1::2], strict=True))


def gate_contrast(model: TextModel, count: int = 200) -> dict[str, dict[str, float]]:
    """How far each gate is open at the noun, between, and at the verb, in the mean over units; and the same of the
    unit that is most open at noun and verb against between: half of the sentences choose it, the others measure."""
    rng, places = Random(1), []
    for _ in range(count):
        item = languages.distant_agreement(rng, 10, 20)
        values = gates.along(model, f"{item.before} {item.verb}").values
        noun, end = item.noun, len(item.before.split())
        parts = {"noun": slice(noun, noun + 1), "between": slice(noun + 1, end), "verb": slice(end, end + 1)}
        means = {gate: {part: v[at].mean(0) for part, at in parts.items()} for gate, v in values.items()}
        places.append(means)
    found = {}
    for gate in places[0]:
        chosen, held = (
            {part: np.mean([place[gate][part] for place in half], 0) for part in ("noun", "between", "verb")}
            for half in (places[::2], places[1::2])
        )
        best = int(((chosen["noun"] + chosen["verb"]) / 2 - chosen["between"]).argmax())
        found[gate] = {part: float(value.mean()) for part, value in held.items()}
        found[gate] |= {f"unit: {part}": float(value[best]) for part, value in held.items()}
    return found


def _error(model: TextModel, length: int) -> float:
    pairs = list(languages.sums(Lengths("adding", length, length), 10 * SAMPLES, seed=1))
    estimates = np.array(model.estimate([vectors for vectors, _ in pairs]))
    return float(((estimates - [number for _, number in pairs]) ** 2).mean())


def right_up_to(found: Mapping[int, float]) -> int:
    """The greatest length up to which none is wrong."""
    wrong = [n for n, share in found.items() if share < 1]
    return max((n for n in found if not wrong or n < min(wrong)), default=0)


# ---- training ---------------------------------------------------------------------------------------------------


def trained(
    test: Test, cell: str, rate: float, seed: int, out: Path, changes: Mapping[str, Any]
) -> tuple[Any, float]:
    """A network, and its best validation."""
    adding = test.language == "adding"
    settings = {
        **EVERY,
        **({} if adding else TEXT),
        **test.more,
        "model.cell": cell,
        "model.dim": test.dim,
        "train.steps": test.steps,
        "train.validate_every": max(1, test.steps // 20),
        "train.batch_tokens": test.batch_tokens,
        "train.lr": rate,
        "train.seed": seed,
        **changes,
    }
    system = "regressor" if adding else "rnn-lm"
    valid = {} if adding else {"valid": test.valid}  # the adding problem splits its own numbers
    model = lexigraph.train(system, test.train, out, set=settings, quiet=True, **valid)
    lines = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    losses = [line["loss"] for line in lines if line["kind"] == "valid"]
    return model, min([loss for loss in losses if np.isfinite(loss)], default=float("inf"))


def measured(test: Test, cell: str, seeds: int, rates: Sequence[float], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A cell at its best rate, with every seed."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        tried = {rate: trained(test, cell, rate, 0, Path(folder) / f"{rate}", changes) for rate in rates}
        best = min(tried, key=lambda rate: tried[rate][1])
        models = [tried[best][0]]
        models += [trained(test, cell, best, n, Path(folder) / f"seed{n}", changes)[0] for n in range(1, seeds)]
        curves = [shares(model, test) for model in models]
        gated = test.language == "agreement" and gates.GATES.get(cell)
        contrast = gate_contrast(models[0]) if gated else {}
        weights = sum(p.numel() for p in models[0].network.parameters())
    return {
        "rate": best,
        "validation": {str(rate): loss for rate, (_, loss) in tried.items()},
        "weights": weights,
        "right_up_to": [right_up_to(curve) for curve in curves],
        "curves": curves,
        "gates": contrast,
        "seconds": time.perf_counter() - begin,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("test", choices=TESTS)
    parser.add_argument("--cells", nargs="+", default=CELLS)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--dim", type=int)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=VALUE")
    parser.add_argument("--out", type=Path, default=Path("results"))
    asked = parser.parse_args()
    changes = lexigraph.recipe.settings(asked.set)
    test = TESTS[asked.test]
    changes |= {"model.dim": asked.dim} if asked.dim else {}
    changes |= {"train.steps": asked.steps} if asked.steps else {}
    asked.out.mkdir(exist_ok=True)
    file, found = asked.out / f"{asked.test}.json", {}
    for cell in asked.cells:
        found[cell] = measured(test, cell, asked.seeds, asked.rates, changes)
        show(asked.test, cell, found[cell])
        file.write_text(json.dumps(found))
    draw(asked.test, found, file.with_suffix(".svg"))


def show(name: str, cell: str, found: Mapping[str, Any]) -> None:
    """A line of the table."""
    ends = " ".join(f"{n:>5}" for n in found["right_up_to"])
    if name in ("agreement", "adding"):
        means = {n: np.mean([curve[n] for curve in found["curves"]]) for n in found["curves"][0]}
        ends = "  ".join(f"{n}: {mean:.3f}" for n, mean in means.items())
    for gate, values in found["gates"].items():
        print("  ", gate, "  ".join(f"{part} {value:.2f}" for part, value in values.items()))
    print(
        f"{cell:14} {found['weights']:>7,} weights  lr {found['rate']:<6} {ends}  {found['seconds']:.0f} s",
        flush=True,
    )


def draw(name: str, found: Mapping[str, Any], out: Path) -> None:
    """The mean over seeds against length, a line for each cell."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axis = pyplot.subplots(figsize=(7, 4), layout="constrained")
    for number, (cell, each) in enumerate(found.items()):
        lengths = [int(n) for n in each["curves"][0]]
        mean = np.mean([list(curve.values()) for curve in each["curves"]], 0)
        axis.plot(lengths, mean, ("-", "--", ":")[number % 3], label=cell, color=f"C{number}")
    error = name == "adding"
    axis.set(xlabel="length", ylabel="mean squared error" if error else "share right", title=TESTS[name].train)
    axis.set_yscale("log" if error else "linear")
    axis.legend(fontsize=8, ncols=2)
    figure.savefig(out)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
