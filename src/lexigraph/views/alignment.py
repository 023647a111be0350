"""Where a translator looked in its source while it wrote each piece of its target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from lexigraph.abilities.directions import To
from lexigraph.abilities.textmodel import TextModel
from lexigraph.abilities.translating import Translation, Translator
from lexigraph.errors import UsageError
from lexigraph.views.picture import Picture, heat_figure, heat_table, made_by

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAD = "Rows are the pieces that were written, columns those of the source; dark: where the model looked."


def translated(model: TextModel, text: str, to: To = None) -> Translation:
    """A text's translation with its alignment."""
    if not isinstance(model, Translator):
        raise UsageError(f"A {model.recipe.system} model translates nothing: an alignment is a translator's.")
    (best,) = model.translate([text], alignment=True, to=to)
    found = best[0]
    assert isinstance(found, Translation)
    return found


def picture(model: TextModel, found: Translation) -> Picture:
    """The alignment as a heat map."""
    assert found.alignment is not None
    counts = {"pieces of the source": len(found.source), "pieces of the target": len(found.target)}
    values = np.asarray(found.alignment, np.float64)

    def figure() -> Figure:
        return heat_figure(values, found.target, found.source, "share of the attention", ("source", "written"))

    def sections() -> Mapping[str, str]:
        return {"": heat_table(values, found.target, found.source)}

    return Picture(found.text, LEAD, made_by(model), figure, sections, counts)
