"""What a network is to the rest of the house: it declares its columns and traits, and answers the same few questions.

    columns(recipe)                      what its examples hold
    prepare(examples, seeds, step)       rows of token ids and the like → a batch of tensors, corrupted as it learns
    loss(batch, carry)                   → terms (objectives/terms.py), and what the next window starts from
    outputs(batch, carry)                → for every row what it computes, without padding, nothing drawn at random
    segments()                           → the same loss in pieces, for a pipeline of processes, where it can be cut

and, by its kind, those of a decoder (one token after another, for search), of an autoencoder (a vector for a text,
and back), of a mask filler (all gaps at once), of a predictor (one answer for an example), of a reader (states for
every token, so that it can be a part of another network).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from lexigraph.errors import UsageError
from lexigraph.nn.size import measured
from lexigraph.nn.stepper import Step
from lexigraph.objectives.masked import Frame, contents
from lexigraph.objectives.next_token import IGNORE, Padded, shifted
from lexigraph.objectives.terms import Batch, Carry, Terms
from lexigraph.registry import system
from lexigraph.text.batches import padded, pair_lengths
from lexigraph.text.columns import Column, Columns, Traits
from lexigraph.text.tables import Row
from lexigraph.text.vocabularies import TEXT, Vocabularies

if TYPE_CHECKING:
    from lexigraph.recipe import Part, Recipe

Examples = Mapping[str, Sequence[Row] | Padded]  # rows by column: ragged on the host, or padded on the device
Seeds = Mapping[str, Int[np.ndarray, " rows"]]  # by table, one for each row: of its random numbers
Outputs = dict[str, list[Tensor]]
Flow = dict[str, Tensor]  # what the segments of a network hand on, by name
Answer = TypeVar("Answer")


class Segment(NamedTuple):
    """A piece of a network's loss that a process can have to itself."""

    weights: Sequence[nn.Module | Tensor | None]  # all that it computes with
    needs: Sequence[str]  # what it takes, where it is there, of all that earlier segments have added
    run: Callable[[Batch, Flow], Flow | Terms]  # what it adds to that; the last one's: the terms of the loss


class Network(nn.Module):
    """A system's network. Its class is called with its config, its objective and its vocabularies."""

    traits: Traits
    part_names: tuple[str, ...] = ()  # the parts that it can have: its class then takes them as `parts`, by name
    newborn: tuple[str, ...] = ()  # modules that a run which training starts from may be without
    # systems whose runs it can go on from, with the keys of [model] that it keeps of them
    continues: ClassVar[Mapping[str, tuple[str, ...]]] = MappingProxyType({})

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        """What an example of this system holds."""
        raise NotImplementedError

    @classmethod
    def kept_heads(cls, recipe: Recipe) -> tuple[str, ...]:
        """The heads that its parts have nevertheless."""
        return ()

    def inherited(self, weights: dict[str, Tensor]) -> dict[str, Tensor]:
        """The weights of a run that it goes on from, as it takes them: what is `newborn` may be missing there."""
        lacking = [part for part in self.newborn if not any(name.startswith(f"{part}.") for name in weights)]
        own = {name: value for name, value in self.state_dict().items() if name.split(".")[0] in lacking}
        return weights | own

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """A batch. With seeds, in training, random numbers follow from them; without, from what the examples say."""
        raise NotImplementedError

    def loss(self, batch: Batch, carry: Carry | None = None) -> tuple[Terms, Carry | None]:
        """The terms of the loss, and the carry of a stateful network."""
        raise NotImplementedError

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        """What it computes for each row: what must not depend on the rows beside it."""
        raise NotImplementedError

    def segments(self) -> list[Segment]:
        """Pieces that together, one after the other, compute `loss`; none, if it cannot be cut."""
        return []

    def remark(self, examples: Examples) -> str:
        """What a user should know before training on such examples; nothing, mostly."""
        return ""


class States(NamedTuple):
    """What a reader makes of texts: the states of its layers, from the bottom up, and how long each text is."""

    layers: list[Float[Tensor, "B T d"]]
    lengths: Int[Tensor, " B"]


