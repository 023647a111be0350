"""What every head of a transformer looks at: each as a small map, and in numbers what kind of head it is.

    previous, itself, next, first, last     the share of attention on those places, the mean over all that look
    entropy                                 bits; 0: one place, log2 S: all S alike
    distance                                how far away what is looked at stands on average, in tokens

A share is compared with what a head that looks everywhere alike would give: the greatest ratio names the head.

Shapes: T tokens that look, S that are looked at.
"""

from __future__ import annotations

import base64
import html
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from lexigraph.abilities.textmodel import TextModel
from lexigraph.abilities.translating import Translator
from lexigraph.errors import UsageError
from lexigraph.nn.attention import watched
from lexigraph.nn.network import Reader
from lexigraph.nn.translation import SOURCE, TARGET
from lexigraph.objectives.terms import Batch
from lexigraph.views.picture import Picture, made_by, readable, shown, subplots
from lexigraph.views.report import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACES = ("previous", "itself", "next", "first", "last")
CLEAR = 3.0  # times what an even head gives: from here on a place names a head
LEAD = "A map for each head: rows look at columns, dark where they look most. Choose one to see it large."


@dataclass(frozen=True)
class Head:
    """One head of one layer: where it stands, and its weights."""

    name: str  # of the layer
    number: int
    rows: list[str]
    columns: list[str]
    weights: Float[np.ndarray, "T S"]

    @property
    def short(self) -> str:
        """A caption."""
        return f"{self.name.removesuffix('.attention')} · {self.number} {self.kind}"

    @property
    def entropy(self) -> float:
        """In bits, the mean over all rows."""
        p = self.weights.clip(1e-12)
        return float(-(self.weights * np.log2(p)).sum(1).mean())

    @property
    def distance(self) -> float:
        """Tokens between what looks and what is looked at, the mean by weight."""
        T, S = self.weights.shape
        return float((self.weights * np.abs(np.arange(T)[:, None] - np.arange(S))).sum(1).mean())

    @property
    def shares(self) -> dict[str, float]:
        """How much goes to which places, as a mean over the rows that have such a place."""
        T, S = self.weights.shape
        t = np.arange(T)
        found = {"first": float(self.weights[:, 0].mean()), "last": float(self.weights[:, -1].mean())}
        if T == S:
            for name, away in (("previous", -1), ("itself", 0), ("next", 1)):
                inside = (t + away >= 0) & (t + away < S)
                found[name] = float(self.weights[t[inside], t[inside] + away].mean()) if inside.any() else 0.0
        return {place: found[place] for place in PLACES if place in found}

    @property
    def kind(self) -> str:
        """The place that it favours, if it clearly favours one."""
        seen = (self.weights > 0).sum(1)
        even = float((1 / seen.clip(1)).mean())
        place, share = max(self.shares.items(), key=lambda item: item[1])
        return place if share > min(0.5, CLEAR * even) else ""


def heads(model: TextModel, text: str, target: str | None = None) -> list[Head]:
    """All heads while a text is read; of a translator, while its translation (or `target`) is written."""
    batch, names = _translated(model, text, target) if isinstance(model, Translator) else _read(model, text)
    with torch.inference_mode(), watched(model.network) as watcher:
        if isinstance(model, Translator):
            model.network.outputs(batch)
        else:
            assert isinstance(model.network, Reader)
            model.network.states(batch)
    found = []
    for name, weights in watcher.found:
        rows, columns = _sides(name, names)
        each = weights[0].float().cpu().numpy()[:, : len(rows), : len(columns)]
        found += [Head(name, number, rows, columns, head) for number, head in enumerate(each, 1)]
    if not found:
        raise UsageError(f"A {model.recipe.system} model of this form has no heads of attention.")
    return found


def _translated(model: Translator, text: str, target: str | None) -> tuple[Batch, dict[str, list[str]]]:
    """A batch of one pair, and the pieces of both sides."""
    network, eos = model.network, model.tokenizer.eos
    source = model.rows([text], model.reading_tokenizer)[0][0]
    written = model.translate(text) if target is None else target
    assert isinstance(written, str)
    row = model.rows([written])[0][0]
    readable(max(len(source), len(row)), "tokens")
    examples = {SOURCE: [np.array([eos, *source, eos])], TARGET: [np.array([eos, *row, eos])]}
    batch = network.prepare(examples).to(model.device)
    return batch, {
        "source": model.reading_tokenizer.tokens(batch["source"][0].tolist()),
        "target": model.tokenizer.tokens(batch["inputs"][0].tolist()),
    }


