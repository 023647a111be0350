"""Search and text side by side: what a wider beam buys, and how model text differs from human text.

A language model's texts are cut after their first tokens; it continues from there, and the true rest is the
reference. Texts without a rest are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean

import numpy as np

from lexigraph.abilities.language import LanguageModel
from lexigraph.decoding.degeneration import distinct, longest_loop, profile, repetition
from lexigraph.decoding.diagnose import Trial, beam_table
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.decoding.scoring import token_log_probabilities

BEAM_COLUMNS = ("beam", "BLEU", "log p", "score", "tokens", "seconds")
TEXT_COLUMNS = (
    "text",
    "tokens",
    "repeated 1-grams",
    "repeated 4-grams",
    "distinct-2",
    "loops",
    "p per token",
    "5–95 %",
)


def beam_rows(trial: Trial, widths: Sequence[int]) -> list[tuple[str, ...]]:
    """Quality (BLEU against the right texts, sacreBLEU 13a), score and time against beam width."""
    from sacrebleu import corpus_bleu

    def bleu(found: Sequence[Hypothesis]) -> float:
        return corpus_bleu([trial.decode(h.tokens) for h in found], [trial.texts]).score

    return [
        (str(row.width), f"{row.quality:.2f}", f"{row.log_probability:.3f}", f"{row.score:.3f}", f"{row.length:.1f}",
         f"{row.seconds:.2f}")
        for row in beam_table(trial.search, bleu, widths)
    ]  # fmt: skip


@dataclass(frozen=True)
class _Text:
    """A text as the model writes it."""

    tokens: list[int]
    given: int  # the first so many are the prompt, which is not judged
    ended: bool  # whether its end was written, or writing was cut off


def text_rows(
    model: LanguageModel, texts: Sequence[str], *, prompt_tokens: int = 3, max_new: int = 60
) -> list[tuple[str, ...]]:
    """Repetition, variety and per-token probability of human, beam and sampled text after the same beginnings."""
    human = [row.tolist() for row in model.rows(model.longer(texts, prompt_tokens))[0]]
    prompts = [model.tokenizer.decode(row[:prompt_tokens]) for row in human]
    given = [row.tolist() for row in model.rows(prompts)[0]]

    continued = partial(model.continuations, prompts, max_new=max_new)

    def written(found: Sequence[Hypothesis]) -> list[_Text]:
        return [_Text([*row, *h.tokens], len(row), h.finished) for row, h in zip(given, found, strict=True)]

    kinds = {
        "human": [_Text(row, prompt_tokens, ended=True) for row in human],
        "beam 5": written(continued(beam=5)),
        "greedy": written(continued(temperature=0)),
        "sampled": written(continued(temperature=1.0)),
        "sampled, top-p 0.9": written(continued(temperature=1.0, top_p=0.9)),
    }
    return [_text_row(model, kind, made) for kind, made in kinds.items()]


def _text_row(model: LanguageModel, kind: str, texts: Sequence[_Text]) -> tuple[str, ...]:
    ids = [text.tokens for text in texts]
    rates = [repetition(row) for row in ids]
    loops = [longest_loop(row) for row in ids]
    begin, eos = model.tokenizer.begin, model.tokenizer.eos
    sequences = [np.array([begin, *text.tokens] + [eos] * text.ended) for text in texts]
    scores = token_log_probabilities(model.network, sequences, model.device)
    made = profile([values[text.given :].tolist() for text, values in zip(texts, scores, strict=True)], (0.05, 0.95))
    low, high = made.quantiles.values()
    return (
        kind,
        f"{fmean(map(len, ids)):.1f}",
        f"{fmean(rate[1] for rate in rates):.1%}",
        f"{fmean(rate[4] for rate in rates):.1%}",
        f"{distinct(ids, 2):.3f}",
        f"{sum(loop is not None and loop.copies > 2 for loop in loops)}",
        f"e^{made.mean:.2f}",
        f"e^{low:.2f} … e^{high:.2f}",
    )
