"""What single cells of a model keep track of while it reads: coloured over the text, and found by code. Gates of
recurrent cells can be coloured, too.

    r = correlation of a cell's value and a property of the text (properties.py), over its characters

The cell is chosen on the first half of the text, by |r|; what counts is its |r| on the second half, which had no part
in the choice. Beside it stands the largest |r| of 1,000 shuffles: the property is moved along the text by a random
distance, around its end, so that it stays as smooth as it was and only loses its place. (Slow values go together by
chance far more often than those of single characters put in any order would say.) A move of a few characters leaves a
slow property nearly where it was: all distances are beyond the first at which it no longer goes with itself.

Shapes: T characters, U cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.models.rnn_lm import RecurrentLanguageModel
from lexigraph.views.gates import gates_of
from lexigraph.views.picture import WIDE, Picture, coloured, made_by, text_figure
from lexigraph.views.properties import properties
from lexigraph.views.report import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHUFFLES = 1000
MOST_TOKENS = 20_000
SHOWN = 1500  # tokens of a text in colours on a page
DRAWN = 240  # characters of it in a picture
FULL = 2.5  # deviations from the mean that have the full colour
LEAD = (
    "A text in the colours of one cell: blue where its value is above its mean, red below. The cells are those that "
    "go best with a property of the text; r is measured where they were not chosen. Touch a letter to see its value."
)


@dataclass(frozen=True)
class Along:
    """A text, and the value of every cell when each token has been read."""

    tokens: list[str]
    names: list[str]
    values: Float[np.ndarray, "T U"]
    gates: Mapping[str, Float[np.ndarray, " T"]] = field(default_factory=dict)  # by name, as "forget 3"

    def cell(self, name: str) -> Float[np.ndarray, " T"]:
        """The values of one, or of a gate."""
        if name in self.gates:
            return self.gates[name]
        if name not in self.names:
            known = [self.names[0], self.names[-1], *list(self.gates)[-1:]]
            raise UsageError(f"There is no cell {name!r}: they are named as {' and '.join(map(repr, known))}.")
        return self.values[:, self.names.index(name)]


@dataclass(frozen=True)
class Job:
    """The cell that goes best with a property."""

    property: str
    cell: str
    r: float  # on the half that chose it
    held_out: float  # on the other
    by_chance: float  # the largest |r| there of all shuffles


@torch.inference_mode()
def along(model: TextModel, text: str, gates: bool = False) -> Along:
    """Every cell of a language model along a text's first tokens: of recurrent ones all states and memories.

    gates: all gates, too, as far as there are any.
    """
    if not isinstance(model, LanguageModel):
        raise UsageError(f"A {model.recipe.system} model reads no text from left to right: take a language model.")
    row = model.rows([text])[0][0][:MOST_TOKENS]
    tokens = model.tokenizer.tokens(row.tolist())
    if isinstance(model.network, RecurrentLanguageModel):
        named = _recurrent(model, row)
    else:
        named = _states(model, row)
    opened = gates_of(model, row) if gates and isinstance(model.network, RecurrentLanguageModel) else {}
    return Along(tokens, list(numbered(named)), np.concatenate(list(named.values()), 1), numbered(opened))


def numbered(named: Mapping[str, Float[np.ndarray, "T _"]]) -> dict[str, Float[np.ndarray, " T"]]:
    """Every column by itself: `c 1`, `c 2` …"""
    return {f"{name} {n}": column for name, values in named.items() for n, column in enumerate(values.T, 1)}


def _recurrent(model: LanguageModel, row: np.ndarray) -> dict[str, Float[np.ndarray, "T _"]]:
    """States h and memories c, layer by layer."""
    ids = torch.from_numpy(np.append(model.tokenizer.eos, row)).to(model.device)
    step = model.network.start({"ids": ids[None, :1], "lengths": torch.ones(1, dtype=torch.long)})
    kept: dict[str, list[torch.Tensor]] = {name: [] for name in step.state.rows}
    for token in ids[1:].split(1):
        step = model.network.step(step.state, token)
        for name, value in step.state.rows.items():
            kept[name].append(value[0])
    stacked = {name: torch.stack(values).cpu().numpy() for name, values in kept.items()}  # (T, layers, d)
    layers = next(iter(stacked.values())).shape[1]
    many = layers > 1
    return {
        f"layer {layer + 1} {name}" if many else name: values[:, layer]
        for layer in range(layers)
        for name, values in stacked.items()
    }


def _states(model: LanguageModel, row: np.ndarray) -> dict[str, Float[np.ndarray, "T _"]]:
    """The states of all layers; a text longer than the context is read in pieces."""
    eos, length = model.tokenizer.eos, (model.network.traits.context or len(row) + 1) - 1
    parts: list[list[np.ndarray]] = []
    for first in range(0, len(row), length):
        piece = row[first : first + length]
        batch = model.network.reading([np.array([eos, *piece, eos])]).to(model.device)
        layers = model.network.states(batch).layers
        parts.append([layer[0, 1 : len(piece) + 1].float().cpu().numpy() for layer in layers])
    return {f"layer {number}": np.concatenate(layer) for number, layer in enumerate(zip(*parts, strict=True))}


def jobs(found: Along, seed: int = 0) -> list[Job]:
    """For every property of the text the cell that goes best with it, the best first. Tokens must be characters."""
    text = "".join(found.tokens)
    if len(text) != len(found.tokens):
        raise UsageError("Properties are of characters: this model's tokens are longer (tokenizer.kind is not char).")
    half, random = len(text) // 2, np.random.default_rng(seed)
    if half < 200:
        raise UsageError(f"A text of {len(text)} characters shows no cell's job: give some thousands.")
    first, second = _standard(found.values[:half]), _standard(found.values[half:])
    made = []
    for name, values in properties(text).items():
        choosing, judging = _standard(values[:half, None])[:, 0], _standard(values[half:, None])[:, 0]
        if not choosing.any() or not judging.any():
            continue
        r = first.T @ choosing / half
        best = int(np.abs(r).argmax())
        cell = second[:, best]
        chance = _by_chance(judging, cell, random)
        made.append(Job(name, found.names[best], float(r[best]), float(judging @ cell / len(judging)), chance))
    return sorted(made, key=lambda job: -abs(job.held_out))


def _by_chance(judging: Float[np.ndarray, " T"], cell: Float[np.ndarray, " T"], random: np.random.Generator) -> float:
    """The largest |r| of a property and a cell when the property is moved along, both of deviation 1."""
    spectrum = np.fft.rfft(judging)
    itself = np.fft.irfft(np.abs(spectrum) ** 2, len(judging))
    near = int((itself[: len(judging) // 2] > 0).argmin()) or len(judging) // 4  # 0: it never loses itself
    moved = np.fft.irfft(spectrum.conj() * np.fft.rfft(cell), len(judging)) / len(judging)
    return float(np.abs(moved[random.integers(near, len(judging) - near + 1, SHUFFLES)]).max())


def _standard(x: Float[np.ndarray, "T U"]) -> Float[np.ndarray, "T U"]:
    """Mean 0 and deviation 1; what never changes becomes 0."""
    deviation = x.std(0)
    return (x - x.mean(0)) / np.where(deviation > 1e-9, deviation, np.inf)


def picture(model: TextModel, found: Along, wanted: Sequence[str], made: Sequence[Job]) -> Picture:
    """The text in the colours of each of some cells."""
    tokens = found.tokens[:SHOWN]
    scaled = {name: _standard(found.cell(name)[:, None])[: len(tokens), 0] for name in wanted}
    known = {job.cell: job for job in reversed(made)}
    headings = {name: _heading(name, known.get(name)) for name in wanted}

    def figure() -> Figure:
        return text_figure({headings[name]: (tokens, (v / FULL).tolist()) for name, v in scaled.items()}, DRAWN)

    def sections() -> Mapping[str, str]:
        parts = {
            headings[name]: coloured(tokens, (v / FULL).tolist(), [f"{value:+.2f}" for value in v.tolist()])
            for name, v in scaled.items()
        }
        if len(tokens) < len(found.tokens):
            parts[headings[wanted[0]]] += f"<p>The first {len(tokens):,} of {len(found.tokens):,} tokens.</p>"
        if made:
            rows = [
                (job.property, job.cell, f"{job.r:+.2f}", f"{job.held_out:+.2f}", f"{job.by_chance:.2f}")
                for job in made
            ]
            header = ("property", "cell", "r where chosen", "r held out", f"largest of {SHUFFLES:,} shuffles")
            parts["What goes with what"] = WIDE.format(table(header, rows))
        return parts

    return Picture("What single cells keep track of", LEAD, made_by(model), figure, sections)


def _heading(name: str, job: Job | None) -> str:
    """A cell, what it goes with, and how well."""
    if job is None:
        return name
    clear = abs(job.held_out) > job.by_chance
    return f"{name}: {job.property}, r {job.held_out:+.2f} held out" + ("" if clear else ", no more than chance")
