"""Move the flagship's training text to another machine in few bytes: pack here, unpack there.

    lexigraph train picture-books --data books.single.txt … --set data.analogies.train=few.tsv --out RUN --prepare
    python benchmarks/carry.py pack RUN PAIRS FOLDER --books SIZES
    python benchmarks/carry.py unpack FOLDER RUN --rows 3000000

What is derived travels as what it is derived from: of the lines of books.joined.txt only the single sentences
(books.single.txt, with the number of sentences of each book in SIZES, a .npy file), since the tokens of two sentences
that are joined are the tokens of both; and of analogies the pairs (analogies.py draw), which are combined there as
`analogies.py rows` does. Tokens are compressed by LZMA, which knows here that they have two bytes each.
"""

from __future__ import annotations

import argparse
import json
import lzma
import shutil
import tarfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from lexigraph import checksums
from lexigraph.run import Run
from lexigraph.text.tokenizer import Tokenizer

PAIRS = [{"id": lzma.FILTER_LZMA2, "preset": 9, "lc": 3, "lp": 1, "pb": 1, "dict_size": 1 << 27}]
COLUMNS = ("before", "after", "before2", "after2", "given", "result")
LONGEST = 23  # tokens of a sentence of an analogy: all are padded to the longest
PARTS = 4  # files that are unpacked at the same time


def save(file: Path, array: np.ndarray) -> None:
    file.write_bytes(lzma.compress(array.tobytes(), filters=PAIRS))


def load(file: Path, dtype: type) -> np.ndarray:
    return np.frombuffer(lzma.decompress(file.read_bytes()), dtype)


# ---- pack ---------------------------------------------------------------------------------------------------------


def pack(prepared: Path, pairs_file: Path, folder: Path, sizes: Path) -> None:
    folder.mkdir(parents=True)
    run = Run.open(prepared) if (prepared / "model.safetensors").exists() else Run(prepared)
    with tarfile.open(folder / "run.tar.xz", "w:xz") as archive:
        for file in sorted(file for file in prepared.rglob("*") if file.is_file()):
            if not file.name.startswith(("train.", "analogies.train.")):
                archive.add(file, file.relative_to(prepared))
    shutil.copy(sizes, folder / "sizes.npy")
    values = np.fromfile(run.path / "tables" / "train.text.values", np.uint16)
    offsets = np.fromfile(run.path / "tables" / "train.text.offsets", np.int64)
    jobs = []
    for part, lines in enumerate(np.array_split(np.arange(len(offsets) - 1), PARTS)):
        first, last = offsets[lines[0]], offsets[lines[-1] + 1]
        tokens = np.delete(values[first:last], offsets[lines] - first)  # without the boundaries
        jobs += [(folder / f"text.{part}.xz", tokens)]
        jobs += [(folder / f"lengths.{part}.xz", (np.diff(offsets[lines[0] : lines[-1] + 2]) - 1).astype(np.uint8))]
    with lzma.open(pairs_file, "rt", encoding="utf-8") as stream:
        known = json.load(stream)
    tokenizer, kept = Tokenizer.load(prepared / "tokenizer.json"), {}
    for part, names in enumerate(np.array_split(np.array(sorted(known)), PARTS)):
        flat = [text for name in names for pair in known[name] for text in pair]
        encoded = [ids.astype(np.uint16) for ids in tokenizer.encode_batch(flat)]
        lengths = np.array([len(ids) for ids in encoded]).reshape(-1, 2)
        fits, rows, place = lengths.max(1) <= LONGEST, [], 0
        for name in names:
            size = len(known[name])
            kept[str(name)] = int(fits[place : place + size].sum())
            place += size
        for n in np.flatnonzero(fits):
            rows += encoded[2 * n : 2 * n + 2]
        jobs += [(folder / f"pairs.{part}.xz", np.concatenate(rows))]
        jobs += [(folder / f"pair_lengths.{part}.xz", lengths[fits].astype(np.uint8))]
    (folder / "kinds.json.xz").write_bytes(lzma.compress(json.dumps(kept).encode()))
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda job: save(*job), jobs))
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    print(f"{size / 1e6:.1f} MB, {sum(kept.values()):,} pairs")


# ---- unpack -------------------------------------------------------------------------------------------------------


def parts(folder: Path, name: str, dtype: type) -> np.ndarray:
    with ThreadPoolExecutor(PARTS) as pool:
        return np.concatenate(list(pool.map(lambda n: load(folder / f"{name}.{n}.xz", dtype), range(PARTS))))


