"""TextModel = network + tokenizer: the methods that users call, on text.

An ability is a method. A system offers those that it can; any other answers with an error that lists what this
system can do. CLI verbs and HTTP routes have the same names. The abilities themselves are in abilities/.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.abilities.translating import Translator
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.linear import quantise
from lexigraph.recipe import Recipe
from lexigraph.registry import nearest, system
from lexigraph.run import Run
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.training.checkpoint import load_weights
from lexigraph.training.distribution import choose_device

ABILITIES = (
    *("encode", "decode", "pictures", "read", "blend", "solve", "sample", "neighbours"),
    *("generate", "complete", "score", "rank", "translate", "fill", "tag", "classify"),
    *("answer", "parse", "caption", "match"),
)
TOKENIZER, SOURCE_TOKENIZER = "tokenizer.json", "source-tokenizer.json"


class TextModel(LanguageModel, Translator, SentenceSpace):
    """A trained model. Make one with `lexigraph.load` or `lexigraph.train`."""

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto", int8: bool = False) -> TextModel:
        """The model in a run folder; `int8`: on the CPU, with products in 8 bits."""
        run = Run.open(folder)
        recipe = run.recipe()
        tokenizer, source_tokenizer = load_tokenizers(run.path, recipe)
        network = build(recipe, tokenizer, source_tokenizer)
        if not run.finished and not (run.path / "model.safetensors").exists():
            raise LexigraphError(f"{run.path} is not trained yet: lexigraph train --out {run.path} --resume goes on.")
        load_weights(network, run.path / "model.safetensors")
        chosen = choose_device(device)
        if device == "auto" and (int8 or chosen.type == "mps"):
            chosen = torch.device("cpu")  # searches sum in float64, which MPS does not have
        model = cls(network.to(chosen), tokenizer, recipe, run.path, source_tokenizer)
        return model.quantise() if int8 else model

    def quantise(self) -> TextModel:
        """Multiply in 8 bits from now on (nn/linear.py): faster on a CPU, and a little less exact."""
        if self.device.type != "cpu":
            raise UsageError(f"8-bit products are for the CPU, and this model is on {self.device}.")
        self.int8 = quantise(self.network) > 0
        return self

    def score(
        self, texts: str | Sequence[str], *, ended: bool = True, sources: str | Sequence[str] | None = None
    ) -> list[float]:
        """Natural-log probability of each text, its end included; `ended=False` scores the text as a beginning.

        sources: of a translator, what each text is to be a translation of.
        """
        self._require("score")
        if ("translate" in self.abilities) != (sources is not None):
            how = "translations: give sources" if sources is None else "texts alone: leave out sources"
            raise UsageError(f"A {self.recipe.system} model scores {how}.")
        if sources is not None:
            both = ([side] if isinstance(side, str) else list(side) for side in (sources, texts))
            return self._pair_scores(*both)
        if "encode" in self.abilities:  # of each text given its own vector
            if not ended:
                raise UsageError("An autoencoder scores whole sentences only: leave out ended=False (--prefix).")
            rows = self._sentences(texts)
            return self.space.log_probabilities(self.space.encode(rows), rows).tolist()
        return [float(values.sum()) for values in self.token_scores(texts, ended=ended)]

    def __getattr__(self, name: str) -> Any:
        if name in ABILITIES:
            self._require(name)
        raise AttributeError(f"TextModel has no attribute {name!r}{nearest(name, ABILITIES)}")

    def __repr__(self) -> str:
        count = sum(p.numel() for p in self.network.parameters())
        return f"TextModel({self.recipe.system}, {count:,} parameters, can {', '.join(self.abilities)})"


def load_tokenizers(folder: Path, recipe: Recipe) -> tuple[Tokenizer, Tokenizer]:
    """The tokenizer of a run's texts or targets, and that of its sources: the same one, unless they are separate."""
    tokenizer = Tokenizer.load(folder / TOKENIZER)
    return tokenizer, Tokenizer.load(folder / SOURCE_TOKENIZER) if recipe.tokenizer.separate else tokenizer


def build(recipe: Recipe, tokenizer: Tokenizer, source_tokenizer: Tokenizer | None = None) -> Any:
    """The untrained network of a recipe; with tokenizer.separate, sources have a tokenizer of their own."""
    more: dict[str, int] = {}
    if recipe.tokenizer.separate:
        if source_tokenizer is None:
            raise LexigraphError("With tokenizer.separate a network needs the tokenizer of its sources, too.")
        more["source_vocabulary"] = len(source_tokenizer)
    network = system(recipe.system).load()(recipe.model, recipe.objective, len(tokenizer), tokenizer.pad, **more)
    if hasattr(network, "learn_vocabulary"):  # what it must know of tokens besides their number
        network.learn_vocabulary(tokenizer)
    return network
