"""What a system declares about its data, so that nothing else in the house needs to know the system.

A network names the columns of its examples (`Column`) and how it reads them (`Traits`). Files are read, split,
cleaned, stored, cut, planned, padded and measured by these declarations alone.

    {"text": Column("tokens")}                                              a language model
    {"source": Column("tokens"), "target": Column("tokens")}                a translator
    {"words": Column("tokens", by_word=True), "tags": Column("tags", vocabulary="tags", aligned="words")}   a tagger
    {"words": Column("tokens", by_word=True), "tree": Column("spans", vocabulary="tree", aligned="words")}  of trees
    {"words": …, "heads": Column("heads", aligned="words"), "relations": Column("tags", …)}                 a parser
    {"context": Column("tokens"), "question": Column("tokens"), "offsets": Column("offsets", field="context",
     aligned="context"), "answer": Column("answers", aligned="context")}                      question answering

Spans are rows (first word, last word, label): names in a text, a tree (parents first). Offsets and answers are rows
(first character, the one behind the last): where each token of a text stands in it, with a last row for the boundary
behind them; where the answers to a question stand in it (none: no row).

Examples of one training may come from several tables: `[data]`, and further ones named `[data.NAME]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["tokens", "raw", "tags", "heads", "class", "number", "vectors", "spans", "image", "offsets", "answers"]

MAIN = ""  # the name of the table that the recipe's own [data] section describes


@dataclass(frozen=True)
class Column:
    """One column of an example."""

    kind: Kind
    vocabulary: str = "text"  # a Tokenizer, Labels or Numbers by its name; columns of the same name share it
    field: str = ""  # the record's field; "": the column's own name. Several columns may read one field
    by_word: bool = False  # tokens: kept word by word, each cut by itself
    texts: bool = False  # tokens by word: what is listed are texts, not the words of one
    cut: Literal["", "char", "word"] = ""  # tokens: what they are, where the recipe's [tokenizer] does not say it
    aligned: str = ""  # tags, heads, spans: counted in words of that column; offsets, answers: of its text
    at: Literal["", "before", "after", "random"] = ""  # of a neighbour in the document; of any other example
    table: str = MAIN  # the table that it belongs to
    lead: str = ""  # the field that names what is put in front: a special token for a direction or a task
    prefixes: tuple[tuple[str, str], ...] = ()  # by the names in that field: texts, where no token is to be put there
    optional: bool = False  # absent when a trained model is used: labels, targets
    scheme: str = ""  # tags: of spans, which are rewritten in this one (spans.py); "": tags as they are
    blank: bool = False  # tokens: an example may be without; then it is an empty text
    until: str = ""  # labels are read up to any of these signs: "NP-SBJ" up to "-=" is "NP"

    def field_of(self, name: str) -> str:
        """The field that this column, named `name`, is read from."""
        return self.field or name

    @property
    def learned(self) -> bool:
        """Whether its values have a vocabulary, which training text teaches; bytes and positions have none."""
        return self.kind not in ("raw", "heads", "offsets", "answers")

    @property
    def sequence(self) -> bool:
        """Whether its values have a length of their own."""
        return self.kind not in ("class", "number", "image")


Columns = Mapping[str, Column]


def tables_of(columns: Columns) -> dict[str, dict[str, Column]]:
    """The columns of each table, the main one first."""
    names = dict.fromkeys([MAIN, *(column.table for column in columns.values())])
    found = {table: {name: c for name, c in columns.items() if c.table == table} for table in names}
    return {table: own for table, own in found.items() if own}


@dataclass(frozen=True)
class Traits:
    """How a network reads its examples."""

    context: int = 0  # the most tokens of a row, without the boundary before it; 0: no limit
    windowed: str = "text"  # the column that is cut if it is too long, or read as a stream; others are repeated
    overlap: int = 0  # tokens that a window of a long example shares with the one before it
    reads_whole: bool = False  # an example that is too long is left out and counted, not cut
    causal: str = ""  # the column whose later tokens the outputs may not see
    stateful: bool = False  # what `loss` returns as carry is the start of the next window
    corrupts_on_host: bool = False  # `prepare` works on rows of NumPy arrays, so that no corpus lives on the card
    batch_coupled: bool = False  # the loss compares the rows of a batch with each other
    row_tokens: int = 0  # what a row costs beside its sequences, in tokens: the patches of a picture
    terms: tuple[str, ...] = ("loss",)  # of the loss
    settled: int = 0  # the first step whose weights may be the best: until then the loss itself changes
    compile_regions: tuple[type, ...] = ()  # modules that are compiled each by itself; none: the loss as a whole
