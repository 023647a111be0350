"""Find lines in files: by their words (TF-IDF), by averaged word vectors, or by the vectors of an encoder.

    for hit in search(["letters/", "diary.txt"], "old harbour", k=5):
        print(hit.file, hit.line, hit.marked(), hit.score)

Lines are read anew for each pass and never held all at once, but for word vectors, whose index is in memory.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.registry import SYSTEMS
from lexigraph.run import Run
from lexigraph.text import images
from lexigraph.text.corpus import texts_of
from lexigraph.text.files import built_in, listed
from lexigraph.text.source import Source, line_blocks
from lexigraph.words.progress import Report
from lexigraph.words.search import Index, WordFilter, by_words

MOST_CHARS = 10_000_000  # of a line: what is longer is hardly text
PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
TOGETHER = 256  # pictures that are read before they are encoded
SNIPPET = 200  # characters of a line that are shown around its first marked word
WORD = re.compile(r"\w+(?:['’]\w+)*")


@dataclass(frozen=True)
class Hit:
    """A line that was found: where it stands, what it says, how well it fits, and where it has words of the query."""

    file: str
    line: int
    text: str
    score: float
    marks: tuple[tuple[int, int], ...] = ()

    def marked(self, before: str = "**", after: str = "**") -> str:
        """The line, or of a long one what is around its first mark, the marked words between `before` and `after`."""
        first = max(0, self.marks[0][0] - SNIPPET // 2) if self.marks and len(self.text) > SNIPPET else 0
        last, shown, done = first + SNIPPET, ["…"] if first else [], first
        for begin, end in self.marks:
            if end <= last:
                shown += [self.text[done:begin], before, self.text[begin:end], after]
                done = end
        return "".join([*shown, self.text[done:last], "…" if last < len(self.text) else ""])


def search(
    files: str | Path | Sequence[str | Path],
    query: str,
    *,
    k: int = 10,
    vectors: str | Path | None = None,
    model: str | Path | None = None,
    weighting: str = "tfidf",
    index: str | Path | None = None,
    report: Report | None = None,
) -> list[Hit]:
    """The k lines of files that fit a query best, best first.

    files: text files and folders of them; `grammar` is the built-in corpus.
    vectors: word vectors, a run or a file: lines are compared by the mean of their words' vectors, weighted as
        `weighting` says (words/search.py). model: a run that encodes texts; `index` keeps its vectors for next time.
        Neither: by TF-IDF, lines with words of the query alone.
    """
    if not isinstance(query, str) or not query.strip():
        raise UsageError("There is nothing to look for: give words.")
    if isinstance(k, bool) or not isinstance(k, int) or k < 1:
        raise UsageError(f"k is {k!r}: ask for at least 1 line.")
    if vectors is not None and model is not None:
        raise UsageError("Search by word vectors or by a model, not both: leave out --vectors or --model.")
    if index is not None and model is None:
        raise UsageError("An index keeps the vectors of a model: give --model, or leave out --index.")
    paths = found_files([files] if isinstance(files, str | Path) else list(files))
    if model is not None:
        found = _by_model(paths, query, k, model, index, report)
    elif vectors is not None:
        found = _by_vectors(paths, query, k, vectors, weighting)
    else:
        found = by_words(lambda: (text for _, _, text in lines(paths)), query, k)
    where = _where(paths, [place for place, _ in found])
    wanted = {word.group().casefold() for word in WORD.finditer(query)}
    return [Hit(*where[place], score, _marks(where[place][2], wanted)) for place, score in found]


def finds_pictures(model: str | Path) -> bool:
    """Whether a run matches pictures with texts, so that it is pictures that it finds."""
    recipe = Run.open(model).recipe()
    return recipe.system in SYSTEMS and {"match", "encode"} <= {*SYSTEMS[recipe.system].abilities}


def search_pictures(
    folders: str | Path | Sequence[str | Path], query: str | Path, model: str | Path, *, k: int = 10
) -> list[Hit]:
    """The k pictures in folders that go best with a text, or that are most like another picture, best first.

    Pictures that cannot be read are left out, with a warning.
    """
    from lexigraph.abilities.matching import PairedVectors
    from lexigraph.abilities.textmodel import TextModel

    if not str(query).strip():
        raise UsageError("There is nothing to look for: give words, or a picture.")
    files = picture_files([folders] if isinstance(folders, str | Path) else list(folders))
    loaded = TextModel.load(model)
    assert isinstance(loaded, PairedVectors)
    wanted = loaded.encode(Path(query) if Path(query).suffix.lower() in PICTURES else str(query))
    known: list[str] = []
    vectors: list[np.ndarray] = []
    for first in range(0, len(files), TOGETHER):
        read = []
        for file in files[first : first + TOGETHER]:
            try:
                read.append(images.read(file, shape=loaded.network.numbers.shape))
                known.append(file)
            except LexigraphError as error:
                warnings.warn(f"Left out: {error}", stacklevel=2)
        if read:
            vectors.append(loaded.encode(read))
    if not known:
        raise LexigraphError(f"None of the {len(files):,} pictures can be read.")
    near = np.concatenate(vectors) @ wanted
    best = np.argsort(-near, kind="stable")[:k].tolist()
    return [Hit(known[place], 0, "", float(near[place])) for place in best]


def picture_files(given: Sequence[str | Path]) -> list[str]:
    """The pictures among files and in folders, in order of their names."""
    found: list[str] = []
    for path in map(Path, given):
        if not path.exists():
            raise LexigraphError(f"There is no file or folder {path}.")
        below = sorted(path.rglob("*")) if path.is_dir() else [path]
        found += [str(each) for each in below if each.suffix.lower() in PICTURES and each.is_file()]
    if not found:
        raise LexigraphError(f"There are no pictures in {' '.join(map(str, given))}: {', '.join(PICTURES)} are read.")
    return found


def found_files(files: Iterable[str | Path]) -> list[str]:
    """The files, and those that folders, patterns and archives among them hold, in order of their names."""
    paths = listed(tuple(map(str, files)))
    if not paths:
        raise UsageError("Say where to look: name files or folders.")
    for path in paths:
        if not built_in(path):
            Source(path)  # says where there is none, and what is near
    return paths


def lines(paths: Sequence[str]) -> Iterator[tuple[str, int, str]]:
    """Every line that has words: its file, its number in it, counted from 1, and itself."""
    for path in paths:
        number = 0
        if built_in(path):
            yield from ((path, number, text) for number, text in enumerate(texts_of(path), 1))
            continue
        try:
            for block in line_blocks(Source(path), MOST_CHARS):
                words = WordFilter()
                for line in block:
                    number += 1
                    if words.any_in(line):
                        yield path, number, line
        except LexigraphError as error:
            if len(paths) == 1:
                raise
            warnings.warn(f"Left out: {error}", stacklevel=2)


def _by_vectors(
    paths: Sequence[str], query: str, k: int, vectors: str | Path, weighting: str
) -> list[tuple[int, float]]:
    from lexigraph.words.vectors import WordVectors

    built = Index.build((text for _, _, text in lines(paths)), WordVectors.load(vectors), weighting)
    return [(hit.document, hit.score) for hit in built.search(query, k) if hit.score > -1]


def _by_model(
    paths: Sequence[str], query: str, k: int, run: str | Path, index: str | Path | None, report: Report | None
) -> list[tuple[int, float]]:
    from lexigraph.abilities.textmodel import TextModel

    def texts() -> Iterator[str]:
        return (text for _, _, text in lines(paths))

    near = TextModel.load(run).neighbours(query, texts, k=k, index=index, report=report)
    return [(each.place, each.similarity) for each in near]


def _where(paths: Sequence[str], places: Sequence[int]) -> dict[int, tuple[str, int, str]]:
    """The lines at these places among all, by place."""
    wanted = set(places)
    every = islice(enumerate(lines(paths)), max(wanted) + 1) if wanted else iter(())
    return {place: line for place, line in every if place in wanted}


def _marks(text: str, wanted: set[str]) -> tuple[tuple[int, int], ...]:
    return tuple(word.span() for word in WORD.finditer(text) if word.group().casefold() in wanted)
