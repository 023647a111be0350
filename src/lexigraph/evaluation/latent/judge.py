"""An independent language model as the judge of fluency: NLL per token, and how high it may be at each length.

A text is unfit if its perplexity per token (judge tokens, the end included) lies above the 95th percentile of real
sentences of the same length. Where a length has fewer than `FEWEST` real sentences, the lengths next to it on both
sides are pooled with it, one more at a time, until there are enough, or all are in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.latent.sentences import Mean, Means, mean

FEWEST = 100  # real sentences behind a percentile
PERCENTILE = 0.95


def checked(judge: TextModel) -> LanguageModel:
    """The judge; refuses what is no language model: an autoencoder scores a text that it has already seen."""
    if not isinstance(judge, LanguageModel):
        raise UsageError(
            f"The judge must be a language model, such as gpt or lstm-lm; a {judge.recipe.system} model cannot judge "
            "texts that it has not seen."
        )
    return judge


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What a judge thinks of some texts."""

    nll: Float[np.ndarray, " n"]  # nats of the whole text, its end included
    tokens: Int[np.ndarray, " n"]  # of the judge

    @property
    def per_token(self) -> Float[np.ndarray, " n"]:
        return self.nll / self.tokens


def judged(judge: LanguageModel, texts: Sequence[str]) -> Verdicts:
    """NLL and tokens of each text."""
    scores = judge.token_scores(texts) if len(texts) else []
    return Verdicts(np.array([-float(row.sum()) for row in scores]), np.array([len(row) for row in scores], np.int64))


def ceiling(real: Verdicts, length: int, fewest: int = FEWEST) -> float:
    """The NLL per token above which a text of so many tokens is unlike real ones."""
    if not len(real.nll):
        raise LexigraphError("A percentile needs real sentences, and none were given.")
    wanted = min(fewest, len(real.nll))
    distance = np.abs(real.tokens - length)
    width = int(np.sort(distance)[wanted - 1])  # the least window that holds enough
    return float(np.quantile(real.per_token[distance <= width], PERCENTILE))


def unlike(real: Verdicts, found: Verdicts) -> np.ndarray:
    """Which of the texts lie above the ceiling of their length."""
    ceilings = {length: ceiling(real, length) for length in set(found.tokens.tolist())}
    limits = np.array([ceilings[length] for length in found.tokens.tolist()])
    return found.per_token > limits


def fluency(judge: LanguageModel, found: Sequence[str], real: Sequence[str]) -> Means:
    """Perplexity of texts and of real sentences, and their ratio; its interval joins the far ends of both."""
    texts, sentences = judged(judge, found), judged(judge, real)
    ours, theirs = mean(texts.nll, texts.tokens), mean(sentences.nll, sentences.tokens)
    result = {"perplexity": _exponential(ours), "perplexity_of_real": _exponential(theirs)}
    if ours["value"] is None or theirs["value"] is None:
        return result
    ends = [np.exp(ours["interval"][i] - theirs["interval"][1 - i]) for i in (0, 1)] if (
        ours["interval"] and theirs["interval"]) else []  # fmt: skip
    ratio: Mean = {
        "value": float(np.exp(ours["value"] - theirs["value"])),
        "interval": list(map(float, ends)),
        "rows": ours["rows"],
    }
    return result | {"ratio": ratio}


def _exponential(figure: Mean) -> Mean:
    if figure["value"] is None:
        return figure
    value, *ends = (float(np.exp(min(nll, 700.0))) for nll in (figure["value"], *figure["interval"]))
    return {"value": value, "interval": ends, "rows": figure["rows"]}
