"""Replay a table of experiments with a model: each answer beside what was intended and what was published.

    for answer in replay("books", "sums.tsv"):
        print(answer.found, answer.met)

Answers are compared by their normal form (normal_form.py). A table that was made for another model may be spelled in
another way: sentences in lower case, a space before their marks. A model whose cleaning and tokenizer keep case is
then given them as it writes itself, `i am there .` as `I am there.` or `I am there .`
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from lexigraph.abilities.asking import TextError
from lexigraph.abilities.decoded import Decoded
from lexigraph.abilities.spaces import SUM_NOISE, SentenceSpace
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.latent.normal_form import normal_form
from lexigraph.evaluation.latent.replay_table import Row, read_table
from lexigraph.evaluation.latent.sentences import spaced
from lexigraph.registry import nearest

SPELLINGS = {
    "given": "as they stand in the table",
    "books": "as books write: I am there.",
    "spaced": "with a space before marks: I am there .",
}
WRITTEN = 16  # sentences that a model writes to show how it spells


@dataclass(frozen=True)
class Answer:
    """A row of the table, what came out, and the vector that was decoded."""

    row: Row
    found: Decoded
    z: np.ndarray

    @property
    def met(self) -> bool | None:
        """Whether it is what was intended; None where nothing was."""
        return _equal(self.found.text, self.row.intended)

    @property
    def as_published(self) -> bool | None:
        """Whether it is what was published."""
        return _equal(self.found.text, self.row.published)

    @property
    def published_met(self) -> bool | None:
        """Whether what was published is what was intended."""
        return _equal(self.row.published, self.row.intended) if self.row.published else None


def _equal(text: str, wanted: str) -> bool | None:
    return normal_form(text) == normal_form(wanted) if wanted else None


@dataclass(frozen=True)
class Replay:
    """All answers, in the order of the table, and how the sentences were spelled for the model."""

    model: SentenceSpace
    file: str
    spelling: str
    answers: tuple[Answer, ...]

    def __len__(self) -> int:
        return len(self.answers)

    def __iter__(self) -> Iterator[Answer]:
        return iter(self.answers)

    @property
    def met(self) -> bool:
        """Whether every row is met that has an expectation."""
        return all(answer.met is not False for answer in self.answers)

    def counts(self) -> dict[str, tuple[int, int]]:
        """Of each family, how many rows are met and how many have an expectation."""
        families = dict.fromkeys(answer.row.family for answer in self.answers)
        rows = {name: [each.met for each in self.answers if each.row.family == name] for name in families}
        return {name: (sum(map(bool, met)), sum(each is not None for each in met)) for name, met in rows.items()}

    def headline(self) -> str:
        """One line: all rows with an expectation, then family by family."""
        counts = {name: pair for name, pair in self.counts().items() if pair[1]}
        met, of = (sum(pair[i] for pair in counts.values()) for i in (0, 1))
        if not of:
            return f"{len(self)} rows; nothing was expected of them."
        families = ", ".join(f"{name} {met} of {of}" for name, (met, of) in counts.items())
        return f"{met} of {of} as intended: {families}."


def replay(
    model: TextModel | str | Path,
    file: str | Path,
    *,
    beam: int = 1,
    alpha: float = 0.7,
    noise: float | None = None,
    written_as: str = "auto",
) -> Replay:
    """Run a table of reconstructions, sums and interpolations, and compare with what was intended and published.

    file: tab-separated, with columns as docs/pictures.md names them.
    beam, alpha, noise: as of `solve`, `blend` and `decode`; noise None: what is usual for each of them.
    written_as: how sentences are spelled for the model: "given", "books", "spaced", or "auto": as given, unless the
        table is in lower case and the model keeps case; then as the model writes itself.
    """
    if written_as not in ("auto", *SPELLINGS):
        raise UsageError(f"There is no spelling {written_as!r}{nearest(written_as, ('auto', *SPELLINGS))}")
    rows = read_table(file)
    loaded = model if isinstance(model, TextModel) else TextModel.load(model)
    if not isinstance(loaded, SentenceSpace):
        raise LexigraphError(
            f"This {loaded.recipe.system} model has no sentence vectors to replay with: "
            "take a picture or an lstm-autoencoder model."
        )
    spelling = _spelling(loaded, rows) if written_as == "auto" else written_as
    asked = [
        replace(row, terms=tuple(replace(part, text=respelled(part.text, spelling)) for part in row.terms))
        for row in rows
    ]
    for row in asked:
        _refuse_unfit(loaded, row, file)
    found: dict[int, Answer] = {}
    for kind, ask in {"sum": _sums, "interpolation": _interpolations, "reconstruction": _copies}.items():
        if chosen := [row for row in asked if row.kind == kind]:
            answers = ask(loaded, chosen, str(file), noise, beam, alpha)
            found |= {answer.row.line: answer for answer in answers}
    return Replay(loaded, str(file), spelling, tuple(found[row.line] for row in rows))


def _refuse_unfit(model: SentenceSpace, row: Row, file: str | Path) -> None:
    """An error names the line of a sentence that the model cannot hold."""
    for part, fits in zip(row.terms, model.fits([part.text for part in row.terms]), strict=True):
        if not fits:
            tokens = len(model.rows([part.text])[0][0])
            why = f"has {tokens:,} tokens, and this model reads at most {model.network.traits.context - 1}"
            why = why if tokens else "has nothing left after cleaning"
            raise LexigraphError(f"{file}, line {row.line}: {_excerpt(part.text)!r} {why}.")


def _sums(
    model: SentenceSpace, rows: list[Row], file: str, noise: float | None, beam: int, alpha: float
) -> Iterator[Answer]:
    expressions = [" ".join(map(str, row.terms)) for row in rows]
    try:
        z = model.sums(expressions)
    except TextError as error:
        line = rows[error.number - 1].line
        raise LexigraphError(f"{file}, line {line}: this sum {error.why}") from None
    except LexigraphError as error:
        raise LexigraphError(f"{file}, line {rows[0].line}: {error}") from None
    found = model.decoded(z, noise=model.default_noise(noise, SUM_NOISE), beam=beam, alpha=alpha)
    return (Answer(row, best[0], vector) for row, best, vector in zip(rows, found, z, strict=True))


def _interpolations(
    model: SentenceSpace, rows: list[Row], file: str, noise: float | None, beam: int, alpha: float
) -> Iterator[Answer]:
    for row in rows:
        texts, weights = [part.text for part in row.terms], [[part.weight for part in row.terms]]
        found = model.blend(*texts, weights=weights, noise=noise, beam=beam, alpha=alpha)
        yield Answer(row, found[0], model.path_between(*texts, weights=weights)[0][0])


def _copies(
    model: SentenceSpace, rows: list[Row], file: str, noise: float | None, beam: int, alpha: float
) -> Iterator[Answer]:
    z = model.encode([row.terms[0].text for row in rows])
    found = model.decoded(z, noise=noise or 0.0, beam=beam, alpha=alpha)
    return (Answer(row, best[0], vector) for row, best, vector in zip(rows, found, z, strict=True))


def _excerpt(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:40]}…"


# ---- spelling ----


def respelled(text: str, spelling: str) -> str:
    """A sentence in lower case with spaces before its marks, as another spelling has it.

    >>> respelled("can i go home ?", "books"), respelled("can i go home ?", "spaced")
    ('Can I go home?', 'Can I go home ?')
    """
    if spelling == "given":
        return text
    text = re.sub(r"\bi\b", "I", text)
    text = re.sub(r"[^\W\d_]", lambda first: first[0].upper(), text, count=1)
    return text if spelling == "spaced" else re.sub(r"\s+([.,!?;:])", r"\1", text)


def _spelling(model: SentenceSpace, rows: list[Row]) -> str:
    """How sentences of a table in lower case are spelled for a model that keeps case; otherwise as given."""
    texts = [part.text for row in rows for part in row.terms]
    keeps_case = model.tokenizer.decode(model.rows(["I Am"])[0][0].tolist()).strip() == "I Am"
    if any(text != text.lower() for text in texts) or not keeps_case or not spaced(texts):
        return "given"
    z = np.random.default_rng(0).standard_normal((WRITTEN, model.network.latent)).astype(np.float32)
    own = [row[0].text for row in model.hypotheses(z, noise=model.network.noise_level)]
    return "spaced" if spaced(own) else "books"
