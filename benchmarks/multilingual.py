"""One translator of three languages on Multi30k: pairs that it was taught, and pairs that it never saw.

    python benchmarks/multilingual.py /data/multi30k/raw --out runs/multilingual --recipe transformer-multi30k-gpu
    python benchmarks/multilingual.py … --recipe seq2seq --set train.steps=8000 --set model.dim=512
    python benchmarks/multilingual.py … --disjoint        no English sentence is in pairs with both other languages
    python benchmarks/multilingual.py … --direct          also a model that is taught German to French, for comparison
    python benchmarks/multilingual.py … --mixtures        English into mixtures of German and French

English ↔ German and English ↔ French are taught: four directions, told apart by the token of the language that is to
be written. German ↔ French is never seen (zero-shot), and is compared with two steps through English by the same
model (pivot) and with the source itself (copied). Each line says BLEU (sacreBLEU 13a, beam 5) with its 95 % interval,
and how many of the texts are in the language asked for, as a count of words (unigrams of the training text) judges
it: a model that was never taught a pair may write the wrong language.

The folder holds train, val and the test set in .en, .de and .fr, or .en.gz …. Files, the run and what was translated
go to --out; a run that is there already is taken, one that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import math
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import lexigraph
from lexigraph.abilities.directions import To
from lexigraph.abilities.translating import Translator
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.translation import corpus_scores
from lexigraph.run import Run
from lexigraph.text.corpus import texts_of

LANGUAGES = ("en", "de", "fr")
TAUGHT = (("en", "de"), ("de", "en"), ("en", "fr"), ("fr", "en"))
UNSEEN = (("de", "fr"), ("fr", "de"))
BRIDGE = "en"
STEPS = 5  # of mixtures


def texts(folder: Path, part: str, language: str) -> list[str]:
    """The lines of a file, packed or not."""
    file = folder / f"{part}.{language}"
    return list(texts_of(str(file if file.exists() else file.with_name(f"{file.name}.gz"))))


def write_files(folder: Path, out: Path, test: str, disjoint: bool, lines: int) -> dict[str, list[Path]]:
    """The pairs of each part, each direction in two files; their names as --data takes them."""
    names: dict[str, list[Path]] = {}
    out.mkdir(parents=True, exist_ok=True)
    for part, source in (("train", "train"), ("valid", "val"), ("test", test)):
        every = {language: texts(folder, source, language)[: lines or None] for language in LANGUAGES}
        if len({len(each) for each in every.values()}) > 1:
            raise LexigraphError(f"{folder}/{source}.*: the languages have {[*map(len, every.values())]} lines each.")
        half = len(every[BRIDGE]) // 2
        for one, other in (*TAUGHT, *UNSEEN):
            halved = disjoint and part == "train" and BRIDGE in (one, other)
            own = slice(None) if not halved else slice(half) if "de" in (one, other) else slice(half, None)
            both = [out / f"{part}.{one}-{other}.{language}" for language in (one, other)]
            for file, language in zip(both, (one, other), strict=True):
                file.write_text("".join(f"{text}\n" for text in every[language][own]), encoding="utf-8")
            kind = part if BRIDGE in (one, other) else f"{part}-unseen"
            names.setdefault(kind, []).append(Path(f"{other}={both[0]}+{both[1]}"))
    return names


def trained(recipe: str, names: Sequence[Sequence[Path]], out: Path, changes: Mapping[str, Any]) -> Translator:
    """The run, taken as it is if it is finished."""
    if out.exists() and Run.open(out).finished:
        return lexigraph.load(out)
    train, valid, test = names
    return lexigraph.train(recipe, train, out, valid=valid, test=test, set=dict(changes), resume=out.exists())


class Guess:
    """The language whose training text has the words of a text most often: log p of unigrams, one added to each."""

    def __init__(self, folder: Path) -> None:
        self.counts = {name: Counter(" ".join(texts(folder, "train", name)).split()) for name in LANGUAGES}
        self.totals = {name: sum(counts.values()) + len(counts) for name, counts in self.counts.items()}

    def __call__(self, text: str) -> str:
        """Its name; "" for an empty text."""
        words = text.split()
        return max(LANGUAGES, key=lambda name: sum(self._log_p(name, word) for word in words)) if words else ""

    def _log_p(self, name: str, word: str) -> float:
        return math.log((self.counts[name][word] + 1) / self.totals[name])

    def share(self, written: Sequence[str], language: str) -> float:
        return sum(self(text) == language for text in written) / max(1, len(written))


def translated(model: Translator, sources: Sequence[str], to: To) -> list[str]:
    """Translations; of what is empty or too long, as a step before may have left it, there is none."""
    fits = model.fits(sources)
    found = iter(
        model.translate([text for text, fit in zip(sources, fits, strict=True) if fit], to=to) if any(fits) else []
    )
    return [next(found) if fit else "" for fit in fits]


def translations(model: Translator, test: Mapping[str, list[str]], direct: Translator | None) -> dict[str, list[str]]:
    """What is written, by a name as `de-fr zero-shot`."""
    found = {f"{one}-{other} taught": translated(model, test[one], other) for one, other in TAUGHT}
    for one, other in UNSEEN:
        found[f"{one}-{other} zero-shot"] = translated(model, test[one], other)
        found[f"{one}-{other} pivot"] = translated(model, found[f"{one}-{BRIDGE} taught"], other)
        if direct is not None:
            found[f"{one}-{other} direct"] = translated(direct, test[one], other)
        found[f"{one}-{other} copied"] = test[one]
    return found


def report(found: Mapping[str, list[str]], test: Mapping[str, list[str]], guess: Guess) -> list[dict[str, Any]]:
    """A line of a table for each, and the same as facts."""
    print("| pair | how | BLEU | 95 % interval | chrF | in its language |\n| --- | --- | --- | --- | --- | --- |")
    facts = []
    for name, written in found.items():
        pair, _, how = name.partition(" ")
        wanted = pair.split("-")[1]
        scores = corpus_scores(written, test[wanted])
        share = guess.share(written, wanted)
        bleu, interval = scores["bleu"]["value"], scores["bleu"]["interval"]
        ends = f"{interval[0]:.1f} to {interval[1]:.1f}" if interval else ""
        print(f"| {pair} | {how} | {bleu:.1f} | {ends} | {scores['chrf']['value']:.1f} | {share:.0%} |")
        facts.append({"pair": pair, "how": how, **scores, "in_language": share})
    return facts


def mixtures(model: Translator, sources: Sequence[str], guess: Guess) -> list[dict[str, Any]]:
    """English into German and French at once, from all of one to all of the other."""
    print("\n| share of French | taken for German | taken for French | first text |\n| --- | --- | --- | --- |")
    facts = []
    for step in range(STEPS + 1):
        share = step / STEPS
        to: To = {"de": 1 - share, "fr": share}
        written = translated(model, sources, to)
        german, french = guess.share(written, "de"), guess.share(written, "fr")
        print(f"| {share:.1f} | {german:.0%} | {french:.0%} | {written[0]} |")
        facts.append({"french": share, "in_german": german, "in_french": french, "first": written[0]})
    return facts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--recipe", default="transformer-multi30k-gpu")
    parser.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="a key of the recipe, as TOML"
    )
    parser.add_argument("--test", default="test_2016_flickr")
    parser.add_argument("--lines", type=int, default=0, help="only so many lines of each file; 0: all")
    parser.add_argument("--disjoint", action="store_true")
    parser.add_argument("--direct", action="store_true")
    parser.add_argument("--mixtures", action="store_true")
    options = parser.parse_args()
    changes = {
        key: tomllib.loads(f"x = {value}")["x"] for key, _, value in (each.partition("=") for each in options.set)
    }
    try:
        names = write_files(options.folder, options.out / "data", options.test, options.disjoint, options.lines)
        three = [names[part] for part in ("train", "valid", "test")]
        model = trained(options.recipe, three, options.out / "run", changes)
        direct = None
        if options.direct:
            unseen = [names[f"{part}-unseen"] for part in ("train", "valid", "test")]
            direct = trained(options.recipe, unseen, options.out / "direct", changes)
        test = {name: texts(options.folder, options.test, name)[: options.lines or None] for name in LANGUAGES}
        guess = Guess(options.folder)
        found = translations(model, test, direct)
        facts: dict[str, Any] = {"pairs": report(found, test, guess)}
        if options.mixtures:
            facts["mixtures"] = mixtures(model, test[BRIDGE], guess)
    except LexigraphError as error:
        raise SystemExit(f"{parser.prog}: {error}") from None
    for name, written in found.items():
        (options.out / f"{name.replace(' ', '.')}.txt").write_text("".join(f"{text}\n" for text in written), "utf-8")
    (options.out / "multilingual.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False), "utf-8")


if __name__ == "__main__":
    main()
