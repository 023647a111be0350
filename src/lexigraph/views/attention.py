"""What every head of a transformer looks at: each as a small map, and in numbers what kind of head it is.

    previous, itself, next, first, last     the share of attention on those places, the mean over all that look
    entropy                                 bits; 0: one place, log2 S: all S alike
    distance                                how far away what is looked at stands on average, in tokens

Only rows that have a choice count: the first token of a text that is read from left to right sees itself alone. A
place counts if most rows may look there. A head is named by the place with the greatest share, if that is more than
half, or three times what a head that looks everywhere alike would give, and half as much again as the next share.

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
from jaxtyping import Bool, Float

from lexigraph.abilities.directions import To
from lexigraph.abilities.sentences import Sentences
from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.abilities.textmodel import TextModel
from lexigraph.abilities.translating import Translator
from lexigraph.errors import UsageError
from lexigraph.nn.attention import watched
from lexigraph.views.picture import WIDE, Picture, draw_heat, made_by, readable, shown, subplots
from lexigraph.views.reading import one_text, reader_of
from lexigraph.views.report import table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PLACES = ("previous", "itself", "next", "first", "last")
CLEAR = 3.0  # times what an even head gives: from here on a place names a head
COLUMNS = ("layer", "head", "favours", "bits", "distance", "shares")
AHEAD = 1.5  # times the share of any other place
FEW = 4  # heads that are drawn large
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
        return f"{self.layer} · {self.number}" + (f"\n{self.kind}" if self.kind else "")

    @property
    def layer(self) -> str:
        """Its layer in short."""
        return self.name.removesuffix(".attention")

    @property
    def seen(self) -> Bool[np.ndarray, "T S"]:
        """Where rows may look: back alone, if none looks ahead."""
        everywhere = np.ones(self.weights.shape, bool)
        back = self.rows == self.columns and not np.triu(self.weights, 1).any()
        return np.tril(everywhere) if back else everywhere

    @property
    def choosing(self) -> Bool[np.ndarray, " T"]:
        """The rows that may look at several places."""
        return self.seen.sum(1) > 1

    @property
    def entropy(self) -> float:
        """In bits, the mean over all rows that have a choice."""
        p = self.weights[self.choosing]
        return float(-(p * np.log2(p.clip(1e-12))).sum(1).mean()) if len(p) else 0.0

    @property
    def distance(self) -> float:
        """Tokens between what looks and what is looked at, the mean by weight."""
        T, S = self.weights.shape
        away = (self.weights * np.abs(np.arange(T)[:, None] - np.arange(S))).sum(1)[self.choosing]
        return float(away.mean()) if len(away) else 0.0

    @property
    def shares(self) -> dict[str, float]:
        """How much goes to which places, as a mean over the rows that have such a place and a choice."""
        T, S = self.weights.shape
        t, found = np.arange(T), dict[str, float]()
        places = {"first": np.zeros(T, int), "last": np.full(T, S - 1)}
        if self.rows == self.columns:  # they look at themselves, not at a source of the same length
            places |= {"previous": t - 1, "itself": t, "next": t + 1}
        for place in PLACES:
            if place in places:
                column = places[place]
                inside = np.flatnonzero((column >= 0) & (column < S) & self.choosing)
                where = inside, column[inside]
                if len(inside) and self.seen[where].mean() > 0.5:
                    found[place] = float(self.weights[where].mean())
        return found

    @property
    def kind(self) -> str:
        """The place that it favours, if it clearly favours one."""
        if not self.shares:
            return ""
        even = float((1 / self.seen.sum(1)[self.choosing]).mean())
        (share, place), *others = sorted(((share, place) for place, share in self.shares.items()), reverse=True)
        alone = all(share > AHEAD * other for other, _ in others)
        return place if share > min(0.5, CLEAR * even) and alone else ""


def heads(model: TextModel, text: str, target: str | None = None, to: To = None) -> list[Head]:
    """All heads while a text is read; of a translator, while its translation (or `target`) is written."""
    with torch.inference_mode():
        if isinstance(model, Translator):
            seen, names = _translated(model, text, target, to)
        else:
            seen, names = _read(model, text)
    found = []
    for name, weights in seen:
        rows, columns = _sides(name, names)
        each = weights[0].float().cpu().numpy()[:, : len(rows), : len(columns)]
        found += [Head(name, number, rows, columns, head) for number, head in enumerate(each, 1)]
    if not found:
        where = ": --alignment shows where it looks" if isinstance(model, Translator) else ""
        raise UsageError(f"A {model.recipe.system} model of this form has no heads of attention{where}.")
    return found


Seen = tuple[list[tuple[str, Float[torch.Tensor, "B H T S"]]], dict[str, list[str]]]  # weights by module; the tokens


def _translated(model: Translator, text: str, target: str | None, to: To) -> Seen:
    """While one text is written from another."""
    written = model.translate(text, to=to) if target is None else target
    assert isinstance(written, str)
    with model.one_pair(text, written, to) as batch, watched(model.network) as watcher:
        names = {
            "source": model.read_pieces(batch["source"][0].tolist()),
            "target": model.tokenizer.tokens(batch["inputs"][0].tolist()),
        }
        readable(max(map(len, names.values())) - 1, "tokens")
        model.network.outputs(batch)
    return watcher.found, names


def _read(model: TextModel, text: str) -> Seen:
    """While one text is read, by the model itself or by its part that reads."""
    if isinstance(model, Sentences | SentenceSpace):
        return _encoded(model, text)
    if (found := reader_of(model)) is None:
        raise UsageError(f"A {model.recipe.system} model does not read texts by attention.")
    reader, tokenizer = found
    tokens, _, batch = one_text(model, reader, tokenizer, text, lambda count: readable(count, "tokens"))
    with watched(reader) as watcher:
        reader.states(batch)
    pieces = tokenizer.tokens(batch["inputs"][0].tolist()) if "inputs" in batch.tensors else ["", *tokens]
    return watcher.found, {"text": pieces}


def _encoded(model: Sentences | SentenceSpace, text: str) -> Seen:
    """While a text becomes one vector."""
    eos = model.tokenizer.eos
    ids = [*model.rows([text])[0][0].tolist(), eos]
    readable(len(ids) - 1, "tokens")
    row, length = torch.tensor([ids], device=model.device), torch.tensor([len(ids)], device=model.device)
    with watched(model.network) as watcher:
        model.network.encode(row, length)
    begins = [eos] * (watcher.found[0][1].shape[3] - len(ids) if watcher.found else 0)  # some put one in front
    return watcher.found, {"text": model.tokenizer.tokens([*begins, *ids])}


def _sides(name: str, names: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """The tokens that look in a layer, and those that are looked at."""
    if "text" in names:
        return names["text"], names["text"]
    rows = names["source" if name.startswith("encoder") else "target"]
    return rows, names["target" if name.startswith("decoder") and not name.endswith("memory") else "source"]


def chosen(found: Sequence[Head], wanted: Sequence[str]) -> list[Head]:
    """Those that are named: a layer and a number, "encoder.0 2", or a layer, "encoder.0"; all, if none is."""
    picked = list[Head]()
    for name in wanted:
        layer, _, number = name.strip().partition(" ")
        these = [
            head for head in found
            if layer in (head.name, head.layer) and (not number or number.strip() == str(head.number))
        ]  # fmt: skip
        if not these:
            raise UsageError(
                f"There is no head {name!r}: they are named as '{found[0].layer} {found[0].number}' and "
                f"'{found[-1].layer} {found[-1].number}', all heads of a layer as '{found[0].layer}'."
            )
        picked += [head for head in these if head not in picked]
    return picked or list(found)


def picture(model: TextModel, found: Sequence[Head]) -> Picture:
    """All heads, a row for each layer; a few of them large, with their tokens."""

    def sections() -> Mapping[str, str]:
        return {"": _chooser(found), "In numbers": WIDE.format(table(COLUMNS, rows(found)))}

    draw = _large if len(found) <= FEW else _small
    return Picture("What each head looks at", LEAD, made_by(model), lambda: draw(found), sections)


def rows(found: Sequence[Head]) -> list[tuple[str, ...]]:
    """Every head in numbers."""
    return [
        (head.name, str(head.number), head.kind, f"{head.entropy:.2f}", f"{head.distance:.1f}",
         ", ".join(f"{place} {share:.0%}" for place, share in head.shares.items()))
        for head in found
    ]  # fmt: skip


def _small(found: Sequence[Head]) -> Figure:
    """A map for each head."""
    layers = list(dict.fromkeys(head.name for head in found))
    across = max(head.number for head in found)
    drawn, axes = subplots(len(layers), across, figsize=(1.5 * across + 0.6, 1.6 * len(layers) + 0.4))
    for axis in axes.flat:
        axis.axis("off")
    for head in found:
        axis = axes[layers.index(head.name), head.number - 1]
        axis.axis("on")
        axis.set(xticks=[], yticks=[])
        axis.imshow(head.weights, cmap="Blues", vmin=0, aspect="auto")
        axis.set_title(head.short, fontsize=7)
    return drawn


def _large(found: Sequence[Head]) -> Figure:
    """A map for each head, with its tokens; one under the other."""
    T, S = (max(len(side) for side in sides) for sides in zip(*((h.rows, h.columns) for h in found), strict=True))
    size = (2.2 + 0.28 * S, len(found) * (1.4 + 0.24 * T))
    drawn, axes = subplots(len(found), figsize=size)
    for head, axis in zip(found, axes[:, 0], strict=True):
        draw_heat(axis, head.weights, head.rows, head.columns, "share of the attention")
        axis.set_title(head.short, fontsize=10)
    return drawn


def _chooser(found: Sequence[Head]) -> str:
    """Small maps, and a large one with its tokens that shows what is chosen."""
    cards = "".join(
        f'<figure><img data-head="{place}" src="{_image(head.weights)}" alt="" tabindex="0" role="button">'
        f"<figcaption>{html.escape(head.short)}</figcaption></figure>"
        for place, head in enumerate(found)
    )
    facts = [
        {"name": head.short.replace("\n", ", favours: "), "rows": list(map(shown, head.rows)),
         "columns": list(map(shown, head.columns)), "weights": np.round(head.weights, 3).tolist()}
        for head in found
    ]  # fmt: skip
    data = json.dumps(facts, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    small = "repeat(auto-fill, minmax(5.5rem, 1fr)) !important"
    return (
        "<style>[data-head] { border: 1px solid #ced4da; } .large { outline: 3px solid #1c64aa; } "
        "figcaption { font-size: .7rem; white-space: pre-line; }</style>"
        '<div id="large" class="wide" style="margin-bottom:1rem" tabindex="0"></div>'
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
    line.append(cell("th", head.rows[t]), ...row.map((w, s) => {
      const e = cell("td", "");
      e.title = `${head.rows[t]} · ${head.columns[s]}: ${w}`;
      e.style.background = `rgba(28,100,170,${w / most})`;
      return e;
    }));
  });
  document.getElementById("large").replaceChildren(table);
  document.querySelectorAll("[data-head]").forEach(e => e.classList.toggle("large", e.dataset.head == number));
}
document.querySelectorAll("[data-head]").forEach(e => e.onclick = e.onfocus = () => {
  choose(+e.dataset.head);
  document.getElementById("large").scrollIntoView({block: "nearest"});
});
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
