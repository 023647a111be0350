"""A recipe says everything about a training: six TOML sections, each read into a frozen dataclass.

Reading is strict: an unknown key, a wrong type or a value outside its choices is refused with the file, the
line and the nearest valid key. `[model]` and `[objective]` belong to the system, which brings its own
dataclasses for them (`Config` and `Objective` in its module). Recipes for word vectors have `[data]` and `[words]`
(words/recipe.py).

    recipe = read("gpt", {"train.steps": 500})        # a name that ships with Lexigraph, or a .toml file
    recipe.train.steps
"""

from __future__ import annotations

import dataclasses
import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any, Literal, TypeVar, get_type_hints

from lexigraph import upgrades
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.registry import WORD_SYSTEMS, WORD_VECTORS, nearest, system
from lexigraph.toml import parsed, section, section_lines, toml, typed

T = TypeVar("T")


def ranged(default: T, low: float, high: float = math.inf) -> T:
    """A key with numbers from `low` to `high`; of a list, each one counts."""
    return field(default=default, metadata={"range": (low, high)})


@dataclass(frozen=True)
class Data:
    """Which text, and how it is cut into examples."""

    train: str | tuple[str, ...] = ""  # files, folders, patterns, or `grammar` for the built-in corpus
    valid: str | tuple[str, ...] = ""  # empty: taken from `train` as `split` says
    test: str | tuple[str, ...] = ""  # likewise
    split: tuple[float, ...] = (0.9, 0.05, 0.05)  # shares of train, valid, test when there is one file
    unit: Literal["line", "stream"] = "line"  # a line of a file, or a window of one long stream
    split_sentences: bool = False  # cut running text into sentences, each a line
    documents: str = "none"  # where documents begin: none, line, blank, file, or a column's name
    encoding: str = "auto"  # of text that is neither UTF-8 nor has a byte order mark: cp1252 …; auto: refused
    columns: dict[str, str] = field(default_factory=dict)  # our column -> the file's field
    clean: tuple[str, ...] = ()  # cleaning rules, in order
    rare: tuple[int, ...] = ranged((), 0)  # then in stages: words seen at most so often go,
    max_words: tuple[int, ...] = ranged((), 1)  # and after them lines of more words than this
    dictionary: str = ""  # for the cleaning rule of that name: a file with one word a line
    window: int = ranged(0, 0)  # tokens per window of a stream; 0: the model's context
    max_chars: int = 1_000_000  # a longer line is refused: it is rarely a sentence
    sentences: int = ranged(60_000, 1, 1e9)  # how many the built-in corpus yields
    batch_tokens: int = ranged(0, 0)  # of a further table [data.NAME]: of it in a step; 0: as train.batch_tokens
    mixing: Literal["together", "in turn"] = "together"  # of several tables: each step takes rows of all, or of one
    turns: dict[str, int] = field(default_factory=dict)  # in turn: how often each table has its turn; else once


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes ids."""

    kind: Literal["char", "word", "bpe", "wordpiece", "unigram", "sentencepiece", "imported"] = "bpe"
    size: int = ranged(4096, 1, 10_000_000)  # at most so many entries, special ones included
    lower: bool = False
    min_count: int = ranged(1, 1)  # rarer words or characters become <unk>
    special: tuple[str, ...] = ()
    separate: bool = False  # pairs: one of `size` for the sources, which `special` is of, and one for the targets


@dataclass(frozen=True)
class Train:
    """The loop: how long, how fast, on what, and when to look up."""

    steps: int = ranged(1000, 1)  # optimizer steps
    epochs: float = ranged(0.0, 0)  # passes over the data, which then decide instead of `steps`; 0: `steps` decides
    batch_tokens: int = ranged(4096, 1, 1e9)  # tokens per step over all processes, padding included
    accumulate: int = ranged(1, 1, 1_000_000)  # micro-batches per step: the same result in less memory
    seed: int = ranged(0, 0, 2**48)
    optimizer: Literal["sgd", "rmsprop", "adam", "adamw", "muon"] = "adamw"
    lr: float = ranged(1e-3, 0, 1000)
    adam_share: float = ranged(0.5, 0)  # muon: what is no matrix is trained by Adam, at this share of lr
    betas: tuple[float, float] = ranged((0.9, 0.95), 0, 0.999999)
    eps: float = ranged(1e-8, 0)
    momentum: float = ranged(0.0, 0, 0.999999)  # sgd (Nesterov) and rmsprop
    # rmsprop: the share that its running mean of squared gradients keeps in a step
    rmsprop_decay: float = ranged(0.99, 0, 0.999999)
    weight_decay: float = ranged(0.0, 0, 1000)  # matrices only, never biases and norms
    schedule: Literal["constant", "linear", "cosine", "inverse-sqrt"] = "cosine"
    warmup: int = ranged(100, 0)  # steps of linear warm-up
    restart_every: int = ranged(0, 0)  # inverse-sqrt: warm up again every so many steps; 0: never
    final_lr: float = ranged(0.1, 0)  # where cosine and linear end, as a share of lr
    # parts of the network with a learning rate of their own, as a multiple of lr: {reader = 0.1}; 0: not trained
    lr_scale: dict[str, float] = field(default_factory=dict)
    clip: float = ranged(1.0, 0)  # largest gradient norm; 0: no clipping
    precision: Literal["auto", "fp32", "bf16", "fp16"] = "auto"  # auto: bf16 on CUDA, else fp32
    device: str = "auto"  # auto: CUDA, then MPS, then CPU
    compile: bool = False  # torch.compile: slow to start, faster after
    cuda_graphs: bool = False  # CUDA graphs: record the kernels of each shape of batch once, and replay them
    deterministic: bool = False  # bit-exact resume on CUDA too, a little slower
    parallel: Literal["ddp", "fully_shard"] = "ddp"  # under torchrun
    validate_every: int = ranged(0, 0)  # steps; 0: ten times a run
    checkpoint_every: int = ranged(0, 0)  # steps; 0: as validate_every
    patience: int = ranged(0, 0)  # validations without a better one before stopping; 0: never
    metric: str = "loss"  # what patience and "best" look at
    log_every: int = ranged(10, 1)
    tensorboard: bool = True


@dataclass(frozen=True)
class Eval:
    """How validation and test are measured."""

    batch_tokens: int = ranged(16384, 1, 1e9)
    streams: int = ranged(
        8, 1, 1_000_000
    )  # systems with memory read the text in so many parallel streams; 1 is exact
    max_tokens: int = ranged(0, 0)  # validate on the first so many tokens during training; 0: all
    sentences: int = ranged(2000, 0)  # autoencoders: decode so many held-out sentences for exact match
    mixture: int = ranged(
        20_000, 0
    )  # and fit the mixture that samples come from to so many training sentences; 0: none


@dataclass(frozen=True)
class Expected:
    """The score that the recipe reaches, and where."""

    metric: str = ""
    value: float = 0.0
    tolerance: float = 0.0
    data: str = ""


@dataclass(frozen=True)
class Part:
    """Another system inside a network: a section [parts.NAME], which also holds the keys of its model."""

    system: str
    vocabulary: str  # whose tokens it reads
    model: Any


SECTIONS: dict[str, type] = {"data": Data, "tokenizer": Tokenizer, "train": Train, "eval": Eval}
SYSTEM_SECTIONS = {"model": "Config", "objective": "Objective"}  # section -> its dataclass in the system's module


@dataclass(frozen=True)
class Recipe:
    """A recipe, resolved: every key has its value."""

    system: str
    about: str
    data: Data
    tokenizer: Tokenizer
    model: Any
    objective: Any
    train: Train
    eval: Eval
    expected: Expected = field(default_factory=Expected)
    tables: dict[str, Data] = field(default_factory=dict)  # further ones, by name: [data.NAME]
    parts: dict[str, Part] = field(default_factory=dict)  # other systems inside the network, by name: [parts.NAME]

    def flat(self) -> dict[str, Any]:
        """`{"train.steps": 500, …}`: every key with its value."""
        parts = {name: getattr(self, name) for name in (*SECTIONS, *SYSTEM_SECTIONS)}
        parts |= {f"data.{name}": data for name, data in self.tables.items()}
        values = {
            f"{name}.{key.name}": getattr(part, key.name)
            for name, part in parts.items()
            for key in dataclasses.fields(part)
        }
        for name, part in self.parts.items():
            values |= {f"parts.{name}.{key}": value for key, value in _keys_of(part).items()}
        return {"system": self.system} | values

    def toml(self) -> str:
        """The recipe as TOML text that `read` takes back."""
        lines = [f"system = {toml(self.system)}", f"about = {toml(self.about)}"]
        parts = {name: getattr(self, name) for name in ("data", "tokenizer", "model", "objective", "train", "eval")}
        parts |= {"expected": self.expected} | {f"data.{name}": data for name, data in self.tables.items()}
        for name, part in parts.items():
            lines += section_lines(name, part)
        for name, part in self.parts.items():
            lines += ["", f"[parts.{name}]", *(f"{key} = {toml(value)}" for key, value in _keys_of(part).items())]
        return "\n".join(lines) + "\n"


def _keys_of(part: Part) -> dict[str, Any]:
    """All that a section [parts.NAME] says."""
    model = {key.name: getattr(part.model, key.name) for key in dataclasses.fields(part.model)}
    return {"system": part.system, "vocabulary": part.vocabulary, **model}


@dataclass(frozen=True)
class Source:
    """A recipe file as written: its text, and what TOML makes of it."""

    name: str
    text: str

    @cached_property
    def tables(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self.text)
        except (ValueError, RecursionError) as error:  # not TOML; nested too deeply; a number of thousands of digits
            raise UsageError(f"{self.name} is not valid TOML: {error}.") from None

    def line(self, section: str, key: str) -> int:
        """The line on which `key` of `section` stands, for messages."""
        current = ""
        for number, line in enumerate(self.text.splitlines(), 1):
            stripped = line.strip()
            if stripped.startswith("["):
                current = stripped.strip("[] ").split("]")[0]
                if not key and current == section:
                    return number
            elif current == section and stripped.split("=")[0].strip().strip('"') == key:
                return number
        return 0

    def where(self, section: str, key: str) -> str:
        line = self.line(section, key)
        return f"{self.name}, line {line}" if line else self.name


def names() -> list[str]:
    """The recipes that ship with Lexigraph."""
    folder = resources.files("lexigraph") / "recipes"
    return sorted(entry.name[:-5] for entry in folder.iterdir() if entry.name.endswith(".toml"))


def source(name_or_file: str | Path) -> Source:
    """The text of a shipped recipe, or of a .toml file."""
    name = str(name_or_file)
    if name in names():
        text = (resources.files("lexigraph") / "recipes" / f"{name}.toml").read_text(encoding="utf-8")
        return Source(f"recipe {name}", text)
    path = Path(name)
    if path.suffix != ".toml":
        raise UsageError(f"There is no recipe named {name!r}{nearest(name, names())}")
    try:
        return Source(name, path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise LexigraphError(f"The recipe {name} cannot be read: {error}.") from None


def system_of(tables: Mapping[str, Any]) -> str | None:
    """The system that a recipe names; one with a section [words] need not, it is for word vectors."""
    name = tables.get("system", WORD_VECTORS if "words" in tables else None)
    return name if isinstance(name, str) else None


def of_word_vectors(name_or_file: str | Path) -> bool:
    """Whether a recipe trains word vectors, not a network."""
    return system_of(source(name_or_file).tables) in WORD_SYSTEMS


def read(
    name_or_file: str | Path,
    changes: Mapping[str, Any] | None = None,
    *,
    tiny: bool = False,
    upgrade: Callable[[dict[str, Any]], dict[str, Any]] = lambda tables: tables,
) -> Recipe:
    """A recipe by name or file, with `section.key` values changed; `tiny` applies its `[tiny]` table first.

    upgrade: what makes today's tables of an older run's.
    """
    origin = source(name_or_file)
    tables = upgrade({name: value for name, value in origin.tables.items() if name != "tiny"})
    changes = (origin.tables.get("tiny", {}) if tiny else {}) | dict(changes or {})
    return _resolve(origin, tables, changes)


def _resolve(origin: Source, tables: dict[str, Any], changes: dict[str, Any]) -> Recipe:
    name = system_of(tables)
    if name in WORD_SYSTEMS:
        return WORD_SYSTEMS[name].resolve(origin, tables, changes)
    if name is None:
        raise UsageError(f'{origin.name} does not say which system it trains: add a line system = "gpt".')
    try:
        module = system(name).module()
    except UsageError as error:
        raise UsageError(f"{origin.where('', 'system')}: {error}") from None
    kinds = SECTIONS | {part: getattr(module, attribute) for part, attribute in SYSTEM_SECTIONS.items()}
    kinds["expected"] = Expected
    tables, further = _further_tables(tables)
    kinds |= dict.fromkeys(further, Data)
    tables, changes, named = _parts(origin, tables, changes)
    kinds |= {f"parts.{part}": system(given["system"]).module().Config for part, given in named.items()}
    parts = sections(origin, kinds, tables, changes)
    more = {part.removeprefix("data."): parts.pop(part) for part in further}
    inside = {part: Part(model=parts.pop(f"parts.{part}"), **given) for part, given in named.items()}
    recipe = Recipe(system=name, about=str(tables.get("about", "")), tables=more, parts=inside, **parts)
    if recipe.tokenizer.separate:
        _check_separate(
            recipe, "" if "tokenizer.separate" in changes else f"{origin.where('tokenizer', 'separate')}: "
        )
    return recipe


def sections(
    origin: Source, kinds: Mapping[str, type], tables: Mapping[str, Any], changes: Mapping[str, Any]
) -> dict[str, Any]:
    """The sections of a recipe, each as its dataclass, with the changed keys; all of it checked."""
    for key in tables:
        if key not in kinds and key not in ("system", "about"):
            raise UsageError(f"{origin.where(key, '')}: unknown section [{key}]{nearest(key, kinds)}")
    parts: dict[str, Any] = {}
    for part, kind in kinds.items():
        parts[part] = section(origin, part, kind, tables.get(part, {}))
    for dotted, value in changes.items():
        part, _, key = dotted.rpartition(".")
        upgrades.refuse_renamed(dotted, value, part in kinds and key in get_type_hints(kinds[part]), "")
        if part not in kinds or key not in get_type_hints(kinds[part]):
            valid = [f"{s}.{k}" for s, kind in kinds.items() for k in get_type_hints(kind)]
            raise UsageError(f"Unknown key {dotted}{nearest(dotted, valid)}")
        value = typed(value, get_type_hints(kinds[part])[key], dotted, "")
        parts[part] = dataclasses.replace(parts[part], **{key: value})
    for part, values in parts.items():
        _check_ranges(origin, part, values, changes)
    return parts


def _further_tables(tables: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The sections of a recipe with each [data.NAME] as one of its own, and the names of those."""
    data = tables.get("data", {})
    named = [key for key in data if isinstance(data[key], dict) and key not in get_type_hints(Data)]
    flat = {f"data.{name}": data[name] for name in named}
    own = {key: value for key, value in data.items() if key not in named}
    return (tables | {"data": own} | flat) if named else tables, list(flat)


