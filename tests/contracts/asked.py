"""What each ability is asked where all that a model can do is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lexigraph.nn.network import columns_of
from lexigraph.text import builtin
from lexigraph.text.records import fields_of

SENTENCES = (
    "She laughed .",
    "Did they open the old door ?",
    "He is not tired .",
    "We will buy three red apples tomorrow .",
)


def scored(found: Any) -> list[tuple[str, float]]:
    return [(str(each), each.score) for each in found]


def inputs_of(model: Any) -> list[Any]:
    """Records of the built-in corpus, as the model's examples are: texts, pictures, trees."""
    needed = [field for field, required in fields_of(columns_of(model.recipe)).items() if required]
    return [record.columns for record in builtin.records(needed, 4)]


def answers_of(model: Any) -> Any:
    """Answers that are cut from a text, or written."""
    if "translate" in model.abilities:
        return model.answer(SENTENCES[1:3], context=SENTENCES[0], beam=2)
    return model.answer(inputs_of(model), n_best=3, threshold=-99.0)


def first_of(records: list[Any]) -> list[Any]:
    """The first field of each record: words, frames."""
    return [next(iter(record.values())) for record in records]


ASKED: dict[str, Callable[[Any], Any]] = {
    "generate": lambda m: [m.generate(SENTENCES[:2], max_new=6), m.generate(["She"], max_new=6, beam=3)],
    "complete": lambda m: [(str(c), c.log_probability) for c in m.complete("She", n_best=3, max_new=5)],
    "score": lambda m: m.score_lines([f"{SENTENCES[0]}\t{SENTENCES[2]}", f"{SENTENCES[2]}\t{SENTENCES[0]}"]),
    "rank": lambda m: scored(m.rank(["she", "he"], prompt="Did ")),
    "fill": lambda m: [(str(f), f.probability) for f in m.fill("She <mask> .", k=3)],
    "translate": lambda m: m.translate(SENTENCES, beam=3),
    "summarise": lambda m: m.summarise([*SENTENCES, " ".join(SENTENCES * 9)], beam=2, longest=8),
    "align": lambda m: m.align(SENTENCES[::-1], sources=SENTENCES) if m.network.aligned else [],
    "encode": lambda m: m.encode(SENTENCES).tolist(),
    "decode": lambda m: m.decode(m.encode(SENTENCES)),
    "pictures": lambda m: m.pictures(SENTENCES).tolist(),
    "read": lambda m: m.read(m.pictures(SENTENCES)),
    "blend": lambda m: scored(m.blend(*SENTENCES[:2], steps=3)),
    "solve": lambda m: scored(m.solve(f"{SENTENCES[0]} - {SENTENCES[1]} + {SENTENCES[2]}")),
    "sample": lambda m: scored(m.sample(3)),
    "classify": lambda m: [(c.label, c.probabilities) for c in m.classify(inputs_of(m))],
    "choose": lambda m: [(c.number, c.probabilities) for c in m.choose(inputs_of(m))],
    "answer": lambda m: answers_of(m),
    "match": lambda m: [(str(t), t.score) for row in m.match(inputs_of(m), SENTENCES) for t in row],
    "caption": lambda m: m.caption(inputs_of(m), beam=3),
    "estimate": lambda m: m.estimate(inputs_of(m)),
    "tag": lambda m: [[(w.tag, w.probability) for w in row] for row in m.tag(first_of(inputs_of(m)))],
    "parse": lambda m: [(str(tree), tree.record()) for tree in m.parse(SENTENCES)],
    "neighbours": lambda m: [
        [(str(n), n.similarity) for n in r] for r in m.neighbours(SENTENCES[:1], SENTENCES, k=2)
    ],
}
