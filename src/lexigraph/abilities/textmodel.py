"""TextModel = network + vocabularies: what all abilities stand on, and the way from text to tokens and back.

An ability is a method. Each kind of model is a subclass in this folder with the methods of its kind, and the registry
says which one a system has; any other ability answers with an error that lists what this system can do. The verbs of
the command line have the same names.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
import torch
from torch import Tensor

from lexigraph.abilities.asking import TextError
from lexigraph.abilities.directions import To
from lexigraph.decoding.beam import beam_search
from lexigraph.decoding.diagnose import Trial
from lexigraph.decoding.hypothesis import Hypothesis, Length
from lexigraph.errors import AbilityError, LexigraphError, UsageError
from lexigraph.memory import refuse_beyond
from lexigraph.nn.devices import choose_device
from lexigraph.nn.linear import quantise
from lexigraph.nn.network import Decoder, Network, Predictor, build, columns_of
from lexigraph.objectives.terms import Batch
from lexigraph.recipe import Recipe
from lexigraph.registry import WORD_SYSTEMS, nearest, system
from lexigraph.run import Run
from lexigraph.text.batches import padded
from lexigraph.text.clean import cleaner, without_dictionary
from lexigraph.text.corpus import cleaned_fields
from lexigraph.text.encoding import ColumnEncoder, Example
from lexigraph.text.readers import Value
from lexigraph.text.tables import Table
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.text.vocabularies import TEXT, Vocabularies
from lexigraph.upgrades import first_name
from lexigraph.weights import load_run

BATCH_SIZE = 32  # texts at once
Input: TypeAlias = "Value | Mapping[str, Value]"  # the first field of an example, or all by their names
Inputs: TypeAlias = "str | Path | Mapping[str, Value] | Iterable[Input]"  # one example or several
ABILITIES = (
    *("encode", "decode", "pictures", "read", "blend", "solve", "sample", "neighbours"),
    *("generate", "complete", "score", "rank", "translate", "align", "summarise"),
    *("fill", "tag", "classify", "estimate"),
    *("answer", "parse", "caption", "match"),
)


@dataclass(frozen=True)
class Scored:
    """A text with its log-probability (nats), and what it was sorted by."""

    text: str
    log_probability: float
    tokens: int
    score: float

    def __str__(self) -> str:
        return self.text


class TextModel:
    """A trained model. Make one with `lexigraph.load` or `lexigraph.train`."""

    network: Network
    of_unknown_words = " and cannot come back"  # what a warning says of them

    def __init__(
        self, network: Network, vocabularies: Vocabularies, recipe: Recipe, path: Path | None = None
    ) -> None:
        self.network, self.vocabularies, self.recipe, self.path = network, vocabularies, recipe, path
        rules = without_dictionary(recipe.data.clean)
        self._clean = cleaner(rules) if rules else None
        self.network.eval()
        self.int8 = False

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto", int8: bool = False) -> TextModel:
        """The model in a run folder, of its system's class; `int8`: on the CPU, with products in 8 bits."""
        run = Run.open(folder)
        recipe = run.recipe()
        if recipe.system in WORD_SYSTEMS:
            can = ", ".join(WORD_SYSTEMS[recipe.system].abilities)
            raise AbilityError(f"{folder} holds word vectors; they can: {can} (lexigraph words --help shows how).")
        vocabularies = Vocabularies.load(run, columns_of(recipe))
        network = build(recipe, vocabularies)
        if not run.finished and not (run.path / "model.safetensors").exists():
            raise LexigraphError(f"{run.path} is not trained yet: lexigraph train --out {run.path} --resume goes on.")
        load_run(network, run)
        chosen = choose_device(device)
        if device == "auto" and (int8 or chosen.type == "mps"):
            chosen = torch.device("cpu")  # searches sum in float64, which MPS does not have
        model = system(recipe.system).model_class()(network.to(chosen), vocabularies, recipe, run.path)
        return model.quantise() if int8 else model

    def finish(self, run: Run, train: Table) -> str:
        """What comes after training; a sentence about it, if a user should know."""
        return ""

    def quantise(self) -> TextModel:
        """Multiply in 8 bits from now on (nn/linear.py): faster on a CPU, and a little less exact."""
        if self.device.type != "cpu":
            raise UsageError(f"8-bit products are for the CPU, and this model is on {self.device}.")
        self.int8 = quantise(self.network) > 0
        return self

    @property
    def abilities(self) -> tuple[str, ...]:
        """What this model can do: the names of methods."""
        return system(self.recipe.system).abilities

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    @property
    def tokenizer(self) -> Tokenizer:
        """What cuts the texts that it reads and writes."""
        return self.vocabularies.tokenizer()

    @property
    def reading_tokenizer(self) -> Tokenizer:
        """What cuts the texts that it reads; a translator may write with another."""
        return self.tokenizer

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that name these weights and vocabularies; pictures carry it."""
        digest = hashlib.blake2b(digest_size=8)
        for _, tokenizer in sorted(self.vocabularies.tokenizers().items(), key=lambda named: named[0] != TEXT):
            digest.update(tokenizer.fingerprint.encode())
        for name, value in sorted((first_name(name), value) for name, value in self.network.state_dict().items()):
            digest.update(name.encode())
            digest.update(value.detach().cpu().contiguous().numpy().data)
        return digest.hexdigest()

    def rows(self, texts: Sequence[str], tokenizer: Tokenizer | None = None) -> tuple[list[np.ndarray], int]:
        """The tokens of texts that are cleaned as the training text was, and how many of their words are unknown."""
        return self._tokens(self.cleaned(texts), tokenizer or self.tokenizer)

    def cleaned(self, texts: Sequence[str]) -> list[str]:
        """Texts as the training text was cleaned; "" where nothing is left of one."""
        return [self._clean(text) or "" for text in texts] if self._clean else list(texts)

    def _tokens(self, cleaned: Sequence[str], tokenizer: Tokenizer) -> tuple[list[np.ndarray], int]:
        rows, unk = tokenizer.encode_batch(cleaned), tokenizer.unk
        unknown = sum(int((row == unk).sum()) for row in rows)
        if unknown and self.recipe.data.rare:  # such words left the lines of the training text
            rows = [row[row != unk] for row in rows]
        return rows, unknown

    def fits(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text can be encoded: it holds something, and not more than a sentence of this model may."""
        return [0 < len(row) <= self._longest for row in self.rows(texts, self.reading_tokenizer)[0]]

    @property
    def _longest(self) -> int:
        """The most tokens of a text, without boundaries; of one that is read whole, the context counts its end."""
        traits = self.network.traits
        return traits.context - traits.reads_whole

    def _sentences(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The tokens of texts that fit into the space, or a sentence that says which one does not, and why."""
        rows, unknown = self.rows(texts, self.reading_tokenizer)
        longest = self._longest
        for number, (text, row) in enumerate(zip(texts, rows, strict=True), 1):
            if not len(row):
                why = "is empty" if not text.strip() else f"({text[:40]!r}) has nothing left after cleaning"
                raise TextError(number, len(texts), f"{why}: there is nothing to encode.")
            if len(row) > longest:
                raise TextError(
                    number,
                    len(texts),
                    f"has {len(row):,} tokens, and this model reads sentences of at most {longest}: "
                    "give it one sentence at a time.",
                )
        if unknown:
            warnings.warn(f"{unknown} words are not in the vocabulary{self.of_unknown_words}.", stacklevel=3)
        return rows

    def _normalised(self, text: str) -> str:
        """A text as the model could at best give it back."""
        return self.tokenizer.decode(self._encode(text))

    def _encode(self, text: str) -> list[int]:
        return self.rows([text])[0][0].tolist()

    def _batch(self, rows: Sequence[Sequence[int]]) -> dict[str, Tensor]:
        lengths = torch.tensor([len(row) for row in rows], device=self.device)
        ids = torch.from_numpy(padded(rows, self.tokenizer.pad))
        return {"ids": ids.to(self.device), "lengths": lengths}

    @property
    def _banned(self) -> list[int]:
        special = set(self.tokenizer.special.values())
        return sorted(special - {self.tokenizer.eos})

    def _search(
        self,
        batch: dict[str, Tensor],
        width: int,
        max_new: int,
        alpha: float,
        n_best: int,
        *,
        attention: bool = False,
        length: Length = "power",
        coverage: float = 0.0,
        allowed: Sequence[int] = (),
        shortest: int = 0,
        no_repeat: int = 0,
    ) -> list[list[Hypothesis]]:
        assert isinstance(self.network, Decoder)
        rows, offered = width * len(batch["lengths"]), len(self.tokenizer)
        needed = rows * (16 * offered + 64 * min(width, offered))  # logits, and what each hypothesis offers
        refuse_beyond(needed, f"A beam of {width}", f"the search for {rows:,} hypotheses at once")
        return beam_search(
            self.network,
            batch,
            eos=self.tokenizer.eos,
            width=width,
            max_new=max_new,
            alpha=alpha,
            length=length,
            coverage=coverage,
            n_best=n_best,
            banned=[token for token in self._banned if token not in allowed],
            attention=attention,
            min_new=shortest,
            no_repeat=no_repeat,
        )

    def _batches(self, inputs: Inputs, size: int = BATCH_SIZE) -> Iterator[Batch]:
        """Batches of texts or whatever else the model's examples are read from; a record is a mapping of fields."""
        columns = {name: column for name, column in columns_of(self.recipe).items() if not column.optional}
        first = next(column.field_of(name) for name, column in columns.items())
        given: list[Input] = [inputs] if isinstance(inputs, str | Path | Mapping) else list(inputs)
        records = [each if isinstance(each, Mapping) else {first: each} for each in given]
        fields = {column.field_of(name) for name, column in columns.items()}
        for number, record in enumerate(records, 1):
            if missing := sorted(fields - record.keys()):
                raise UsageError(f"Record {number} of {len(records)} has no field {missing[0]!r}, which is read.")
        encoder, texts = ColumnEncoder(columns, self.vocabularies), cleaned_fields(columns)
        for start in range(0, len(records), size):
            block = []
            for record in records[start : start + size]:
                cleaned = {field: self._clean(str(record[field])) or "" for field in texts} if self._clean else {}
                block.append(Example("", {**record, **cleaned}))
            yield self.network.prepare(encoder.rows(block)).to(self.device)

    def _predicted(self, inputs: Inputs, size: int = BATCH_SIZE) -> Iterator[Any]:
        """What a network that answers at once says of each."""
        for batch in self._batches(inputs, size):
            with torch.inference_mode():
                answers = cast(Predictor[Any], self.network).predict(batch)
            yield from answers

    # what verbs of the command line ask for, with a text a line, or a source, a tab and a target; `to`: a direction

    def score_lines(self, lines: Sequence[str], *, ended: bool = True, to: To = None) -> list[float]:
        """Log-probabilities of lines."""
        raise self._cannot("score")

    def align_lines(self, lines: Sequence[str], *, to: To = None) -> list[list[tuple[int, int]]]:
        """Links of pairs."""
        raise self._cannot("align")

    def trial_of_lines(
        self, lines: Sequence[str], *, prompt_tokens: int | None = None, alpha: float = 0.7, to: To = None
    ) -> Trial:
        """What a search is diagnosed on."""
        raise self._cannot("diagnose")

    def _refuse_direction(self, to: To) -> None:
        if to is not None:
            raise UsageError(
                f"--to says what a translator is to write, and a {self.recipe.system} model is none: leave it out."
            )

    def _cannot(self, ability: str) -> AbilityError:
        can = ", ".join(self.abilities)
        return AbilityError(f"This {self.recipe.system} model cannot {ability}; it can: {can}.")

    def __getattr__(self, name: str) -> Any:
        if name in ABILITIES:
            raise self._cannot(name)
        raise AttributeError(f"TextModel has no attribute {name!r}{nearest(name, ABILITIES)}")

    def __repr__(self) -> str:
        count = sum(p.numel() for p in self.network.parameters())
        return f"TextModel({self.recipe.system}, {count:,} parameters, can {', '.join(self.abilities)})"
