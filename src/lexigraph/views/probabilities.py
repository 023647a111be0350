"""How probable a language model finds each token of a text, and what it would rather have read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.views.picture import WIDE, Picture, coloured, made_by, shown, text_figure
from lexigraph.views.report import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAD = (
    "The redder a token, the less probable it was after those before it. Point at one or touch it to see its "
    "probability and what the model held for more probable."
)
END = "<eos>"
REDDEST = 12.0  # bits: one in 4,096
MOST_CHARS = 2000  # of a text in a picture; a page shows all of it


@dataclass(frozen=True)
class Surprise:
    """One token of a text: how probable it was, and the most probable ones in its place."""

    token: str
    probability: float
    alternatives: list[tuple[str, float]]


def along(model: TextModel, text: str, count: int = 5) -> list[Surprise]:
    """Every token of a text, its end included, with so many alternatives."""
    if not isinstance(model, LanguageModel):
        raise UsageError(f"This {model.recipe.system} model does not predict one token after another.")
    eos, row = model.tokenizer.eos, model.rows([text])[0][0]
    with torch.inference_mode():
        batch = model.network.prepare_in_order({"text": [np.array([eos, *row, eos])]}).to(model.device)
        p = model.network.outputs(batch)["text"][0].float().softmax(1).cpu()
    tokens = [*model.tokenizer.tokens(row.tolist()), END]
    names = model.tokenizer.tokens(range(len(model.tokenizer)))
    names[eos] = END
    best = p.topk(min(count, p.shape[1]), dim=1)
    found = []
    for t, (token, wanted) in enumerate(zip(tokens, [*row.tolist(), eos], strict=True)):
        others = zip(best.indices[t].tolist(), best.values[t].tolist(), strict=True)
        found.append(Surprise(token, float(p[t, wanted]), [(names[i], share) for i, share in others]))
    return found


def picture(model: TextModel, found: Sequence[Surprise]) -> Picture:
    """The text in colours; on a page, each token in full."""
    bits = [-np.log2(max(each.probability, 1e-12)) for each in found]
    tokens, values = [each.token for each in found], [-b / REDDEST for b in bits]
    mean = f"{np.mean(bits):.2f} bits a token, {len(found):,} tokens"

    def figure() -> Figure:
        if (count := sum(map(len, tokens))) > MOST_CHARS:
            raise UsageError(
                f"The text has {count:,} letters, and a picture holds {MOST_CHARS:,}: make a page, .html."
            )
        return text_figure({f"{mean}; redder: less probable": (tokens, values)}, MOST_CHARS)

    def sections() -> Mapping[str, str]:
        others = [", ".join(f"{shown(token)} {share:.1%}" for token, share in each.alternatives) for each in found]
        titles = [
            f"{each.probability:.1%}, {b:.2f} bits; most probable: {other}"
            for each, b, other in zip(found, bits, others, strict=True)
        ]
        rows = [
            (shown(each.token), f"{each.probability:.2%}", f"{b:.2f}", other)
            for each, b, other in zip(found, bits, others, strict=True)
        ]
        listed = table(("token", "probability", "bits", "most probable"), rows)
        return {"": coloured(tokens, values, titles) + f"<p>{mean}.</p>", "Token by token": WIDE.format(listed)}

    return Picture("How probable each token was", LEAD, made_by(model), figure, sections)
