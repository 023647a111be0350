"""What a model wrote at several times of its training, from the same beginnings and the same random numbers."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.textmodel import TextModel
from lexigraph.abilities.translating import Translator
from lexigraph.errors import UsageError
from lexigraph.views.picture import ACROSS, Picture, made_by, subplots
from lexigraph.weights import load_weights, snapshots

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEAD = "What the same model wrote after so many passes over its text, and at the end, from the same beginnings."
END = "at the end"


class Sample(NamedTuple):
    """What was written, and when."""

    epoch: str
    prompt: str
    text: str


def over_time(run: Path, prompts: Sequence[str], device: str = "auto", max_new: int = 200) -> list[Sample]:
    """Texts of every snapshot of a run, and of its best weights; a translator's are translations."""
    model = TextModel.load(run, device)
    kept = snapshots(run)
    if not kept:
        raise UsageError(
            f"{run} kept its best weights alone: train with --set train.snapshots=[1,3,10] to see it learn."
        )
    found = []
    for epoch, path in kept.items():
        load_weights(model.network, path)
        found += [Sample(f"epoch {epoch:g}", *each) for each in _written(model, prompts, max_new)]
    ended = TextModel.load(run, device)
    return found + [Sample(END, *each) for each in _written(ended, prompts, max_new)]


def _written(model: TextModel, prompts: Sequence[str], max_new: int) -> list[tuple[str, str]]:
    if isinstance(model, Translator):
        return list(zip(prompts, map(str, model.translate(list(prompts))), strict=True))
    if isinstance(model, LanguageModel):
        return list(zip(prompts, model.generate(list(prompts), max_new=max_new, seed=0), strict=True))
    raise UsageError(f"This {model.recipe.system} model writes no texts of its own.")


def _told(each: Sample) -> str:
    """What was written; a translation under its source."""
    return each.text if each.text.startswith(each.prompt) else f"{each.prompt} →\n{each.text}"


def picture(model: TextModel, found: Sequence[Sample]) -> Picture:
    """The texts, one time after the other."""

    def figure() -> Figure:
        lines = list[tuple[str, str]]()  # a line, and its weight
        for epoch, those in groupby(found, key=attrgetter("epoch")):
            lines.append((epoch, "bold"))
            for each in those:
                parts = (part for line in _told(each).split("\n") for part in wrap(line, ACROSS) or [""])
                lines += [(part, "normal") for part in (*parts, "")]
        drawn, axes = subplots(figsize=(0.083 * ACROSS, 0.19 * len(lines)))
        axes[0, 0].axis("off")
        for number, (line, weight) in enumerate(lines):
            place = (0, 1 - number / len(lines))
            axes[0, 0].text(*place, line, va="top", family="monospace", fontsize=9, weight=weight)
        return drawn

    def sections() -> Mapping[str, str]:
        parts: dict[str, str] = {}
        for each in found:
            parts[each.epoch] = parts.get(each.epoch, "") + f"<blockquote>{html.escape(_told(each))}</blockquote>"
        return parts

    return Picture("Samples over training time", LEAD, made_by(model), figure, sections)
