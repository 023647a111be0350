"""Lexigraph: sequence models on your own text, from word vectors to transformers.

    import lexigraph

    model = lexigraph.train("gpt", data="my.txt", out="runs/gpt")
    model.generate(["once upon"])

The public names are loaded when they are first used, so that `import lexigraph` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from lexigraph.abilities.textmodel import TextModel
    from lexigraph.api import evaluate
    from lexigraph.comparison import compare
    from lexigraph.entry import load, train
    from lexigraph.errors import LexigraphError
    from lexigraph.evaluation.latent.replay import replay
    from lexigraph.searching import search
    from lexigraph.text.check import check
    from lexigraph.text.tokenizer import Tokenizer
    from lexigraph.words.ngram import NgramModel
    from lexigraph.words.vectors import WordVectors

_HOMES = {
    "train": "lexigraph.entry",
    "load": "lexigraph.entry",
    "evaluate": "lexigraph.api",
    "compare": "lexigraph.comparison",
    "replay": "lexigraph.evaluation.latent.replay",
    "check": "lexigraph.text.check",
    "search": "lexigraph.searching",
    "Tokenizer": "lexigraph.text.tokenizer",
    "TextModel": "lexigraph.abilities.textmodel",
    "WordVectors": "lexigraph.words.vectors",
    "NgramModel": "lexigraph.words.ngram",
    "LexigraphError": "lexigraph.errors",
}
__all__ = ["LexigraphError", "NgramModel", "TextModel", "Tokenizer", "WordVectors", "__version__", "check",
           "compare", "evaluate", "load", "replay", "search", "train"]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'lexigraph' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