def gather(values: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """values[start : start + length] of all, one behind the other."""
    ends = np.cumsum(lengths)
    return values[np.arange(ends[-1]) + np.repeat(starts - (ends - lengths), lengths)]


def write(folder: Path, name: str, tokens: np.ndarray, lengths: np.ndarray, end: int, size: int) -> dict[str, object]:
    """A column: <eos> w w <eos> w …, and where examples begin."""
    offsets = np.concatenate([[0], np.cumsum(lengths.astype(np.int64) + 1)])
    values = np.full(offsets[-1] + 1, end, np.uint16)
    inside = np.ones(len(values), bool)
    inside[offsets] = False
    values[inside] = tokens
    values.tofile(folder / f"{name}.values")
    offsets.tofile(folder / f"{name}.offsets")
    np.save(folder / f"{name}.counts.npy", np.bincount(values, minlength=size))
    return {"dtype": "uint16", "shape": [], "bytes": len(values) * 4, "lost": ""}


def lines(folder: Path, context: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and lengths of all lines: every sentence, and every two that follow each other in a book and fit."""
    values, lengths = parts(folder, "text", np.uint16), parts(folder, "lengths", np.uint8).astype(np.int64)
    starts, sizes = np.cumsum(lengths) - lengths, np.load(folder / "sizes.npy")
    first = np.arange(sizes.sum())
    first = np.delete(first, np.cumsum(sizes) - 1)  # the last of a book has no next one
    both = lengths[first] + lengths[first + 1]
    first, both = first[both < context], both[both < context]
    starts, lengths = np.concatenate([starts, starts[first]]), np.concatenate([lengths, both])
    return gather(values, starts, lengths), lengths


def combined(kinds: dict, sizes: dict[str, int], count: int, seed: int = 0) -> np.ndarray:
    """Rows of pairs: donor, second donor (-1: none), target."""
    rng, first = (
        np.random.default_rng(seed),
        dict(zip(sizes, np.cumsum([0, *sizes.values()])[:-1].tolist(), strict=True)),
    )
    shares = np.array([kind.share for kind in kinds.values()])
    drawn = rng.multinomial(count, shares / shares.sum())
    rows = []
    for (name, kind), number in zip(kinds.items(), drawn.tolist(), strict=True):
        weights = np.array([weight for weight, _ in kind.donors])
        chosen = rng.choice(len(weights), number, p=weights / weights.sum())
        for which, (_, some) in enumerate(kind.donors):
            own = int((chosen == which).sum())
            columns = [first[n] + rng.integers(0, sizes[n], own) for n in (*some, name)]
            columns.insert(1, np.full(own, -1)) if len(some) == 1 else None
            rows.append(np.stack(columns, 1))
    whole = np.concatenate(rows)
    whole = whole[whole[:, 0] != whole[:, 2]]
    return whole[rng.permutation(len(whole))]


def unpack(folder: Path, prepared: Path, count: int) -> None:
    from analogies import kinds as kinds_of

    with tarfile.open(folder / "run.tar.xz") as archive:
        archive.extractall(prepared, filter="data")
    run, tables = Run(prepared), prepared / "tables"
    recipe, tokenizer = run.recipe(), Tokenizer.load(prepared / "tokenizer.json")
    end, size = tokenizer.eos, len(tokenizer)
    tokens, lengths = lines(folder, recipe.model.context)
    facts = write(tables, "train.text", tokens, lengths, end, size)
    (tables / "train.json").write_text(json.dumps({"examples": len(lengths), "columns": {"text": facts}}))

    values, each = parts(folder, "pairs", np.uint16), parts(folder, "pair_lengths", np.uint8).astype(np.int64)
    starts = (np.cumsum(each) - each).reshape(-1, 2)
    each = each.reshape(-1, 2)
    sizes = {name: n for name, n in json.loads(lzma.decompress((folder / "kinds.json.xz").read_bytes())).items() if n}
    rows = combined(kinds_of({name: range(n) for name, n in sizes.items()}), sizes, count)
    longest = each.max(1)
    rows = rows[np.where(rows < 0, 0, longest[rows]).max(1) <= LONGEST]
    back = np.random.default_rng(1).random(len(rows)) < 1 / 3
    described = {}
    for number, name in enumerate(COLUMNS):
        pair, side = rows[:, number // 2], (number % 2) ^ back
        none = pair < 0
        lengths = np.where(none, 0, each[pair, side.astype(int)])
        tokens = gather(values, starts[pair, side.astype(int)], lengths)
        described[name] = write(tables, f"analogies.train.{name}", tokens, lengths, end, size)
    (tables / "analogies.train.json").write_text(json.dumps({"examples": len(rows), "columns": described}))
    checksums.write(tables)
    print(f"{len(rows):,} analogies", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    there = verbs.add_parser("pack")
    for name in ("prepared", "pairs", "folder"):
        there.add_argument(name, type=Path)
    there.add_argument("--books", type=Path, required=True)
    here = verbs.add_parser("unpack")
    for name in ("folder", "prepared"):
        here.add_argument(name, type=Path)
    here.add_argument("--rows", type=int, default=3_000_000)
    given = parser.parse_args(argv)
    if given.verb == "pack":
        pack(given.prepared, given.pairs, given.folder, given.books)
    else:
        unpack(given.folder, given.prepared, given.rows)


if __name__ == "__main__":
    main()
