"""What a training starts from (`--from`): a run for the whole network, a run for a part of it, or word vectors.

lexigraph train gpt --from runs/gpt …                 the same system: model, vocabularies and weights are taken over
lexigraph train longformer --from runs/bert …         likewise, from one that a system goes on from
lexigraph train tagger --from runs/bert …             another one becomes a part, [parts.reader]; what is new is born
lexigraph train tagger --from reader=runs/bert …      the same, the part named
lexigraph train tagger --from my.vec …                vectors of words, a file or a run: a table of them all, beside
                                                      that of tokens (model.vectors)
lexigraph train lstm-lm --from my.vec …               where a model has no such table: for those of its tokens
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import Network, Reader, columns_of
from lexigraph.recipe import Part, Recipe
from lexigraph.registry import system
from lexigraph.run import Run, holds_word_vectors
from lexigraph.text.guesses import holds_pairs
from lexigraph.text.mixing import TASKS
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.text.vocabularies import TEXT, VECTORS, Vocabularies
from lexigraph.weights import load_part, load_run
from lexigraph.words.vectors import WordVectors


@runtime_checkable
class Start(Protocol):
    """Something to start from."""

    @property
    def path(self) -> Path: ...

    def recipe(self, asked: Recipe, changed: Collection[str]) -> Recipe:
        """The recipe with what is taken over; keys that the user changed stay changed, or are refused."""
        ...

    def vocabularies(self, recipe: Recipe) -> Vocabularies | None:
        """Those that are taken over."""
        ...

    def fill(self, network: Network, vocabularies: Vocabularies) -> str:
        """Put weights into a newborn network; a sentence about it, if a user should know."""
        ...


def start_from(given: str | Path, recipe: Recipe) -> Start:
    """What `--from` means for a recipe."""
    kind = system(recipe.system).network_class()
    names = kind.part_names
    name, equals, path = str(given).partition("=")
    if not equals or name not in names:
        name, path = "", str(given)
    if Path(path).is_file() or holds_word_vectors(path):
        return FromVectors(Path(path))
    run = Run.open(path)
    if not name and run.recipe().system in (recipe.system, *kind.continues):
        return FromRun(run)
    return FromReader(run, name or _part_for(run, recipe, names))


def _part_for(run: Run, recipe: Recipe, names: tuple[str, ...]) -> str:
    """The part that a run of another system can be."""
    old = run.recipe().system
    free = [name for name in names if name not in recipe.parts or recipe.parts[name].system == old]
    fitting = free or list(names[:1])  # what a recipe has there gives way
    if not issubclass(system(old).network_class(), Reader) or not fitting:
        raise UsageError(f"{run.path} is a {old} model and cannot be the start of a {recipe.system} one.")
    if len(fitting) > 1:
        raise UsageError(f"Say which part {run.path} is to be, as in --from {fitting[0]}={run.path}.")
    return fitting[0]


@dataclass(frozen=True)
class FromRun:
    """A run of the same system: fine-tuning keeps its tokenizer and its model, but for keys changed by name. Or of
    one that the system goes on from (`Network.continues`): then the keys that it keeps."""

    run: Run

    @property
    def path(self) -> Path:
        return self.run.path

    def recipe(self, asked: Recipe, changed: Collection[str]) -> Recipe:
        old = self.run.recipe()
        _keep_tokenizer(self.run, changed)
        named = [key.removeprefix("model.") for key in changed if key.startswith("model.")]
        if old.system == asked.system:
            model = dataclasses.replace(old.model, **{key: getattr(asked.model, key) for key in named})
        else:
            kept = system(asked.system).network_class().continues[old.system]
            if fixed := [f"model.{key}" for key in named if key in kept]:
                raise UsageError(
                    f"The weights of {self.run.path} are taken over as they are: leave out {', '.join(fixed)}."
                )
            model = dataclasses.replace(asked.model, **{key: getattr(old.model, key) for key in kept})
        restores = getattr(asked.objective, "noise", "none") != "none" and "objective.noise" not in changed
        if restores and holds_pairs(asked.data):  # a run that has learned to restore text goes on with them
            asked = dataclasses.replace(asked, objective=dataclasses.replace(asked.objective, noise="none"))
        return dataclasses.replace(asked, model=model, tokenizer=old.tokenizer, parts=old.parts)

    def vocabularies(self, recipe: Recipe) -> Vocabularies | None:
        """Those of the run that the recipe has, too; tasks may be others."""
        old = {column.vocabulary for column in columns_of(self.run.recipe()).values()} - {TASKS}
        columns = columns_of(recipe)
        return Vocabularies.load(self.run, {name: c for name, c in columns.items() if c.vocabulary in old})

    def fill(self, network: Network, vocabularies: Vocabularies) -> str:
        load_run(network, self.run, network.inherited)
        before, now = (getattr(each, "noise", "none") for each in (self.run.recipe().objective, network.objective))
        return "It goes on with pairs (objective.noise = none)." if before != "none" and now == "none" else ""


@dataclass(frozen=True)
class FromReader:
    """A run of another system, which becomes a part of the network."""

    run: Run
    part: str

    @property
    def path(self) -> Path:
        return self.run.path

    def recipe(self, asked: Recipe, changed: Collection[str]) -> Recipe:
        old = self.run.recipe()
        _keep_tokenizer(self.run, changed)
        if fixed := [key for key in changed if key.startswith(f"parts.{self.part}.")]:
            raise UsageError(f"The part {self.part} is as {self.run.path} has it: leave out {', '.join(fixed)}.")
        part = Part(old.system, TEXT, old.model)
        return dataclasses.replace(asked, parts=asked.parts | {self.part: part}, tokenizer=old.tokenizer)

    def vocabularies(self, recipe: Recipe) -> Vocabularies | None:
        old = self.run.recipe()
        return Vocabularies({TEXT: Vocabularies.load(self.run, columns_of(old)).tokenizer()})

    def fill(self, network: Network, vocabularies: Vocabularies) -> str:
        load_part(network.get_submodule(self.part), self.run)
        return f"The part {self.part} has the weights of {self.run.path}; the rest is new."


def _keep_tokenizer(run: Run, changed: Collection[str]) -> None:
    if fixed := [key for key in changed if key.startswith("tokenizer.")]:
        raise UsageError(
            f"The tokenizer of {run.path} is taken over and cannot be changed: leave out {', '.join(fixed)}."
        )


@dataclass(frozen=True)
class FromVectors:
    """Word vectors: all of them, where a model has the key `vectors`, which says how many numbers each has; else
    those of a network's tokens, of which one without a vector stays as it was born."""

    path: Path

    @cached_property
    def vectors(self) -> WordVectors:
        return WordVectors.load(self.path)

    def recipe(self, asked: Recipe, changed: Collection[str]) -> Recipe:
        if not hasattr(asked.model, VECTORS) or "model.vectors" in changed:
            return asked
        return dataclasses.replace(asked, model=dataclasses.replace(asked.model, vectors=self.vectors.dim))

    def vocabularies(self, recipe: Recipe) -> Vocabularies | None:
        return Vocabularies({VECTORS: Tokenizer.of_words(self.vectors.words)}) if self._whole(recipe) else None

    @staticmethod
    def _whole(recipe: Recipe) -> bool:
        return bool(getattr(recipe.model, VECTORS, 0))

    def fill(self, network: Network, vocabularies: Vocabularies) -> str:
        vectors, whole = self.vectors, VECTORS in vocabularies
        tables = [module for module in network.modules() if isinstance(module, TokenTable)]
        tables = [table for table in tables if not whole or table.vocabulary == VECTORS]
        if not tables:
            raise UsageError(f"This network has no table of token vectors that {self.path} could be put into.")
        found = [fill_table(table, vocabularies, vectors) for table in tables]
        if not any(found):
            raise LexigraphError(
                f"No token of this model is a word of {self.path}: words of the same language and letter case are "
                'needed, and tokenizer.kind = "word" serves best.'
            )
        if whole:
            return f"The vectors of all {len(vectors):,} words of {self.path} are in the model."
        said = (f"{known:,} of {table.num_embeddings:,}" for known, table in zip(found, tables, strict=True))
        return f"Vectors of {self.path} are put into the table of tokens: {', '.join(said)} have one."


