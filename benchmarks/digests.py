"""Fingerprints of what every recipe's tiny run computes, to show that a change of the code changes no result.

    python benchmarks/digests.py record before.json          # at the commit before
    python benchmarks/digests.py check before.json           # at every commit after it

A digest holds the logged losses and gradient norms of both steps, the validation and test scores, a hash of the
trained weights and a hash of what each ability answers. Bits depend on processor, torch and threads, so that a
file is compared only where it was recorded: one thread, the same machine. Names of tensors and metrics do not count:
renaming is no change of a result.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

import lexigraph
from lexigraph import api
from lexigraph import recipe as recipes
from lexigraph.words import recipe as word_recipes

TEXTS = (
    "She laughed .",
    "Did they open the old door ?",
    "He is not tired .",
    "We will buy three red apples tomorrow .",
)
FORMS: dict[str, tuple[str, dict[str, Any]]] = {  # systems in another form than their recipes'
    "transformer, separate": ("transformer", {"tokenizer.separate": True}),
    "bert, two segments": ("bert", {"objective.second": "order", "model.pooler": True}),
    "bert, whole words": ("bert", {"objective.whole_word": True}),
    "gpt, untied, Muon": ("gpt", {"model.tied": False, "train.optimizer": "muon"}),
    "picture, variational": ("picture", {"objective.variational": True, "objective.noise_level": 0.0}),
    "gpt, stream": ("gpt", {"data.unit": "stream"}),
    "xlnet, memory": ("xlnet", {"model.memory": 8, "data.unit": "stream"}),
    "t5, stream": ("t5", {"data.unit": "stream"}),
}
for noise in ("masking", "deletion", "rotation"):
    FORMS[f"bart, {noise}"] = ("bart", {"objective.noise": noise})
for noise in ("replaced", "dropped", "prefix", "bert", "mass", "deshuffle"):
    FORMS[f"t5, {noise}"] = (
        "t5",
        {"objective.noise": noise, "objective.mask_rate": 0.05},
    )  # so few sentinels suffice
WORDS = {"dim": 8, "epochs": 1, "min_count": 1}


def digest_of(parts: Iterable[bytes]) -> str:
    made = hashlib.blake2b(digest_size=8)
    for part in parts:
        made.update(part)
    return made.hexdigest()


def of_tensors(file: Path) -> str:
    tensors = load_file(file).values()
    return digest_of(sorted(repr(tuple(t.shape)).encode() + t.contiguous().numpy().tobytes() for t in tensors))


def of_array(array: np.ndarray) -> str:
    return digest_of([repr(array.shape).encode(), np.ascontiguousarray(array).tobytes()])


ASKED: dict[str, Callable[[Any], Any]] = {  # what each ability is asked
    "generate": lambda m: [m.generate(TEXTS[:2], max_new=6), m.generate(["She"], max_new=6, beam=3)],
    "complete": lambda m: [(str(c), c.log_probability) for c in m.complete("She", n_best=3, max_new=5)],
    "score": lambda m: m.score(list(TEXTS), **({"sources": TEXTS[::-1]} if "translate" in m.abilities else {})),
    "rank": lambda m: [(str(c), c.score) for c in m.rank(["she", "he"], prompt="Did ")],
    "fill": lambda m: [(str(f), f.probability) for f in m.fill("She <mask> .", k=3)],
    "translate": lambda m: m.translate(list(TEXTS), beam=3),
    "encode": lambda m: of_array(m.encode(list(TEXTS))),
    "decode": lambda m: m.decode(m.encode(list(TEXTS))),
    "pictures": lambda m: of_array(m.pictures(list(TEXTS))),
    "read": lambda m: m.read(m.pictures(list(TEXTS))),
    "blend": lambda m: [(str(s), s.score) for s in m.blend(*TEXTS[:2], steps=3)],
    "solve": lambda m: [(str(s), s.score) for s in m.solve(f"{TEXTS[0]} - {TEXTS[1]} + {TEXTS[2]}")],
    "sample": lambda m: [(str(s), s.score) for s in m.sample(3)],
    "neighbours": lambda m: [[(str(n), n.similarity) for n in row] for row in m.neighbours(TEXTS[:1], TEXTS, k=2)],
}


def numbers_of(value: Any) -> list[float]:
    """All numbers of nested results, in order, whatever they are called."""
    if isinstance(value, dict):
        return [number for each in value.values() for number in numbers_of(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers_of(each)]
    return [float(value)] if isinstance(value, int | float) else []


def of_run(name: str, changes: dict[str, Any], folder: Path) -> dict[str, Any]:
    model = api.train(name, "grammar", folder, tiny=True, quiet=True, set=changes)
    log = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    timed = {"tokens_per_second", "seconds_per_step", "seconds", "time"}
    results = json.loads((folder / "results.json").read_text())
    found: dict[str, Any] = {
        "log": [[v for k, v in line.items() if k not in timed and isinstance(v, float)] for line in log],
        "weights": of_tensors(folder / "model.safetensors"),
        "scores": digest_of([json.dumps(sorted(numbers_of(results["scores"]))).encode()]),
    }
    for ability in (each for each in model.abilities if each in ASKED):
        found[ability] = digest_of([json.dumps(ASKED[ability](model)).encode()])
    return found


def of_words(name: str, text: Path, folder: Path) -> dict[str, Any]:
    known = {field for field in WORDS if field in recipes.source(name).tables["words"]}
    changes = {key: value for key, value in WORDS.items() if key in known | {"dim"}}
    settings = word_recipes.read(name, changes).words
    method = {"method": settings.method, **{key: getattr(settings, key) for key in changes}}
    vectors = lexigraph.WordVectors.train(text, threads=1, seed=1, **method)
    return {"vectors": of_array(vectors.vectors)}


def everything() -> dict[str, Any]:
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    forms = {name: (name, {}) for name in recipes.names() if not recipes.of_word_vectors(name)} | FORMS
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary:
        for number, (label, (name, changes)) in enumerate(forms.items()):
            print(label, file=sys.stderr)
            found[label] = of_run(name, changes, Path(temporary) / str(number))
        text = Path(temporary) / "text.txt"
        text.write_text("\n".join(sentence for sentence in _sentences()))
        for name in filter(recipes.of_word_vectors, recipes.names()):
            print(name, file=sys.stderr)
            found[name] = of_words(name, text, Path(temporary))
    return found


def _sentences() -> Iterable[str]:
    from lexigraph.text import constructions

    return constructions.sentences(400)


def differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    lines = []
    for label, old in before.items():  # what was added since has nothing to be compared with
        new = after.get(label, {})
        lines += [f"{label}: {key}: {old.get(key)} became {new.get(key)}"
                  for key in old | new if old.get(key) != new.get(key)]  # fmt: skip
    return lines


def main() -> None:
    verb, file = sys.argv[1:3]
    found = everything()
    if verb == "record":
        Path(file).write_text(json.dumps(found, indent=1))
        return
    wrong = differences(json.loads(Path(file).read_text()), found)
    print("\n".join(wrong) or f"All {len(found)} digests are the same, bit for bit.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
