"""What values mean: tokens of text, labels, numbers; and all vocabularies of a run by their names.

    vocabularies = Vocabularies({"text": tokenizer, "tags": Labels(("DET", "NOUN", "VERB"))})
    vocabularies.tokens().eos, vocabularies.labels("tags").id_of("NOUN")

In a run folder: `tokenizer.json` is the one named "text"; others are `NAME-tokenizer.json`, `NAME-labels.json` and
`NAME-numbers.json`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.run import Run, replacing
from lexigraph.stored import table_in
from lexigraph.text.columns import Columns

if TYPE_CHECKING:
    from lexigraph.text.tokenizer import Tokenizer

TEXT = "text"  # the vocabulary that columns have unless they say otherwise
VECTORS = "vectors"  # of words that have vectors of their own: all those of a file, seen in training or not
ROLES = {  # special tokens by what they are for, where no file says it
    "mask": ("<mask>", "[MASK]"),
}


@runtime_checkable
class Tokens(Protocol):
    """What a network may ask about the tokens that it reads and writes. A Tokenizer answers, and so do `Ids`."""

    kind: str
    pad: int
    unk: int
    eos: int
    begin: int
    special: dict[str, int]
    roles: dict[str, int]

    def __len__(self) -> int: ...

    def tokens(self, ids: Sequence[int]) -> list[str]: ...


@dataclass(frozen=True)
class Ids:
    """A vocabulary of which nothing but the ids is known: for networks without text, as in benchmarks."""

    size: int
    roles: dict[str, int] = field(default_factory=dict)
    pad: int = 0
    unk: int = 1
    eos: int = 2
    begin: int = 2
    kind: str = "word"

    @cached_property
    def special(self) -> dict[str, int]:
        named = {"<pad>": self.pad, "<unk>": self.unk, "<eos>": self.eos}
        return named | {f"<{role}>": i for role, i in self.roles.items() if i not in named.values()}

    def __len__(self) -> int:
        return self.size

    def tokens(self, ids: Sequence[int]) -> list[str]:
        names = {i: name for name, i in self.special.items()}
        return [names.get(i, f"word{i}") for i in ids]


def role(tokens: Tokens, name: str, default: int | None = None) -> int:
    """The id of the special token with this part to play: `mask`, `cls`, `sep`, `start` …"""
    named = (tokens.special[each] for each in ROLES.get(name, ()) if each in tokens.special)
    found = tokens.roles.get(name, next(named, default))
    if found is None:
        raise UsageError(f'This system needs a special token <{name}>: set tokenizer.special = ["<{name}>"].')
    return found


SENTINEL = re.compile(r"<(?:extra_id_)?(\d+)>")  # what stands for missing spans in T5, ours and theirs


def sentinels(tokens: Tokens) -> list[int]:
    """The special tokens <0>, <1> … or <extra_id_0> …, by their numbers, as far as there is no gap."""
    numbered = {int(found[1]): i for name, i in tokens.special.items() if (found := SENTINEL.fullmatch(name))}
    numbered |= {
        int(name.removeprefix("sentinel-")): i for name, i in tokens.roles.items() if name[:9] == "sentinel-"
    }
    return [numbered[n] for n in range(len(numbered)) if set(range(n)) <= numbered.keys() and n in numbered]


def first_word(tokens: Tokens) -> int:
    """The first id that is no special token."""
    return min(set(range(len(tokens))) - set(tokens.special.values()))


def begin_or_nothing(tokens: Tokens) -> list[int]:
    """The token that every text begins with, where that is not the one that ends it."""
    return [] if tokens.begin == tokens.eos else [tokens.begin]


@dataclass(frozen=True)
class Labels:
    """The classes or tags of the training split. One that was not seen there has the id -1."""

    names: tuple[str, ...]

    @classmethod
    def learn(cls, seen: Iterable[str]) -> Labels:
        """All that are seen, in the order of the alphabet."""
        return cls(tuple(sorted(set(seen))))

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    def __len__(self) -> int:
        return len(self.names)

    def id_of(self, name: str) -> int:
        return self._ids.get(name, -1)

    @property
    def fingerprint(self) -> str:
        return hashlib.sha256("\n".join(self.names).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Numbers:
    """Numbers, vectors or pictures: the shape of one, and what the training split's have in common."""

    shape: tuple[int, ...] = ()
    mean: float = 0.0
    deviation: float = 1.0
    means: tuple[float, ...] = ()  # of sequences of vectors: of each number of a vector by itself
    deviations: tuple[float, ...] = ()

    @classmethod
    def learn(cls, seen: Iterable[tuple[np.ndarray, str]], sequences: bool = False) -> Numbers:
        """Shape, mean and standard deviation of all numbers, in one pass; each value comes with where it stands.

        sequences: a value has many vectors.
        """
        shape: tuple[int, ...] | None = None
        count, total, squares = 0, np.zeros(()), np.zeros(())
        for value, where in seen:
            rows = (value if sequences else value[None]).astype(np.float64)
            shape = rows.shape[1:] if shape is None else shape
            if rows.shape[1:] != shape:
                scaled = ": data.side scales pictures to one" if len(shape) == 3 and not sequences else ""
                raise LexigraphError(
                    f"{where}: values of one column have different shapes, {rows.shape[1:]} here and {shape} before"
                    f"{scaled}."
                )
            count, total, squares = count + len(rows), total + rows.sum(0), squares + (rows**2).sum(0)
        means, mean = total / max(1, count), float(total.mean()) / max(1, count)
        deviations = np.sqrt(np.maximum(squares / max(1, count) - means**2, 1e-12))
        deviation = max(float(squares.mean()) / max(1, count) - mean**2, 1e-12) ** 0.5
        each = (tuple(means.tolist()), tuple(deviations.tolist())) if sequences else ((), ())
        return cls(shape or (), mean, deviation, *each)

    def __len__(self) -> int:
        return int(np.prod(self.shape, dtype=int))

    @property
    def fingerprint(self) -> str:
        known = {key: value for key, value in asdict(self).items() if value or key not in ("means", "deviations")}
        return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]


