"""What may be wrong with a text for a recipe: `check` on the first lines, before a training begins."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice

from lexigraph.errors import LexigraphError
from lexigraph.recipe import Data
from lexigraph.text.check import FEW_WORDS, SPACELESS, scripts_of
from lexigraph.text.files import built_in, expand
from lexigraph.text.guesses import guess_columns, guess_kind, kind_of, recipes_for
from lexigraph.text.readers import TABLES, file_format, read, read_text
from lexigraph.text.source import Source
from lexigraph.text.tally import Tally, tally_plain, tally_records

PIECES = 4  # of 64 K characters: a moment's work
RECORDS = 1000
BY_SPACES = ("word", "wordpiece")  # tokenizers that take what stands between white space for words


def remarks(data: Data, fields: Collection[str], words_are: str) -> Iterator[str]:
    """Sentences for the person at the keyboard, none where all is well.

    fields: what the recipe reads of a record.
    words_are: the tokenizer's kind, or how word vectors cut text.
    """
    with suppress(LexigraphError):  # what cannot be read, the training itself will say
        files = expand(data.train) if data.train else []
        if not files or built_in(files[0]) or set(fields) - {"text", "label", "source", "target", "tokens", "tags"}:
            return
        yield from _of_file(files[0], len(files) > 1, data, set(fields), words_are)


def _of_file(file: str, more: bool, data: Data, fields: set[str], words_are: str) -> Iterator[str]:
    name, tally, source = file_format(file), Tally(), Source(file, encoding=data.encoding)
    columns = dict(data.columns) or (guess_columns(file, name, data.encoding) if name in TABLES else {"text": "1"})
    if name == "text":
        pieces = list(islice(read_text(source), PIECES + 1))
        whole = len(pieces) <= PIECES and not more
        parts = tally_plain(pieces[:PIECES], tally)
        empty = max(0, parts - 1)
    else:
        records = list(islice(read(source, columns), RECORDS + 1))
        whole, empty = len(records) <= RECORDS and not more, 0
        tally_records(iter(records), tally, whole=False)
    if name in TABLES and not data.columns and fields == {"text"} and kind_of(columns) == "pairs":
        yield (
            f"{file} looks like pairs, and this recipe reads one text of each record. Recipes for pairs: "
            f"{', '.join(recipes_for('pairs'))}; to choose a column: --set 'data.columns={{text=\"FIELD\"}}'."
        )
    elif fields == {"text"}:
        yield from _of_lines(file, data, *guess_kind(tally, name, columns, empty))
    if words_are in (*BY_SPACES, "words", "space") and _spaceless(tally):
        instead = "--set tokenizer.kind=char (or bpe)" if words_are in BY_SPACES else "--set words.split=characters"
        yield f"{file}: this script does without white space, so that whole sentences would be words: add {instead}."
    if count := int(tally.code_points[0xFFFD]):
        yield f"{file} holds U+FFFD ({count:,}): text was lost in a conversion. Convert the original again."
    if whole and (count := tally.words.total()) < FEW_WORDS and not _spaceless(tally):
        yield f"{file} has only {count:,} words: enough to try things out, too few to learn from."


def _of_lines(file: str, data: Data, kind: str, reason: str) -> Iterator[str]:
    if data.unit != "line" or data.split_sentences:
        return
    if kind in ("pairs", "tags"):
        named = f" Recipes for {kind}: {', '.join(recipes_for(kind))}."
        yield f"{file} is read as lines of text. {reason}{named}"
    elif kind == "stream":
        said = reason.split(": data.unit")[0]
        yield f"{file}: {said}. Add --split-sentences to train on sentences, or --set data.unit=stream."


def _spaceless(tally: Tally) -> bool:
    return any(share > 0.3 for script, share in scripts_of(tally.code_points).items() if script in SPACELESS)
