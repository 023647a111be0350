"""Vector arithmetic with files of sentence pairs: the mean difference of the first half, applied to the second.

Two kinds of folder are read. Pair files (sentence-edits): .tsv with the sentence and the edited sentence in its first
two columns, or .jsonl with `a` and `b`; a `label` column keeps the rows with 1. StylePTB: folders named for what
changes, `tense+voice`, with train, valid and test files of `code code sentence<TAB>sentence`; there the mean comes
from train and valid. In file order, so that near copies of a sentence stay on one side; picked at even distances.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.latent.sentences import Mean, Results, mean, same, spread, vectors, whole, words, written
from lexigraph.text import readers

Pairs = list[tuple[str, str]]
Halves = tuple[Pairs, Pairs]  # to take the difference from, to try it on

HEADERS = {("a", "b"), ("sentence", "negated"), ("premise", "hypothesis")}
CHANGES = {  # StylePTB's codes; any other leaves the sentence as it is
    "tense": {"1": "to the future", "2": "to the past", "3": "to the present"},
    "voice": {"1": "to the passive", "2": "to the active"},
    "pp-front-back": {"1": "phrase to the back", "2": "phrase to the front"},
    "adjadv-removal": {"1": "adjectives and adverbs removed"},
    "pp-removal": {"1": "phrase removed", "5": "phrase removed"},
}
CODES_FIRST = {  # where the codes do not stand in the order of the folder's name
    "pp-front-back+adjadv-removal": ("adjadv-removal", "pp-front-back"),
    "voice+pp-removal": ("pp-removal", "voice"),
}


def edit_families(folder: str | Path) -> dict[str, Halves]:
    """All families of pairs under a folder: its `sentence-edits` and `styleptb`, or the folder as one of them."""
    root = Path(folder)
    roots = [root / name for name in ("sentence-edits", "styleptb") if (root / name).is_dir()] or [root]
    families: dict[str, Halves] = {}
    style: dict[str, Halves] = defaultdict(lambda: ([], []))
    for file in sorted(file for place in roots if place.is_dir() for file in place.rglob("*")):
        kind = {".tsv", ".jsonl"} & set(file.suffixes)
        if not kind or not file.is_file():
            continue
        if _parts(file.parent.name):
            for name, pair in style_pairs(file):
                style[name]["test" in file.name].append(pair)
        else:
            pairs = list(dict.fromkeys(plain_pairs(file)))
            families[file.name.split(".")[0]] = pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]
    if not families and not style:
        raise LexigraphError(f"{root} holds no files of sentence pairs (.tsv or .jsonl): check the folder.")
    unique = {name: (list(dict.fromkeys(a)), list(dict.fromkeys(b))) for name, (a, b) in sorted(style.items())}
    return families | {f"styleptb: {name}": halves for name, halves in unique.items() if all(halves)}


def plain_pairs(file: Path) -> Iterator[tuple[str, str]]:
    """Sentence and edited sentence of every row."""
    if readers.file_format(file) == "json":
        columns = {"a": "a", "b": "b"}
    elif "label" in next(readers.read_lines(file)).split("\t"):
        columns = {"a": "1", "b": "2", "label": "label"}
    else:
        columns = {"a": "1", "b": "2"}
    for record in readers.read(file, columns):
        pair = str(record.columns["a"]).strip(), str(record.columns["b"]).strip()
        if all(pair) and pair not in HEADERS and str(record.columns.get("label", 1)) == "1" and pair[0] != pair[1]:
            yield pair


def style_pairs(file: Path) -> Iterator[tuple[str, tuple[str, str]]]:
    """What changes, and the sentence before and after, of every row with one change or two."""
    parts = CODES_FIRST.get(file.parent.name) or _parts(file.parent.name)
    for record in readers.read(file, {"a": "1", "b": "2"}):
        *codes, source = str(record.columns["a"]).split(" ", len(parts))
        named = dict(zip(parts, codes, strict=False))
        changes = [names[named[part]] for part, names in CHANGES.items() if named.get(part) in names]
        if 1 <= len(changes) <= 2 and source != record.columns["b"]:
            yield " + ".join(changes), (source, str(record.columns["b"]))


def _parts(name: str) -> tuple[str, ...]:
    """What changes in the files of a folder of this name; nothing, if it is no such folder."""
    parts = tuple(name.split("+"))
    return parts if len(parts) > 1 and set(parts) <= CHANGES.keys() else ()


def file_arithmetic(
    model: SentenceSpace,
    families: dict[str, Halves],
    count: int = 100,
    *,
    training: int = 200,
    noise: float | None = None,
) -> Results:
    """For each family, how often the mean difference makes of a sentence exactly its partner, and of its words."""
    noise = model.default_noise(noise)
    return {name: _family(model, halves, count, training, noise) for name, halves in families.items()}


def _family(model: SentenceSpace, halves: Halves, count: int, training: int, noise: float) -> dict[str, Mean | int]:
    held, seen, too_long = whole(model, spread(halves[0], training))
    tried, kept, skipped = whole(model, spread(halves[1], count))
    result: dict[str, Mean | int] = {"training": len(held), "skipped": skipped + too_long}
    if not held or not tried:
        return result | {"exact": mean([]), "changed_words": mean([])}
    known, z = vectors(model, seen, unnormalised=True), vectors(model, kept, unnormalised=True)
    difference = (known[1::2] - known[::2]).mean(0)
    found = written(model, z[::2] + difference, noise=noise)
    before, after = kept.wanted[::2], kept.wanted[1::2]
    triples = list(zip(before, after, found, strict=True))
    verdicts = [changed_words(*triple) for triple in triples]
    copied = same(written(model, z[1::2]), after)  # what is not even copied cannot be reached
    return result | {
        "exact": mean(same(found, after)),
        "changed_words": mean([verdict for verdict in verdicts if verdict is not None]),
        "kept_words": mean([kept_words(*triple) for triple in triples]),
        "reconstructed": mean(copied),
    }


def changed_words(before: str, after: str, found: str) -> bool | None:
    """Whether the words that an edit brings are in a text and those that it takes are not; None if it only reorders.

    >>> changed_words("She sings .", "She sang .", "He sang .")
    True
    """
    a, b, c = (Counter(words(text)) for text in (before, after, found))
    brought, taken = b - a, a - b
    if not brought and not taken:
        return None
    return all(c[word] >= b[word] for word in brought) and all(c[word] <= b[word] for word in taken)


def kept_words(before: str, after: str, found: str) -> float:
    """The share of the words that an edit leaves alone which are still there; 1 if it leaves none.

    >>> kept_words("She sings well .", "She sang well .", "He sang well .")
    0.5
    """
    stay = Counter(words(before)) & Counter(words(after))
    return (stay & Counter(words(found))).total() / stay.total() if stay else 1.0
