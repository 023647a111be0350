"""The sections of a recipe that every network has: frozen dataclasses, each key with its default, range and meaning.

The phrase beside a key is the only place where it is described: `lexigraph explain KEY`, `lexigraph recipes NAME
--keys` and the pages of docs/reference/ are made from it. Systems describe the keys of [model] and [objective] in the
same way, in their own modules, and word vectors those of [words] in words/settings.py.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

T = TypeVar("T")


def key(default: T, *, about: str) -> T:
    """A key of a recipe and what it means, in a short phrase."""
    if isinstance(default, dict):
        factory: Any = default.copy
        return field(default_factory=factory, metadata={"about": about})
    return field(default=default, metadata={"about": about})


def ranged(default: T, low: float, high: float = math.inf, *, about: str) -> T:
    """A key with numbers from `low` to `high`; of a list, each one counts."""
    return field(default=default, metadata={"range": (low, high), "about": about})


def same(kind: type, name: str) -> Any:
    """A key as another section has it: its default, range and meaning."""
    found = next(each for each in dataclasses.fields(kind) if each.name == name)
    return field(default=found.default, default_factory=found.default_factory, metadata=found.metadata)


@dataclass(frozen=True)
class Data:
    """Which text, and how it is cut into examples."""

    train: str | tuple[str, ...] = key(
        "",
        about="the training text: files, folders, patterns, a built-in corpus (grammar, sentiment), or anbn:100 …",
    )
    valid: str | tuple[str, ...] = key("", about="the validation text; empty: taken from `train` as `split` says")
    test: str | tuple[str, ...] = key("", about="the test text; empty: taken from `train` as `split` says")
    split: tuple[float, ...] = key(
        (0.9, 0.05, 0.05), about="shares of training, validation and test when there is one file"
    )
    unit: Literal["line", "stream"] = key(
        "line", about="what an example is: a line of a file, or a window of one long stream"
    )
    split_sentences: bool = key(False, about="cut running text into sentences, each an example")
    documents: str = key("none", about="where documents begin: none, line, blank, file, or a column's name")
    encoding: str = key(
        "auto", about="of text that is neither UTF-8 nor has a byte order mark: cp1252 …; auto: refused"
    )
    columns: dict[str, str] = key({}, about='our column → the file\'s field: {source = "de", target = "en"}')
    prefixes: dict[str, str] = key(
        {},
        about='of pairs of several tasks: the text before the sources of each, {ask = "ask: "}; not named: a token',
    )
    task_temperature: float = ranged(
        1.0,
        1e-3,
        about="of several tasks: the share of each is as min(examples, task_limit)^(1 / this); 1: as they are",
    )
    task_limit: int = ranged(
        0, 0, about="of several tasks: one with more examples counts as one with so many; 0: none"
    )
    clean: tuple[str, ...] = key((), about="cleaning rules, in order (docs/data.md lists them)")
    rare: tuple[int, ...] = ranged((), 0, about="cleaning in stages: words seen at most so often are dropped")
    max_words: tuple[int, ...] = ranged((), 1, about="after each stage of `rare`: lines of more words are dropped")
    dictionary: str = key("", about="for the cleaning rule of that name: a file with one word a line")
    window: int = ranged(0, 0, about="tokens per window of a stream; 0: the model's context")
    max_chars: int = ranged(1_000_000, 1, about="a line of more characters is refused: it is rarely a sentence")
    side: int = ranged(
        0,
        0,
        4096,
        about="files of pictures: the square in their middle, scaled to so many dots a side; 0: as they are",
    )
    sentences: int = ranged(
        60_000, 1, 1e9, about="how many sentences the built-in corpus, or a language as anbn:100, yields at most"
    )
    batch_tokens: int = ranged(
        0, 0, about="of a further table [data.NAME]: its tokens per step; 0: as train.batch_tokens"
    )
    mixing: Literal["together", "in turn"] = key(
        "together", about="of several tables: each step takes rows of all of them, or of one"
    )
    turns: dict[str, int] = key({}, about="of tables in turn: how often each has its turn; a table not named: once")


@dataclass(frozen=True)
class Tokenizer:
    """How text becomes ids."""

    kind: Literal["char", "word", "bpe", "wordpiece", "unigram", "sentencepiece", "imported"] = key(
        "bpe", about="what a token is: a character, a word, or a subword found by one of these methods"
    )
    size: int = ranged(4096, 1, 10_000_000, about="entries of the vocabulary at most, special tokens included")
    lower: bool = key(False, about="lower-case all text first; letter case cannot be given back then")
    marked_capitals: bool = key(
        False, about="bpe: a capital is a mark and the small letter, so that a word's tokens are the same everywhere"
    )
    min_count: int = ranged(1, 1, about="words or characters seen less often become <unk>")
    special: tuple[str, ...] = key((), about="further special tokens, by name: <mask>, <cls>, <sep>, <0>, <1> …")
    separate: bool = key(
        False, about="of pairs: a vocabulary of `size` for the sources, which has `special`, and one for the targets"
    )


@dataclass(frozen=True)
class Train:
    """The loop: how long, how fast, on what, and when to validate."""

    steps: int = ranged(1000, 1, about="optimizer steps")
    epochs: float = ranged(
        0.0,
        0,
        about="passes over the data, in the place of `steps`; 0: `steps` decides, as where --set has `steps` alone",
    )
    batch_tokens: int = ranged(4096, 1, 1e9, about="tokens per step over all processes, padding included")
    short_steps: int = ranged(
        0,
        0,
        about="of a stream: the first so many steps read windows of short_window tokens; 0: none",
    )
    short_window: int = ranged(64, 1, about="tokens of a window in the first short_steps steps")
    accumulate: int = ranged(1, 1, 1_000_000, about="micro-batches per step: the same result in less memory")
    batch_growth: int = ranged(
        1, 1, 1024, about="batches in a step at the end: one in the first part of the training, two in the second …"
    )
    seed: int = ranged(0, 0, 2**48, about="seed of all that is drawn at random: weights, order, dropout, corruption")
    optimizer: Literal["sgd", "rmsprop", "adam", "adamw", "muon"] = key("adamw", about="how gradients become steps")
    lr: float = ranged(1e-3, 0, 1000, about="the learning rate at its highest")
    adam_share: float = ranged(0.5, 0, about="muon: what is no matrix is trained by Adam, at this share of lr")
    betas: tuple[float, float] = ranged(
        (0.9, 0.95), 0, 0.999999, about="adam: how much of their running means gradient and squared gradient keep"
    )
    eps: float = ranged(1e-8, 0, about="adam and rmsprop: added to the root of the mean squared gradient")
    momentum: float = ranged(0.0, 0, 0.999999, about="sgd and rmsprop: the share of the last step that is kept")
    nesterov: bool = key(True, about="sgd: take the gradient's step where the momentum will have gone")
    rmsprop_decay: float = ranged(
        0.99, 0, 0.999999, about="rmsprop: the share that its running mean of squared gradients keeps in a step"
    )
    weight_decay: float = ranged(0.0, 0, 1000, about="decay of the weights of matrices, never of biases and norms")
    schedule: Literal["constant", "linear", "cosine", "inverse-sqrt"] = key(
        "cosine", about="how the learning rate falls after the warm-up"
    )
    warmup: int = ranged(100, 0, about="steps over which the learning rate rises linearly from 0 to lr")
    restart_every: int = ranged(0, 0, about="inverse-sqrt: warm up again every so many steps; 0: never")
    final_lr: float = ranged(0.1, 0, about="where the schedules cosine and linear end, as a share of lr")
    lr_scale: dict[str, float] = key(
        {}, about="parts of the network with a multiple of lr of their own: {reader = 0.1}; 0: not trained"
    )
    layer_decay: float = ranged(
        1.0,
        0.001,
        1,
        about="fine-tuning: each layer of a reader learns at this share of the rate of the one above; 1: all alike",
    )
    unfreeze_every: int = ranged(
        0, 0, about="fine-tuning: one more layer is trained every so many steps, from the top; 0: all from the first"
    )
    clip: float = ranged(1.0, 0, about="the largest gradient norm; 0: no clipping")
    clip_value: float = ranged(
        0.0, 0, about="the largest entry of a gradient, cut off before its norm is taken; 0: no clipping"
    )
    average: float = ranged(
        0.0,
        0,
        0.999999,
        about="keep a moving average of the weights, of which a step keeps this share; 0: the weights",
    )
    precision: Literal["auto", "fp32", "bf16", "fp16"] = key(
        "auto", about="the numbers that are computed with; auto: bf16 on CUDA, else fp32"
    )
    device: str = key("auto", about="where it is trained: cpu, cuda, mps; auto: CUDA, then MPS, then CPU")
    compile: bool = key(False, about="torch.compile: slow to start, faster after")
    cuda_graphs: bool = key(False, about="record the CUDA kernels of each shape of batch once, and replay them")
    deterministic: bool = key(False, about="bit-exact resume on CUDA too, a little slower")
    parallel: Literal["ddp", "fully_shard", "pipeline"] = key(
        "ddp",
        about="under torchrun: every process holds the whole model, a shard of each weight, or some of the layers",
    )
    validate_every: int = ranged(0, 0, about="steps between validations; 0: ten validations a run")
    checkpoint_every: int = ranged(0, 0, about="steps between checkpoints; 0: as validate_every")
    snapshots: tuple[float, ...] = ranged(
        (), 0, about="epochs after which the weights are kept beside the best: [1, 3, 10] (look --samples)"
    )
    patience: int = ranged(0, 0, about="validations without a better one before it stops; 0: never")
    metric: str = key("loss", about="the score of a validation by which the best weights are kept")
    log_every: int = ranged(10, 1, about="steps between lines of log.jsonl")
    tensorboard: bool = key(True, about="also write curves for TensorBoard")


@dataclass(frozen=True)
class Eval:
    """How validation and test are measured."""

    batch_tokens: int = ranged(16384, 1, 1e9, about="tokens per batch, padding included")
    streams: int = ranged(8, 1, 1_000_000, about="parallel streams in which systems with memory read; 1 is exact")
    max_tokens: int = ranged(0, 0, about="validate on the first so many tokens during training; 0: all")
    sentences: int = ranged(2000, 0, about="autoencoders: held-out sentences that are decoded for exact match")
    measures: tuple[Literal["rouge", "answers"], ...] = key(
        (),
        about="pairs: also ROUGE of what is written and of the first and longest sentences; F1 of words of answers",
    )
    mixture: int = ranged(
        20_000, 0, about="autoencoders: training sentences that the mixture for `sample` is fitted to; 0: none"
    )


@dataclass(frozen=True)
class Expected:
    """The score that the recipe reaches, and where."""

    metric: str = key("", about="which score is stated")
    value: float = key(0.0, about="the score that the recipe reaches")
    tolerance: float = key(0.0, about="how far from it a run may end")
    data: str = key("", about="the data that it was measured on")


SECTIONS: dict[str, type] = {"data": Data, "tokenizer": Tokenizer, "train": Train, "eval": Eval}
