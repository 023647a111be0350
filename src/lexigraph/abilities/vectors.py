"""What every model with one vector for a text can do: find texts whose vectors are near."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float32

from lexigraph.abilities.asking import many, one_or_many, whole
from lexigraph.abilities.index import Index, Texts, fingerprint
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.run import remove_leftovers
from lexigraph.words.progress import Report


@dataclass(frozen=True)
class Neighbour:
    """A text and how near it is; its place among the texts that were looked at, counted from 0."""

    text: str
    similarity: float
    place: int = 0

    def __str__(self) -> str:
        return self.text


class Vectors(TextModel):
    """A vector for a text."""

    @one_or_many
    def encode(
        self,
        texts: Sequence[str],
        *,
        lossless: bool = False,
        unnormalised: bool = False,
        pooling: str | None = None,
    ) -> Float32[np.ndarray, "n dim"]:
        """The vector of each text; which options a model has depends on its kind."""
        raise self._cannot("encode")

    @one_or_many
    def neighbours(
        self,
        texts: Sequence[str],
        among: Sequence[str] | Callable[[], Iterator[str]] = (),
        *,
        k: int = 5,
        measure: str = "cosine",
        index: str | Path | None = None,
        report: Report | None = None,
    ) -> list[list[Neighbour]]:
        """The k texts of `among` whose vectors are nearest to each of `texts`, nearest first.

        among: texts, or a function that gives them anew each time, if there are too many for a list. Those that do
            not fit into the model are left out, with a warning.
        index: a folder that their vectors are kept in. It is made if it is not there, used as long as model and texts
            are the same, and made anew when they are not.
        report: takes the sentences that say how it goes; with one, a bar is shown on a terminal as well.
        """
        whole(k=k)
        if measure not in ("cosine", "euclidean"):
            raise UsageError(f"There is no measure {measure!r}. Choose from: cosine, euclidean.")
        queries = self.encode(texts)
        if callable(among):
            every: Texts = among
        else:
            listed = many(among, named="text to look among")[0]
            every = lambda: listed  # noqa: E731
        with self._index(every, index, report) as found:
            facts = found.facts
            if left := int(str(facts["given"])) - int(str(facts["count"])):
                warnings.warn(
                    f"{left:,} of {facts['given']:,} texts are empty or too long for the model and left out.",
                    stacklevel=4,
                )
            near = found.nearest(queries, k, measure)
        return [[Neighbour(each.text, each.similarity, each.place) for each in row] for row in near]

    @contextmanager
    def _index(self, texts: Texts, kept: str | Path | None, report: Report | None) -> Iterator[Index]:
        """The index of these texts: the one that is kept, if it serves, else a new one."""
        names = (self.fingerprint, fingerprint(texts()))

        def build(folder: Path) -> Index:
            return Index.build(folder, texts, self.fits, self.encode, names, report)

        if kept is None:
            with tempfile.TemporaryDirectory() as temporary:
                yield build(Path(temporary) / "index")
            return
        folder = Path(kept)
        if folder.exists():
            if Index(folder).serves(*names):  # anything that is no index is refused here, and stays
                remove_leftovers(folder)  # of a process that was killed as it made it anew
                yield Index(folder)
                return
            if report:
                report(f"Model or texts are not those of {folder}: it is made anew.")
        yield build(folder)
