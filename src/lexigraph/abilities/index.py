"""The vectors of many texts on the disk, to look among: built once, used as long as model and texts stay the same.

    folder/   index.json    format, fingerprints of the model and of the texts, how many texts there are
              vectors.npy   one row for each text, float32
              texts.txt     the texts, one after the other, and ends.npy: where each ends, in bytes
              places.npy    the number of each text among those that were given, counted from 0

Texts are encoded in batches and vectors are read in blocks, so memory does not grow with the number of texts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from lexigraph.errors import LexigraphError
from lexigraph.latent.geometry import neighbours
from lexigraph.run import replacing
from lexigraph.text.rows_on_disk import RowReader, RowWriter
from lexigraph.words.progress import Meter, Report

FORMAT = 1
BATCH = 1024  # texts that are encoded together
Texts = Callable[[], Iterable[str]]  # texts that can be read more than once


def blocks(texts: Iterable[str], size: int = BATCH) -> Iterator[list[str]]:
    """Lists of so many texts, the last one shorter."""
    each = iter(texts)
    while block := list(islice(each, size)):
        yield block


def fingerprint(texts: Iterable[str]) -> str:
    """Sixteen hexadecimal digits that name these texts in this order."""
    digest = hashlib.blake2b(digest_size=8)
    for block in blocks(texts, 1 << 14):
        digest.update("\n".join(block).encode(errors="surrogatepass") + b"\n")
    return digest.hexdigest()


@dataclass(frozen=True)
class Found:
    """A text that was found: its number among those given, counted from 0, itself, and how near it is."""

    place: int
    text: str
    similarity: float


@dataclass(frozen=True)
class Index:
    """An index in a folder."""

    folder: Path

    @property
    def facts(self) -> dict[str, object]:
        """What index.json says."""
        try:
            facts = json.loads((self.folder / "index.json").read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise LexigraphError(f"{self.folder} is no index, or a damaged one: {error}.") from None
        if not isinstance(facts, dict) or facts.get("format") != FORMAT:
            raise LexigraphError(f"{self.folder} is no index that this Lexigraph reads: name another folder.")
        return facts

    def serves(self, model: str, texts: str) -> bool:
        """Whether it was made by this model from these texts."""
        facts = self.facts
        return facts["model"] == model and facts["texts"] == texts

    @classmethod
    def build(
        cls,
        folder: Path,
        texts: Texts,
        fits: Callable[[list[str]], list[bool]],
        encode: Callable[[list[str]], np.ndarray],
        names: tuple[str, str],
        report: Report | None = None,
    ) -> Index:
        """Encode all texts that fit, in batches; the folder appears when it is complete.

        names: the fingerprints of model and texts.
        """
        with replacing(folder) as temporary, Meter("encoding", "texts", 0, report) as meter:
            temporary.mkdir()
            vectors, ends, places = (RowWriter(temporary / f"{name}.npy") for name in ("vectors", "ends", "places"))
            given = end = 0
            with (temporary / "texts.txt").open("wb") as file:
                for block in blocks(texts()):
                    kept = [place for place, fit in enumerate(fits(block)) if fit]
                    if kept:
                        vectors.add(encode([block[place] for place in kept]))
                        written = [block[place].encode() for place in kept]
                        file.write(b"".join(written))
                        ends.add(np.array([end := end + len(each) for each in written], np.int64))
                        places.add(np.array(kept, np.int64) + given)
                    given += len(block)
                    meter.update(given)
            count = vectors.close()
            ends.close()
            places.close()
            if not count:
                raise LexigraphError(f"There is nothing to look among: none of {given:,} texts fits into the model.")
            facts = {"format": FORMAT, "model": names[0], "texts": names[1], "count": count, "given": given}
            (temporary / "index.json").write_text(json.dumps(facts), encoding="utf-8")
        return cls(folder)

    def nearest(self, queries: np.ndarray, k: int, measure: str = "cosine") -> list[list[Found]]:
        """The k texts that are nearest to each query vector, nearest first; fewer if there are fewer."""
        vectors = RowReader(self.folder / "vectors.npy")
        rows, values = np.zeros((len(queries), 0), np.int64), np.zeros((len(queries), 0))
        for first, block in vectors.blocks():
            where, similarity = neighbours(queries, np.asarray(block), min(k, len(block)), measure)
            rows, values = np.hstack([rows, where + first]), np.hstack([values, similarity])
            best = np.lexsort((rows, -values))[:, :k]
            rows, values = np.take_along_axis(rows, best, axis=1), np.take_along_axis(values, best, axis=1)
        known = self._texts(np.unique(rows).tolist())
        return [
            [Found(*known[row], float(value)) for row, value in zip(near, near_values, strict=True)]
            for near, near_values in zip(rows.tolist(), values.tolist(), strict=True)
        ]

    def _texts(self, rows: Sequence[int]) -> dict[int, tuple[int, str]]:
        """The number and the text of each of these rows."""
        ends, places = (RowReader(self.folder / f"{name}.npy") for name in ("ends", "places"))
        found = {}
        with (self.folder / "texts.txt").open("rb") as file:
            for row in rows:
                bounds = [0, *ends[max(0, row - 1) : row + 1].tolist()][-2:]
                file.seek(bounds[0])
                found[row] = int(places[row : row + 1][0]), file.read(bounds[1] - bounds[0]).decode()
        return found