def fill_table(table: TokenTable, vocabularies: Vocabularies, vectors: WordVectors) -> int:
    """Copy the vector of every token that is a word, as it stands or in small letters; how many those are.

    All are scaled by one number, so that they are as long, on average, as the rows that the table was born with.
    """
    if vectors.dim != table.embedding_dim:
        raise UsageError(
            f"The word vectors have {vectors.dim} numbers, and the tokens of this model {table.embedding_dim}: "
            + (
                "leave out model.vectors, which they set."
                if table.vocabulary == VECTORS
                else f"choose a model whose tokens have {vectors.dim} (model.embedding or model.dim)."
            )
        )
    tokens = vocabularies.tokens(table.vocabulary)
    rows = word_rows(tokens.tokens(range(len(tokens))), vectors.index)
    rows[list(tokens.special.values())] = -1
    known = np.flatnonzero(rows >= 0)
    if len(known):
        copied = torch.from_numpy(vectors.vectors[rows[known]])
        with torch.no_grad():
            table.weight[known] = copied * (_size(table.weight) / _size(copied))
            if table.vocabulary == VECTORS:
                table.weight[: int(known.min())] = 0  # a word without one has none
    return len(known)


def word_rows(pieces: list[str], index: Mapping[str, int]) -> np.ndarray:
    """The row that each piece has in a table of words; -1: it is no word.

    >>> word_rows(["<eos>", " the", "The", "##e"], {"the": 0}).tolist()
    [-1, 0, 0, -1]
    """
    words = (piece.strip(" ▁") for piece in pieces)
    return np.array([index.get(word, index.get(word.lower(), -1)) for word in words])


def _size(vectors: Tensor) -> float:
    """Root mean square of all entries."""
    return float(vectors.square().mean().sqrt())
