"""Every system in one visible dictionary: its name, where its class lives, and what it can do.

A system is found here and nowhere else. To add one: write `models/<system>.py`, add a line below and a
recipe in `recipes/`; the contract tests then cover it by themselves. A system that cannot keep a contract
names it in `exempt` together with the reason; a test refuses an exemption without one.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lexigraph.errors import UsageError

CONTRACTS = (
    "resume",  # N steps = k steps, kill, resume, N - k steps, bit for bit
    "batch-invariance",  # alone or in a padded batch: the same outputs
    "cache",  # stepping = one full pass
    "accumulation",  # one batch = many micro-batches = many processes
    "causality",  # outputs at t do not see tokens after t
    "gradients",  # every parameter gets one
    "overfit",  # eight sentences are learned by heart
    "save-load",  # a saved model gives the same outputs
)


@dataclass(frozen=True)
class System:
    """The class that builds the network, and what comes of it."""

    path: str  # "module:Class", imported only when the system is used
    abilities: tuple[str, ...]  # what a trained model can do: methods of TextModel, verbs of the command line
    task: str = "language"  # how it is measured: a module of evaluation/
    separate: bool = False  # whether sources and targets may have a vocabulary each (tokenizer.separate)
    exempt: dict[str, str] = field(default_factory=dict)  # contract -> why it cannot hold

    def module(self) -> Any:
        """The module, which holds the network's class and its `Config` and `Objective`."""
        return importlib.import_module(self.path.split(":")[0])

    def load(self) -> Any:
        """The network's class."""
        return getattr(self.module(), self.path.split(":")[1])


LANGUAGE_MODEL = ("generate", "complete", "score", "rank")
AUTOENCODER = ("encode", "decode", "blend", "solve", "sample", "neighbours", "score")
PICTURES = (*AUTOENCODER[:2], "pictures", "read", *AUTOENCODER[2:])
ENCODER = ("fill", "encode", "neighbours")
SEES_ALL = {
    "causality": "every place sees the whole text, before and after it",
    "cache": "it guesses hidden tokens all at once and writes no text step by step",
}
TRANSLATOR = ("translate", "score")
READS_IT_FIRST = {"causality": "the encoder reads the whole sentence before the decoder writes it"}

SYSTEMS: dict[str, System] = {
    "gpt": System("lexigraph.models.gpt:GPT", LANGUAGE_MODEL),
    "lstm-lm": System("lexigraph.models.lstm_lm:LSTMLanguageModel", LANGUAGE_MODEL),
    "nplm": System("lexigraph.models.nplm:NPLM", LANGUAGE_MODEL),
    "xlnet": System("lexigraph.models.xlnet:XLNet", (*LANGUAGE_MODEL, "fill"), task="masked"),
    "bert": System("lexigraph.models.bert:BERT", ENCODER, task="masked", exempt=SEES_ALL),
    "electra": System("lexigraph.models.electra:ELECTRA", ENCODER, task="masked", exempt=SEES_ALL),
    "transformer": System("lexigraph.models.transformer:Transformer", TRANSLATOR, task="translation", separate=True),
    "bart": System("lexigraph.models.bart:BART", TRANSLATOR, task="translation"),
    "t5": System("lexigraph.models.t5:T5", TRANSLATOR, task="translation"),
    "lstm-autoencoder": System(
        "lexigraph.models.lstm_autoencoder:LSTMAutoencoder",
        AUTOENCODER,
        task="reconstruction",
        exempt=READS_IT_FIRST,
    ),
    "picture": System(
        "lexigraph.models.picture:PictureAutoencoder", PICTURES, task="reconstruction", exempt=READS_IT_FIRST
    ),
}


def system(name: str) -> System:
    """The system of that name, or an error that names the nearest one."""
    if name not in SYSTEMS:
        raise UsageError(f"There is no system named {name!r}{nearest(name, SYSTEMS)}")
    return SYSTEMS[name]


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'x'?` for an error message, or the whole list when nothing is near."""
    names = sorted(names)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; there are: {', '.join(names)}"