def _read(model: TextModel, text: str) -> tuple[Batch, dict[str, list[str]]]:
    """A batch of one text, and its tokens."""
    if not isinstance(model.network, Reader):
        raise UsageError(f"A {model.recipe.system} model does not read texts by attention.")
    row = model.rows([text])[0][0]
    readable(len(row), "tokens")
    eos = model.tokenizer.eos
    batch = model.network.reading([np.array([eos, *row, eos])]).to(model.device)
    return batch, {"text": model.tokenizer.tokens(batch["inputs"][0].tolist())}


def _sides(name: str, names: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """The tokens that look in a layer, and those that are looked at."""
    if "text" in names:
        return names["text"], names["text"]
    rows = names["source" if name.startswith("encoder") else "target"]
    return rows, names["target" if name.startswith("decoder") and not name.endswith("memory") else "source"]


def picture(model: TextModel, found: Sequence[Head]) -> Picture:
    """All heads, a row for each layer."""
    layers = list(dict.fromkeys(head.name for head in found))
    across = max(head.number for head in found)

    def figure() -> Figure:
        drawn, axes = subplots(len(layers), across, figsize=(1.5 * across + 0.6, 1.5 * len(layers) + 0.4))
        for axis in axes.flat:
            axis.axis("off")
        for head in found:
            axis = axes[layers.index(head.name), head.number - 1]
            axis.imshow(head.weights, cmap="Blues", vmin=0, vmax=1, aspect="auto")
            axis.set_title(head.short, fontsize=6)
        return drawn

    def sections() -> Mapping[str, str]:
        rows = [
            (
                head.name,
                str(head.number),
                head.kind,
                f"{head.entropy:.2f}",
                f"{head.distance:.1f}",
                ", ".join(f"{place} {share:.0%}" for place, share in head.shares.items()),
            )
            for head in found
        ]
        numbers = table(("layer", "head", "favours", "bits", "distance", "shares"), rows)
        return {"": _chooser(found), "In numbers": f"<div style='overflow-x:auto'>{numbers}</div>"}

    return Picture("What each head looks at", LEAD, made_by(model), figure, sections)


def _chooser(found: Sequence[Head]) -> str:
    """Small maps, and a large one with its tokens that shows what is chosen."""
    cards = "".join(
        f'<figure><img data-head="{place}" src="{_image(head.weights)}" alt="" tabindex="0">'
        f"<figcaption>{html.escape(head.short)}</figcaption></figure>"
        for place, head in enumerate(found)
    )
    facts = [
        {"name": f"{head.name}, head {head.number}", "rows": list(map(shown, head.rows)),
         "columns": list(map(shown, head.columns)), "weights": np.round(head.weights, 3).tolist()}
        for head in found
    ]  # fmt: skip
    data = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    small = "repeat(auto-fill, minmax(5.5rem, 1fr))"
    return (
        '<div id="large" style="overflow-x:auto;margin-bottom:1rem"></div>'
        f'<div class="figures" style="grid-template-columns:{small}">'
        f"{cards}</div><script>const heads = {data};{SCRIPT}</script>"
    )


SCRIPT = """
function choose(number) {
  const head = heads[number];
  const cell = (tag, text) => { const e = document.createElement(tag); e.textContent = text; return e; };
  const table = cell("table", ""), top = table.createTHead().insertRow(), most = Math.max(...head.weights.flat());
  table.className = "heat";
  table.createCaption().textContent = head.name;
  top.append(cell("th", ""), ...head.columns.map(c => cell("th", c)));
  const body = table.createTBody();
  head.weights.forEach((row, t) => {
    const line = body.insertRow();
    line.append(cell("th", head.rows[t]), ...row.map(w => {
      const e = cell("td", ""); e.title = w; e.style.background = `rgba(28,100,170,${w / most})`; return e; }));
  });
  document.getElementById("large").replaceChildren(table);
}
document.querySelectorAll("[data-head]").forEach(e => e.onclick = e.onfocus = () => choose(+e.dataset.head));
choose(0);
"""


def _image(weights: Float[np.ndarray, "T S"]) -> str:
    """A map as a picture of a dot for each weight, as a data URI."""
    from PIL import Image

    share = weights / max(1e-9, float(weights.max()))
    ground, ink = np.array([255.0, 255, 255]), np.array([28.0, 100, 170])
    dots = (ground + share[:, :, None] * (ink - ground)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(dots).save(stream, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
