"""Vocabularies learned from the training split: tokenizers, labels, and the scale of numbers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError
from lexigraph.text import clean, files, parallel
from lexigraph.text.columns import Column, Columns
from lexigraph.text.corpus import examples
from lexigraph.text.encoding import Example, labels_of, number_of, running, spellings
from lexigraph.text.readers import Value
from lexigraph.text.records import leads_of
from lexigraph.text.spans import completed

if TYPE_CHECKING:  # counting words needs none
    from lexigraph.text.tokenizer import Tokenizer
    from lexigraph.text.vocabularies import Vocabularies, Vocabulary

ALL = 10_000_000  # tokens: none is left out for want of room
MOST_DIRECTIONS = 1000


def learn_vocabularies(
    recipe: recipes.Recipe,
    data: recipes.Data,
    columns: Columns,
    cleaner: clean.LineRule | None = None,
    known: Vocabularies | None = None,
) -> Vocabularies:
    """What the columns of a table mean, learned from the training split alone, but for what is known."""
    from lexigraph.text.vocabularies import Labels, Numbers, Vocabularies

    found: dict[str, Vocabulary] = dict(known or {})
    needed = dict.fromkeys(column.vocabulary for column in columns.values() if column.learned)
    for name in [name for name in needed if name not in found]:
        own = {c.field_of(key): c for key, c in columns.items() if c.vocabulary == name and c.learned}
        values = (
            (column, example, example.values[field])
            for example in examples(data, columns, cleaner)
            if example.split == "train"
            for field, column in own.items()
        )
        kinds = {column.kind for column in own.values()}
        if kinds == {"tokens"}:
            kind = next(iter(own.values())).cut
            settings = recipes.Tokenizer(kind, size=ALL, min_count=2) if kind else recipe.tokenizer
            special = () if kind or _written(columns, name) else settings.special  # nothing writes a direction
            special += _directions(data, columns, cleaner, [c.lead for c in own.values() if not c.prefixes], special)
            found[name] = _tokenizer(settings, special, (_led(*each) for each in values))
        elif kinds <= {"tags", "class", "spans"}:
            seen = {label for column, _, value in values for label in labels_of(column, value)}
            for scheme in {column.scheme for column in own.values()} - {""}:
                seen = completed(seen, scheme)
            labels = found[name] = Labels.learn(seen)
            if kinds == {"class"} and len(labels) == 1 and not own.keys() & set(leads_of(columns)):  # a task may be
                raise LexigraphError(
                    f"Every example of the training text has the {name} {labels.names[0]!r}: two are needed at least."
                )
        elif kinds == {"number"}:
            numbers = ((number_of(value, example.where), example.where) for _, example, value in values)
            found[name] = Numbers.learn(numbers)
        elif kinds <= {"vectors", "image"}:
            arrays = ((np.asarray(value), example.where) for _, example, value in values)
            found[name] = Numbers.learn(arrays, sequences=kinds == {"vectors"})
        else:
            raise LexigraphError(
                f"The columns of the vocabulary {name!r} are of different kinds: {', '.join(kinds)}."
            )
    return Vocabularies(found)


def _led(column: Column, example: Example, value: Value) -> str:
    """The text of a column, behind that of its task: words of prefixes are to be known, too."""
    prefix = dict(column.prefixes).get(str(example.values.get(column.lead, "")), "")
    return f"{prefix.rstrip()} {running(value)}" if prefix.strip() else running(value)


def _directions(
    data: recipes.Data,
    columns: Columns,
    cleaner: clean.LineRule | None,
    leads: Sequence[str],
    known: Collection[str],
) -> tuple[str, ...]:
    """Special tokens for what the training text names before its texts, as a direction, and none is known for."""
    leads = list(filter(None, leads))
    if not leads or not _directed(data, columns, cleaner, leads):
        return ()
    training = (example.values for example in examples(data, columns, cleaner) if example.split == "train")
    seen = {str(values.get(lead, "")) for values in training for lead in leads} - {""}
    new = sorted(name for name in seen if not {name, *spellings(name)} & {*known})
    if len(new) > MOST_DIRECTIONS:
        raise LexigraphError(
            f"The field {leads[0]!r} names {len(new):,} directions, as {new[0]!r} and {new[1]!r}. Is it the right "
            "one? data.columns says which field is which."
        )
    return tuple(name if name.startswith("<") else spellings(name)[-1] for name in new)


def _directed(data: recipes.Data, columns: Columns, cleaner: clean.LineRule | None, leads: Sequence[str]) -> bool:
    """Whether texts may have directions, as names of files or the first record tell; most texts have none, and need
    not be read for them."""
    first = next(examples(data, columns, cleaner), None)
    named = any(parallel.directed(name)[0] for name in files.several(data.train))
    return named or (first is not None and any(lead in first.values for lead in leads))


def _written(columns: Columns, vocabulary: str) -> bool:
    """Whether a vocabulary is of what is written alone: then no special token stands in front of its texts."""
    own = [column for column in columns.values() if column.vocabulary == vocabulary]
    return len(columns) > len(own) and all(column.optional for column in own)


def _tokenizer(settings: recipes.Tokenizer, special: tuple[str, ...], texts: Iterable[str]) -> Tokenizer:
    from lexigraph.text.tokenizer import Tokenizer

    return Tokenizer.train(
        texts,
        kind=settings.kind,
        size=settings.size,
        special=special,
        lower=settings.lower,
        marked_capitals=settings.marked_capitals,
        min_count=settings.min_count,
    )
