"""A replayed table as a page: the picture of every sentence and of every answer, beside what was intended."""

from __future__ import annotations

import html
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lexigraph.abilities.pictures import PictureSpace
from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.evaluation.latent.replay import SPELLINGS, Answer, Replay
from lexigraph.latent.pictures import as_data_uri
from lexigraph.views import report

STYLE = """
body { max-width: 72rem; }
.row { border-top: 1px solid #ced4da; padding: .9rem 0 .8rem; display: grid; grid-template-columns: 1fr 19rem;
       gap: 0 1.5rem; }
.sum { display: flex; flex-wrap: wrap; gap: .7rem .55rem; align-items: flex-start; }
.term { display: flex; gap: .55rem; }
.sign { font-size: 1.25rem; line-height: 72px; white-space: nowrap; }
.card { width: 8.2rem; font-size: .85rem; line-height: 1.3; overflow-wrap: anywhere; }
.card b { font-weight: 600; }
.p { display: block; width: 72px; height: 72px; border-radius: 3px; margin-bottom: .3rem; background-size: 100%;
     image-rendering: pixelated; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .1rem .7rem; margin: 0; font-size: .85rem;
     line-height: 1.35; align-content: start; }
dt { color: #52606d; } dd { margin: 0; overflow-wrap: anywhere; }
.met { color: #2b8a3e; } .missed { color: #c92a2a; } .doubtful { color: #a35200; }
td:not(:first-child), th:not(:first-child) { text-align: right; }
@media (max-width: 48rem) { .row { grid-template-columns: 1fr; gap: .6rem; } }
"""

MEANING = (
    "Round trip: the cosine between the vector that was decoded and the vector of the text that came out. "
    "Likelihood: the log-probability of the text in nats per token. Doubtful: one of them is less than right answers "
    "have. Case, spacing around marks and contractions count as equal."
)


def page(replayed: Replay, name: str) -> str:
    """The page as HTML; pictures are part of it, each sentence's once."""
    pictures = _Pictures(replayed.model)
    families = dict.fromkeys(answer.row.family for answer in replayed)
    rows = {
        family: "\n".join(_row(answer, pictures) for answer in replayed if answer.row.family == family)
        for family in families
    }
    head = f"<style>{STYLE}\n{pictures.style()}</style>\n{_counts(replayed)}"
    spelled = _ended(SPELLINGS[replayed.spelling])
    lead = f"{name} on {Path(replayed.file).name}. Sentences are given to the model {spelled}"
    met, of = map(sum, zip(*replayed.counts().values(), strict=True))
    headline = f"{met} of {of} as intended" if of else f"{len(replayed)} rows, nothing expected of them"
    footer = f"{replayed.file}; fingerprint {replayed.model.fingerprint}. {MEANING}"
    return report.page("Sentences, replayed", lead, {headline: head, **rows}, footer)


class _Pictures:
    """Pictures by their vectors, drawn when the page is done, each as a class of its own in the style sheet."""

    def __init__(self, model: SentenceSpace) -> None:
        self.model, self.vectors, self.names = model, list[np.ndarray](), dict[str, str]()
        self.draws = isinstance(model, PictureSpace) and model.network.draws

    def of_text(self, text: str) -> str:
        if self.draws and text not in self.names:
            self.names[text] = self._added(self.model.encode(text))
        return self._image(self.names[text], text) if self.draws else ""

    def of_vector(self, z: np.ndarray, text: str) -> str:
        return self._image(self._added(z), f"the vector that is read as: {text}") if self.draws else ""

    def _added(self, z: np.ndarray) -> str:
        self.vectors.append(z)
        return f"p{len(self.vectors)}"

    def _image(self, name: str, text: str) -> str:
        return f'<span class="p {name}" role="img" aria-label="{html.escape(text)}"></span>'

    def style(self) -> str:
        if not self.vectors:
            return ""
        drawn = self.model.pictures(np.stack(self.vectors))
        return "\n".join(
            f".p{number} {{ background-image: url({as_data_uri(pixels)}) }}" for number, pixels in enumerate(drawn, 1)
        )


def _counts(replayed: Replay) -> str:
    """Of each family, how many answers are as intended, here and as published, and of all."""
    families = {family: [a for a in replayed if a.row.family == family] for family in replayed.counts()}
    groups = families | ({"all rows": list(replayed)} if len(families) > 1 else {})
    columns = ["family", "rows", "as intended", "published", "doubtful"]
    rows = []
    for family, answers in groups.items():
        here = [answer.met for answer in answers if answer.met is not None]
        there = [answer.published_met for answer in answers if answer.published_met is not None]
        doubtful = sum(answer.found.confidence.doubtful for answer in answers)
        shares = [f"{sum(met)} of {len(met)}" if met else "" for met in (here, there)]
        rows.append((family, str(len(answers)), *shares, str(doubtful)))
    shown = [place for place in range(len(columns)) if any(row[place] for row in rows)]
    return report.table([columns[place] for place in shown], [[row[place] for place in shown] for row in rows])


def _row(answer: Answer, pictures: _Pictures) -> str:
    row, found = answer.row, answer.found
    verdict = {True: "met", False: "missed", None: ""}[answer.met]
    text = f'<b class="{verdict}">{html.escape(found.text)}</b>'
    sign = "→" if row.kind == "reconstruction" else "="
    cards = [*_terms(answer, pictures), _card(sign, pictures.of_vector(answer.z, found.text) + text)]
    facts = [(name, html.escape(text)) for name, text in _known(answer)]
    word = ' <span class="doubtful">doubtful</span>' if found.confidence.doubtful else ""
    facts.append(("round trip", f"{found.confidence.round_trip:.2f}{word}"))
    facts.append(("likelihood", f"{found.confidence.likelihood:.2f}".replace("-", "−")))
    listed = "".join(f"<dt>{name}</dt><dd>{fact}</dd>" for name, fact in facts)
    return f'<div class="row"><div class="sum">{"".join(cards)}</div><dl>{listed}</dl></div>'


def _terms(answer: Answer, pictures: _Pictures) -> Iterator[str]:
    """Each sentence with its sign and factor before it."""
    for place, part in enumerate(answer.row.terms):
        sign = "−" if part.weight < 0 else "+" if place else ""
        factor = "" if abs(part.weight) == 1 else f"{abs(part.weight):g}"
        yield _card(f"{sign} {factor}".strip(), pictures.of_text(part.text) + html.escape(part.text))


def _card(sign: str, content: str) -> str:
    """A picture with its sentence below it, and a sign before."""
    before = f'<span class="sign">{sign}</span>' if sign else ""
    return f'<span class="term">{before}<span class="card">{content}</span></span>'


def _ended(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _known(answer: Answer) -> Iterator[tuple[str, str]]:
    """What is known besides the answer."""
    row, marks = answer.row, {True: "✓ ", False: "✗ ", None: ""}
    if row.intended:
        yield "intended", marks[answer.met] + row.intended
    if row.published:
        score = "" if row.score is None else f" ({row.score:g})".replace("-", "−")
        yield "published", marks[answer.published_met] + row.published + score