def _parts(
    origin: Source, tables: dict[str, Any], changes: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any], dict[str, dict[str, str]]]:
    """The sections of a recipe with each [parts.NAME] as one of its own, the changes without those that say what a
    part is, and what that is: its system and vocabulary."""
    given = tables.get("parts", {})
    tables = {name: table for name, table in tables.items() if name != "parts"}
    named = dict.fromkeys([*given, *(key.split(".")[1] for key in changes if key.startswith("parts."))])
    facts: dict[str, dict[str, str]] = {}
    for name in named:
        table = {"vocabulary": "text", **given.get(name, {})}
        own = {key: changes.get(f"parts.{name}.{key}", table.pop(key, None)) for key in ("system", "vocabulary")}
        if not isinstance(own["system"], str):
            where = f"{origin.where(f'parts.{name}', '')}: " if name in given else ""
            raise UsageError(
                f'{where}parts.{name} does not say which system it is: add parts.{name}.system = "bert".'
            )
        facts[name], tables[f"parts.{name}"] = {key: str(value) for key, value in own.items()}, table
    said = {f"parts.{name}.{key}" for name, own in facts.items() for key in own}
    return tables, {key: value for key, value in changes.items() if key not in said}, facts


def _check_ranges(origin: Source, part: str, values: Any, changes: Mapping[str, Any]) -> None:
    """Refuse numbers that make no sense."""
    for key in dataclasses.fields(values):
        low, high = key.metadata.get("range", (-math.inf, math.inf))
        value = getattr(values, key.name)
        numbers = value if isinstance(value, tuple) else [value]
        if "range" in key.metadata and not all(low <= number <= high for number in numbers):
            dotted = f"{part}.{key.name}"
            where = "" if dotted in changes else f"{origin.where(part, key.name)}: "
            limits = f"at least {low}" if high == math.inf else f"from {low} to {high:.15g}"
            raise UsageError(f"{where}{dotted} must be {limits}, not {value}.")


def _check_separate(recipe: Recipe, where: str) -> None:
    """A vocabulary for each side is for systems that have two sides."""
    columns = system(recipe.system).network_class().columns(recipe)
    if len({column.vocabulary for column in columns.values() if column.kind == "tokens"}) < 2:
        raise UsageError(
            f"{where}This {recipe.system} model has one vocabulary for all that it reads and writes: leave out "
            "tokenizer.separate, which is for translators."
        )


def settings(assignments: list[str]) -> dict[str, Any]:
    """`["train.steps=500"]` from the command line as `{"train.steps": 500}`."""
    changes = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        if not equals:
            raise UsageError(f"--set takes section.key=value, as in --set train.steps=500, not {assignment!r}.")
        changes[key.strip()] = parsed(text.strip())
    return changes


def differences(old: Recipe, new: Recipe) -> Iterator[str]:
    """What changed between two recipes, a line each: `train.lr: 0.001 became 0.002`."""
    before, after = old.flat(), new.flat()
    for key in before | after:
        if before.get(key) != after.get(key):
            yield f"{key}: {before.get(key)!r} became {after.get(key)!r}"