Vocabulary = Tokens | Labels | Numbers
FINGERPRINTS = "vocabularies"  # the key of a run's config.json
KINDS = {
    "tokens": "tokenizer",
    "tags": "labels",
    "class": "labels",
    "spans": "labels",
}  # kind of column → of vocabulary, else numbers


class Vocabularies(Mapping[str, Vocabulary]):
    """All vocabularies of a run, by name."""

    def __init__(self, named: Mapping[str, Vocabulary]) -> None:
        self._named = dict(named)

    def __getitem__(self, name: str) -> Vocabulary:
        if name not in self._named:
            raise LexigraphError(f"There is no vocabulary named {name!r}; there are: {', '.join(self._named)}.")
        return self._named[name]

    def __contains__(self, name: object) -> bool:
        return name in self._named

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)

    def tokens(self, name: str = TEXT) -> Tokens:
        found = self[name]
        assert isinstance(found, Tokens)
        return found

    def tokenizer(self, name: str = TEXT) -> Tokenizer:
        from lexigraph.text.tokenizer import Tokenizer

        found = self[name]
        assert isinstance(found, Tokenizer)
        return found

    def tokenizers(self) -> dict[str, Tokenizer]:
        """All that cut text; a system that reads none has none."""
        from lexigraph.text.tokenizer import Tokenizer

        return {name: each for name, each in self.items() if isinstance(each, Tokenizer)}

    def labels(self, name: str) -> Labels:
        found = self[name]
        assert isinstance(found, Labels)
        return found

    def numbers(self, name: str) -> Numbers:
        found = self[name]
        assert isinstance(found, Numbers)
        return found

    # ---- files -----------------------------------------------------------------------------------------------

    def save(self, folder: Path) -> None:
        """Write each into its own file."""
        for name, vocabulary in self.items():
            path = folder / file_of(name, _suffix(vocabulary))
            if isinstance(vocabulary, Labels | Numbers):
                with replacing(path) as temporary:
                    temporary.write_text(json.dumps(asdict(vocabulary), ensure_ascii=False), encoding="utf-8")
            else:
                self.tokenizer(name).save(path)

    def fingerprints(self) -> dict[str, str]:
        """What names each, by its file."""
        return {file_of(name, _suffix(each)): _fingerprint(each) for name, each in self.items()}

    @classmethod
    def load(cls, run: Run, columns: Columns) -> Vocabularies:
        """Those of a run's columns; one that is not the run's own is refused."""
        from lexigraph.text.tokenizer import Tokenizer

        found: dict[str, Vocabulary] = {}
        for column in columns.values():
            name, kind = column.vocabulary, KINDS.get(column.kind, "numbers")
            path = run.path / file_of(name, kind)
            if kind == "tokenizer":
                found[name] = found.get(name) or Tokenizer.load(path)
            elif column.learned:
                found[name] = _read(path, Labels if kind == "labels" else Numbers)
        for file, fingerprint in cls(found).fingerprints().items():
            refuse_foreign(run, file, fingerprint)
        for vocabulary in found.values():
            if isinstance(vocabulary, Tokenizer):
                vocabulary.roles = vocabulary.roles | run.roles()  # its file stays as it is
        return cls(found)


def refuse_foreign(run: Run, file: str, fingerprint: str) -> None:
    """Refuse a vocabulary that the run was not made with; older runs do not tell."""
    own = run.config().get(FINGERPRINTS, {}).get(file, fingerprint)
    if own != fingerprint:
        raise LexigraphError(
            f"{run.path / file} is not this run's own: its fingerprint is {fingerprint}, and the run was made with "
            f"{own}. Put the right file back."
        )


def file_of(name: str, kind: str) -> str:
    """The file of a vocabulary in a run folder."""
    return f"{kind}.json" if name == TEXT and kind == "tokenizer" else f"{name}-{kind}.json"


def _fingerprint(vocabulary: Vocabulary) -> str:
    from lexigraph.text.tokenizer import Tokenizer

    assert isinstance(vocabulary, Labels | Numbers | Tokenizer)
    return vocabulary.fingerprint


def _suffix(vocabulary: Vocabulary) -> str:
    return (
        "labels" if isinstance(vocabulary, Labels) else "numbers" if isinstance(vocabulary, Numbers) else "tokenizer"
    )


def _read(path: Path, kind: Callable[..., Labels | Numbers]) -> Labels | Numbers:
    try:
        fields = {key: tuple(value) if isinstance(value, list) else value for key, value in table_in(path).items()}
        return kind(**fields)
    except (ValueError, TypeError) as error:
        raise LexigraphError(f"{path} is damaged: {error}.") from None