class Reader(Network):
    """A network that can be a part of another one. Position 0 of a text is its beginning, position i its token i."""

    width: int  # of a state
    reads_words = False  # whether its texts are lists of words, and position i is word i
    heads: tuple[str, ...] = ()  # what only its own objective needs: a part goes without
    layer_names = r"^(?:blocks|encoder\.layers)\.(\d+)\."  # in the names of weights: of which layer they are, from 0

    @property
    def depth(self) -> int:
        """How many layers it shows, what goes into the first included."""
        return cast(Any, self).config.layers + 1

    def reading(
        self, rows: Sequence[np.ndarray], others: Sequence[np.ndarray] | None = None, *, closed: bool = False
    ) -> Batch:
        """Token sequences, boundaries included, as a batch in which nothing is corrupted.

        others: a second text B for each text A, read behind it (`read_pairs`): beginning, A, separator, B, end.
        Token i of A is at position i, token j of B at position len(A) + 1 + j, both counted from 1.
        closed: a text alone is read up to its end, too, which a language model else has nothing to predict from.
        """
        raise NotImplementedError

    @property
    def pair_context(self) -> int:
        """The most tokens that the two texts of a pair have together; 0: no limit."""
        raise NotImplementedError

    def reading_words(self, rows: Sequence[list[np.ndarray]]) -> Batch:
        """Lists of words as a batch, for a reader of words."""
        raise NotImplementedError

    def states(self, batch: Batch) -> States:
        """The states of such a batch."""
        raise NotImplementedError

    def summary(self, last: Float[Tensor, "B T d"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B d"]:
        """One vector for each text or pair, from the last states of all that was read: the first one."""
        return last[:, 0]


Parts = Mapping[str, Reader]  # of a network, by the names that it has for them
NO_PARTS: Parts = MappingProxyType({})


class Beginning(NamedTuple):
    """What a search starts from, and how many of each row's inputs it has taken in by then."""

    tensors: dict[str, Tensor]
    given: list[int]


class Decoder(Network):
    """A network that writes one token after another (nn/stepper.py)."""

    written = "text"  # which of its outputs stepping gives

    def beginning(self, batch: Batch, given: Sequence[int]) -> Beginning:
        """A beginning from a batch; `given`: as many of each row's inputs, where it can start from so many."""
        raise NotImplementedError

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        raise NotImplementedError

    def step(self, state: Any, tokens: Int[Tensor, " rows"], attention: bool = False) -> Step:
        """One token more in every row; the state is what this decoder's last step left."""
        raise NotImplementedError


class LanguageNetwork(Decoder, Reader):
    """A decoder that goes on with a text: <eos> w_1 … w_n, each token predicted from those before it."""

    pad: int

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return {"text": Column("tokens")}

    def prepare(self, examples: Examples, seeds: Seeds | None = None, step: int | None = None) -> Batch:
        """Inputs and targets from token sequences, boundaries included."""
        return shifted(sequences(examples["text"]), self.pad)

    def prepare_in_order(self, examples: Examples) -> Batch:
        """A batch in which every token but the first is predicted from those before it: what a text is scored by."""
        return self.prepare(examples)

    @property
    def pair_context(self) -> int:
        return max(1, self.traits.context - 3) if self.traits.context else 0

    def reading(
        self, rows: Sequence[np.ndarray], others: Sequence[np.ndarray] | None = None, *, closed: bool = False
    ) -> Batch:
        if others is not None:
            return read_pairs(rows, others, self.pad, self.pair_context)
        if closed:
            lengths = torch.tensor([len(row) for row in rows])
            return Batch({"inputs": torch.from_numpy(padded(rows, self.pad)), "lengths": lengths})
        whole = shifted(rows, self.pad)
        return Batch({"inputs": whole["inputs"], "lengths": (whole["targets"] != IGNORE).sum(1)})

    def summary(self, last: Float[Tensor, "B T d"], lengths: Int[Tensor, " B"]) -> Float[Tensor, "B d"]:
        """The state at the end, which has seen all of it."""
        return last[torch.arange(len(last), device=last.device), lengths - 1]

    @property
    def output_table(self) -> Float[Tensor, "V d"]:
        """What states are compared with, a row for each token."""
        raise NotImplementedError

    def outputs(self, batch: Batch, carry: Carry | None = None) -> Outputs:
        return {"text": unpadded(self(batch["inputs"]), batch)}

    def beginning(self, batch: Batch, given: Sequence[int]) -> Beginning:
        """Prompts of so many tokens."""
        lengths = torch.tensor(given, device=batch["inputs"].device)
        return Beginning({"ids": batch["inputs"][:, : max(given)], "lengths": lengths}, list(given))


class MaskFiller(Reader):
    """A network that predicts tokens at any positions from all the others."""

    frame: Frame  # the special tokens around a text, and in its gaps
    special = 0  # ids below are never masked

    @property
    def pair_context(self) -> int:
        return max(1, self.traits.context - 1)

    def reading(
        self, rows: Sequence[np.ndarray], others: Sequence[np.ndarray] | None = None, *, closed: bool = False
    ) -> Batch:
        if others is not None:
            return read_pairs(self._framed(rows), self._framed(others), self.frame.pad, self.pair_context)
        texts = self._framed(rows, self.traits.context)
        tensors = {"inputs": padded(texts, self.frame.pad), "lengths": np.array([len(text) for text in texts])}
        return Batch({name: torch.from_numpy(array) for name, array in tensors.items()})

    def _framed(self, rows: Sequence[np.ndarray], longest: int = 0) -> list[np.ndarray]:
        """Texts between the boundaries that this network has for them."""
        frame = self.frame
        return [np.array([frame.begin, *contents(row, longest or len(row), frame), frame.end]) for row in rows]

    def hidden(self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None) -> Float[Tensor, "B T d"]:
        """A vector for every token."""
        raise NotImplementedError

    def masked_logits(
        self, ids: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None, positions: Int[Tensor, "B K"]
    ) -> Float[Tensor, "B K V"]:
        """Logits of the tokens at some positions."""
        raise NotImplementedError

    def target_logits(self, batch: Batch, carry: Carry | None = None) -> Float[Tensor, "B K V"]:
        """Logits where a batch has its targets."""
        raise NotImplementedError


class Detector(MaskFiller):
    """One that puts tokens of its own in the place of masked ones, and finds them."""

    def replace(self, batch: Batch) -> tuple[Int[Tensor, "B T"], Int[Tensor, "B T"]]:
        """The text with some tokens replaced, and 1 where they are."""
        raise NotImplementedError


class FillingLanguageNetwork(LanguageNetwork, MaskFiller):
    """One that goes on with a text and fills its gaps."""


class Predictor(Network, Generic[Answer]):
    """A network that answers at once: tags, a class, a span, a tree."""

    def predict(self, batch: Batch, carry: Carry | None = None) -> list[Answer]:
        """One answer for each row."""
        raise NotImplementedError

    def merge(self, windows: Sequence[Answer]) -> Answer:
        """The answer for an example from those for its windows."""
        raise NotImplementedError


def ragged(rows: Sequence[Row] | Padded) -> Sequence[np.ndarray]:
    """Rows on the host, for a network whose traits ask for them there."""
    assert not isinstance(rows, Padded)
    return cast(Sequence[np.ndarray], rows)


def sequences(rows: Sequence[Row] | Padded) -> Sequence[np.ndarray] | Padded:
    """Rows of tokens, not kept word by word."""
    return rows if isinstance(rows, Padded) else ragged(rows)


def unpadded(values: Float[Tensor, "B T *d"], batch: Batch) -> list[Float[Tensor, _ * d]]:
    """The values of each row up to its last target."""
    lengths = (batch["targets"] != IGNORE).sum(1).tolist()
    return [row[:length] for row, length in zip(values, lengths, strict=True)]


def read_pairs(rows: Sequence[np.ndarray], others: Sequence[np.ndarray], pad: int, most: int) -> Batch:
    """<begin> A <end> B <end>, from texts <begin> A <end> and <begin> B <end>; segment 0 ends with the first <end>,
    segment 1 follows. `most`: tokens that A and B may have together (`pair_lengths`); 0: no limit."""
    texts, segments = list[np.ndarray](), list[np.ndarray]()
    for row, other in zip(rows, others, strict=True):
        first, second = pair_lengths(len(row) - 2, len(other) - 2, most)
        texts.append(np.concatenate([row[: first + 1], row[-1:], other[1 : second + 1], other[-1:]]))
        segments.append(np.repeat([0, 1], [first + 2, second + 1]))
    tensors = {"inputs": padded(texts, pad), "segments": padded(segments, 0)}
    return Batch(
        {name: torch.from_numpy(array) for name, array in tensors.items()}
        | {"lengths": torch.tensor([len(text) for text in texts])}
    )


READ = "read_"  # before the names of the tensors that a part is given


def given_to_part(batch: Batch) -> Batch:
    """What a part reads, of a batch of the network that it is in."""
    own = {name.removeprefix(READ): tensor for name, tensor in batch.tensors.items() if name.startswith(READ)}
    return Batch(own)


def read_words(
    reader: Reader, rows: Sequence[Sequence[np.ndarray]], eos: int
) -> tuple[dict[str, Tensor], Int[np.ndarray, "B T P"]]:
    """What a reader needs to read texts that are kept word by word, and where it has each piece of each word.

    A text that is too long for it is read in several rows. Positions count over all rows; -1: there is no piece.
    """
    if reader.reads_words:
        return _read_as_words(reader, rows)
    longest = reader.traits.context - 1 if reader.traits.context else None  # a language model counts the beginning
    texts: list[np.ndarray] = []
    where: list[tuple[int, int]] = []  # the first of its rows, and how many tokens each of them has
    for row in rows:
        pieces = np.concatenate([*row, np.zeros(0, np.int64)]).astype(np.int64)
        step = longest or max(1, len(pieces))
        where.append((len(texts), step))
        texts += [np.array([eos, *pieces[n : n + step], eos]) for n in range(0, max(1, len(pieces)), step)]
    batch = reader.reading(texts)
    width = batch["inputs"].shape[1]
    most = max((len(word) for row in rows for word in row), default=1)
    positions = np.full((len(rows), max(map(len, rows)), max(1, most)), -1, np.int64)
    for index, (row, (first, step)) in enumerate(zip(rows, where, strict=True)):
        done = 0
        for number, word in enumerate(row):
            place = np.arange(done, done + len(word))
            positions[index, number, : len(word)] = (first + place // step) * width + 1 + place % step
            done += len(word)
    return batch.tensors, positions


def _read_as_words(
    reader: Reader, rows: Sequence[Sequence[np.ndarray]]
) -> tuple[dict[str, Tensor], Int[np.ndarray, "B T 1"]]:
    """The same for a reader of words, which has a state for each of them."""
    longest = reader.traits.context
    parts, where = list[list[np.ndarray]](), list[int]()  # the first of its rows
    for row in rows:
        where.append(len(parts))
        parts += [list(row[n : n + longest]) for n in range(0, max(1, len(row)), longest)]
    width = max(map(len, parts)) + 1
    positions = np.full((len(rows), max(map(len, rows)), 1), -1, np.int64)
    for index, (row, first) in enumerate(zip(rows, where, strict=True)):
        place = np.arange(len(row))
        positions[index, : len(row), 0] = (first + place // longest) * width + 1 + place % longest
    return reader.reading_words(parts).tensors, positions


def columns_of(recipe: Recipe) -> Columns:
    """What an example of a recipe's system holds."""
    return system(recipe.system).network_class().columns(recipe)


def skeleton(recipe: Recipe, vocabularies: Vocabularies, copies: int = 1) -> Network:
    """The network of a recipe with shapes and no memory; refused if there is none for that many copies of it."""
    with measured(recipe, copies):
        return _made(recipe, vocabularies)


def build(recipe: Recipe, vocabularies: Vocabularies) -> Network:
    """The untrained network of a recipe, with its parts."""
    skeleton(recipe, vocabularies)
    return _made(recipe, vocabularies)


def _made(recipe: Recipe, vocabularies: Vocabularies) -> Network:
    kind = system(recipe.system).network_class()
    for name in recipe.parts:
        if name not in kind.part_names:
            can = f"it can have: {', '.join(kind.part_names)}" if kind.part_names else "it has no parts"
            raise UsageError(f"This {recipe.system} model has no part named {name!r}: {can}.")
    if not recipe.parts:
        return kind(recipe.model, recipe.objective, vocabularies)
    kept = kind.kept_heads(recipe)
    parts = {name: _build_part(part, vocabularies, kept) for name, part in recipe.parts.items()}
    return kind(recipe.model, recipe.objective, vocabularies, parts)


def _build_part(part: Part, vocabularies: Vocabularies, kept: Sequence[str]) -> Reader:
    """A network inside another one: it reads what it is given, and goes without its heads but for those kept."""
    entry = system(part.system)
    kind = entry.network_class()
    if not issubclass(kind, Reader):
        raise UsageError(f"This {part.system} model does not read for others: it cannot be a part.")
    network = kind(part.model, entry.module().Objective(), Vocabularies({TEXT: vocabularies[part.vocabulary]}))
    for head in set(network.heads) - set(kept):
        delattr(network, head)
    return network
