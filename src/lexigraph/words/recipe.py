"""A recipe for word vectors: a text, `[data]`, and how its words become vectors, `[words]`.

lexigraph/recipe.py reads it as it reads those of networks; what is here is what such a recipe holds.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from lexigraph import recipe as recipes
from lexigraph.errors import UsageError
from lexigraph.recipe import Recipe, Source, section_lines, sections
from lexigraph.registry import WORD_VECTORS
from lexigraph.sections import Data, Eval, Expected, Tokenizer, Train, same
from lexigraph.toml import toml, types_of
from lexigraph.words.settings import Settings

ONE_TEXT = "vectors are learned from one text, and `lexigraph words eval` judges them"
INSTEAD = {  # keys of networks → what to do
    "train.steps": "write words.epochs, how often the text is read",
    "train.epochs": "write words.epochs",
    "train.seed": "write words.seed",
    "train.lr": "write words.alpha",
    "model.dim": "write words.dim",
    "model.context": "write words.window",
    "tokenizer.min_count": "write words.min_count",
    "tokenizer.size": "write words.max_words",
    "data.valid": f"leave out --valid: {ONE_TEXT}",
    "data.test": f"leave out --test: {ONE_TEXT}",
    "data.split": f"leave it out: {ONE_TEXT}",
}


@dataclass(frozen=True)
class Text:
    """Which text: the keys of [data] that mean something here."""

    train: str | tuple[str, ...] = same(Data, "train")
    columns: dict[str, str] = same(Data, "columns")
    split_sentences: bool = same(Data, "split_sentences")
    encoding: str = same(Data, "encoding")
    sentences: int = same(Data, "sentences")


SECTIONS: dict[str, type] = {"data": Text, "words": Settings, "expected": Expected}


@dataclass(frozen=True)
class WordRecipe(Recipe):
    """A recipe for word vectors, resolved. The sections that only networks have are as by default."""

    words: Settings = field(default_factory=Settings)

    @property
    def text(self) -> Text:
        return Text(**{key.name: getattr(self.data, key.name) for key in dataclasses.fields(Text)})

    def flat(self) -> dict[str, Any]:
        """`{"words.dim": 100, …}`: every key with its value."""
        data = {f"data.{key}": value for key, value in vars(self.text).items()}
        return {"system": self.system} | data | {f"words.{key}": value for key, value in vars(self.words).items()}

    def toml(self) -> str:
        """The recipe as TOML text that `read` takes back."""
        lines = [f"system = {toml(self.system)}", f"about = {toml(self.about)}"]
        for name, part in {"data": self.text, "words": self.words, "expected": self.expected}.items():
            lines += section_lines(name, part)
        return "\n".join(lines) + "\n"


def resolve(origin: Source, tables: dict[str, Any], changes: dict[str, Any]) -> WordRecipe:
    """A recipe from the sections of its file and the keys that are changed."""
    written = {
        f"{name}.{key}": (name, key) for name, table in tables.items() if isinstance(table, dict) for key in table
    }
    for dotted, (name, key) in written.items():
        _refuse_of_networks(dotted, f"{origin.where(name, key)}: ")
    for dotted in changes:
        _refuse_of_networks(dotted, "")
    parts = sections(origin, SECTIONS, tables, changes)
    return WordRecipe(
        system=tables.get("system", WORD_VECTORS),
        about=str(tables.get("about", "")),
        data=Data(**vars(parts["data"])),
        tokenizer=Tokenizer(),
        model=None,
        objective=None,
        train=Train(),
        eval=Eval(),
        expected=parts["expected"],
        words=parts["words"].resolved(),
    )


def _refuse_of_networks(dotted: str, where: str) -> None:
    """Refuse a key that networks have and word vectors have not."""
    part, _, key = dotted.partition(".")
    networks = part in ("model", "objective") or key in types_of(recipes.SECTIONS.get(part, Expected))
    if networks and part != "expected" and key not in types_of(SECTIONS.get(part, object)):
        instead = INSTEAD.get(dotted, "leave it out: their settings are the keys of [words], as words.dim")
        raise UsageError(f"{where}{dotted} means nothing for word vectors; {instead}.")


def read(name_or_file: str, changes: dict[str, Any] | None = None, *, tiny: bool = False) -> WordRecipe:
    """A recipe for word vectors by name or file; settings may be changed without naming their section: `dim`."""
    whole = {key if "." in key else f"words.{key}": value for key, value in (changes or {}).items()}
    recipe = recipes.read(name_or_file, whole, tiny=tiny)
    if not isinstance(recipe, WordRecipe):
        known = [name for name in recipes.names() if recipes.of_word_vectors(name)]
        raise UsageError(f"{name_or_file} is no recipe for word vectors; there are: {', '.join(known)}")
    return recipe
