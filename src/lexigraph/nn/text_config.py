"""How texts become vectors (text_vectors.py), as recipes say it: the keys, and what does not go together."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from lexigraph.errors import UsageError
from lexigraph.nn.network import LanguageNetwork, MaskFiller, Reader
from lexigraph.sections import key, ranged
from lexigraph.text.vocabularies import TEXT, VECTORS

RECURRENT = ("rnn", "gru", "lstm")


@dataclass(frozen=True)
class TextConfig:
    encoder: Literal["bag", "cnn", "rnn", "gru", "lstm"] = key(
        "lstm",
        about="what sees the words around a word: nothing, filters over several widths, or a recurrent network",
    )
    pooling: Literal["last", "mean", "max", "attention", "summary"] = key(
        "max",
        about="how the states of all words become one vector; summary: what a part says of all (BERT's first state)",
    )
    pairs: Literal["none", "together", "apart"] = key(
        "none",
        about="an example is a text, or two: read by a part as one (together), or each with a vector (apart)",
    )
    symmetric: bool = key(False, about="of a pair: read in both orders, and the mean of both vectors taken")
    embedding: int = ranged(
        100, 0, about="numbers in the vector of a token, where no part reads for it; 0: one-hot, no vectors"
    )
    vectors: int = ranged(
        0, 0, about="numbers in a word's own vector, in the place of a token's; 0: none. `--from my.vec` sets it"
    )
    tuned: bool = key(True, about="own vectors: trained with the rest; else they stay as they came")
    joined: Literal["instead", "summed"] = key(
        "instead", about="own vectors stand in the place of those of tokens, or are added to them, which begin at 0"
    )
    dim: int = ranged(128, 1, about="numbers in a recurrent state in each direction; filters of each width")
    layers: int = ranged(1, 1, about="recurrent layers, one above the other")
    bidirectional: bool = key(True, about="recurrent: read from both ends")
    widths: tuple[int, ...] = ranged((3, 4, 5), 1, 1000, about="cnn: how many words the filters see")
    hidden: tuple[int, ...] = ranged(
        (), 1, about="numbers in each layer between the text's vector and the output; none: []"
    )
    activation: Literal["relu", "tanh"] = key("relu", about="function of the layers in `hidden`; BERT's pooler: tanh")
    reader_layers: tuple[int, ...] = key(
        (),
        about="layers of a part that are mixed, by weights that are learned; 0: what goes in; none: the last alone",
    )
    word_dropout: float = ranged(
        0.0, 0, 0.999, about="share of the tokens that are read as unknown, in training; not by a part"
    )
    dropout: float = ranged(
        0.3, 0, 0.999, about="share of the numbers set to 0 on embeddings, between layers and on the text's vector"
    )


@dataclass(frozen=True)
class TextObjective:
    auxiliary: float = ranged(
        0.0, 0, about="weight of a second loss, of the next token: if a language model reads (Radford et al.: 0.5)"
    )


def vocabulary_of(config: TextConfig) -> str:
    """The vocabulary that texts are read with: of all words with a vector of their own, where there are only such."""
    return VECTORS if config.vectors and not summed(config) else TEXT


def summed(config: TextConfig) -> bool:
    """Whether a word has two vectors, which are added."""
    return bool(config.vectors) and config.joined == "summed"


def check(config: TextConfig, reader: Reader | None, auxiliary: float) -> None:
    """Refuse settings that do not go together."""
    if reader and config.vectors:
        raise UsageError("Words are read by a part or have vectors of their own, not both: model.vectors = 0.")
    if config.encoder == "cnn" and not config.widths:
        raise UsageError('model.widths is empty: say how many words the filters of a "cnn" see.')
    if config.pooling == "last" and config.encoder not in RECURRENT and not reader:
        raise UsageError(
            f'model.pooling = "last" is for encoders that read in order, and "{config.encoder}" does not: take '
            '"mean", "max" or "attention", or model.encoder = "lstm".'
        )
    if config.pooling == "attention" and reader and reader.reads_words:
        raise UsageError("A part that reads words by their letters leaves no tokens to show: pool by mean or max.")
    if reader and reader.reads_words and (config.pairs == "together" or config.pooling == "summary"):
        raise UsageError(
            "A part that reads words by their letters reads one text at a time and has no summary of it: set "
            'model.pooling = "mean" or "max", and for pairs model.pairs = "apart".'
        )
    if config.pooling == "summary" and (reader is None or config.encoder != "bag"):
        raise UsageError(
            'model.pooling = "summary" takes what a part sums a text up by, with nothing between: name a run that '
            'reads (--from RUN), or [parts.reader] in the recipe, and set model.encoder = "bag".'
        )
    if config.symmetric and config.pairs == "none":
        raise UsageError('model.symmetric is for pairs: set model.pairs = "together" or "apart".')
    if not auxiliary:
        return
    if not isinstance(reader, LanguageNetwork) or isinstance(reader, MaskFiller):
        raise UsageError(
            "objective.auxiliary trains a part that is a language model (gpt, rnn-lm, nplm) to predict the text as "
            "well: name such a run (--from RUN), or leave it at 0."
        )
    if config.reader_layers:
        raise UsageError("objective.auxiliary predicts from the last layer: leave model.reader_layers empty.")
