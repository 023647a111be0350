"""The built-in corpus as records: an English grammar, so that every system can be trained without any data.

Wherever a file is expected, the name `grammar` means this corpus; each field of a record comes from one clause.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from lexigraph.errors import UsageError
from lexigraph.text.readers import Record

GRAMMAR = "grammar"

Fields = dict[str, Any]


def sentences(count: int) -> Iterator[str]:
    """So many sentences."""
    from lexigraph.text import constructions  # its lexicon takes a while

    return constructions.sentences(count)


def records(fields: Sequence[str], count: int) -> Iterator[Record]:
    """So many records with these fields."""
    maker = next((make for known, make in MAKERS.items() if set(fields) <= set(known)), None)
    if maker is None:
        known = "; ".join(" and ".join(names) for names in MAKERS)
        raise UsageError(f"The built-in corpus has no records of {' and '.join(fields)}; it has those of {known}.")
    for number, values in enumerate(islice(maker(), count)):
        yield Record(values, number, number + 1)


def _questions() -> Iterator[Fields]:
    """Statements and what asks for them: `He sang .` and `Did he sing ?`"""
    from lexigraph.text import edits

    with_do, without = edits.edit_pairs("ask-do", None), edits.edit_pairs("ask-auxiliary", None)
    for both in zip(with_do, without, strict=True):
        yield from ({"source": source, "target": target} for source, target in both)


def _constructions() -> Iterator[Fields]:
    """Sentences and the name of their construction: `passive`, `wh-question` …"""
    from lexigraph.text import constructions, grammar

    for clause in constructions.clauses(None):
        yield {"text": grammar.realise(clause), "label": clause.construction}


MAKERS: dict[tuple[str, ...], Callable[[], Iterator[Fields]]] = {
    ("source", "target"): _questions,
    ("text", "label"): _constructions,
}
