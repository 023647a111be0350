"""Does the sentence come back? Of one greedy pass, of beam 5, through the picture, and through a damaged picture.

kl, nll, accuracy    each token predicted from the true ones before it, as in evaluation/reconstruction.py,
                     of a variational model given the mean z, as all the rest is
exact, bleu          the whole sentence written from its vector alone
in_position             the share of the sentence's tokens that stand at their position in what was written
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.evaluation.intervals import Figure
from lexigraph.evaluation.latent.sentences import Kept, Mean, Results, fitting, mean, same, vectors, written
from lexigraph.evaluation.measure import measured
from lexigraph.evaluation.reconstruction import row_sums, sentence_scores
from lexigraph.latent.pictures import degrade
from lexigraph.text.columns import Column
from lexigraph.text.tables import Stored, Table

LENGTHS = ((1, 5), (6, 10), (11, 15), (16, 20), (21, 29), (30, 40))  # tokens, without the end
Figures = dict[str, Figure | Mean]
DAMAGES: tuple[tuple[str, float], ...] = (
    ("png", 0),
    *(("jpeg", quality) for quality in (95, 75, 50)),
    *(("noise", levels) for levels in (2, 8, 16)),
    ("resize", 0.5),
    *(("occlusion", share) for share in (0.05, 0.1)),
)


def reconstruct(
    model: SentenceSpace,
    texts: Sequence[str],
    domains: Mapping[str, Sequence[str]] | None = None,
    *,
    joined: Sequence[str] = (),
    beam: int = 200,
    lossless: int = 100,
) -> Results:
    """All of the first part: `texts` as a whole and by length, other domains, beam 5, pictures, the lossless mode.

    joined: longer texts, shown by length beside them.
    beam, lossless: how many of the texts these slower ways are tried on.
    """
    kept = fitting(model, texts)
    z = vectors(model, kept)
    back = written(model, z)
    few = np.array([len(text.split()) <= 20 for text in kept.texts], bool)
    result: Results = {
        "test": {**_figures(model, kept, back, np.ones(len(back), bool)), **_counts(kept, len(texts))},
        "by_length": by_length(model, kept, back),
        "joined_by_length": by_length(model, fitting(model, joined)),
        "up_to_20_words": _figures(model, kept, back, few),
        "beam": _compared(kept, {"greedy": back[:beam], "beam 5": written(model, z[:beam], beam=5)}),
        "domains": {name: reconstruct_domain(model, others) for name, others in (domains or {}).items()},
    }
    result["bleu_signature"] = sentence_scores([], [])["bleu_signature"]
    read = _picture_reader(model)
    ways = {"vector": back} | ({"8-bit picture": read(z)} if draws(model) else {})
    result["pictures"] = _compared(kept, ways)
    some = fitting(model, texts[:lossless])
    refined = vectors(model, some, lossless=True)
    result["lossless"] = _compared(some, {"before": read(z[: len(refined)]), "lossless": read(refined)})
    return result


def by_length(model: SentenceSpace, kept: Kept, back: Sequence[str] | None = None) -> dict[str, Figures]:
    """The figures of texts of about the same number of tokens; `back`: what was written of them, if it is known."""
    if back is None:
        back = written(model, vectors(model, kept))
    lengths = np.array([len(row) for row in kept.rows])
    groups = {f"{low}-{high} tokens": (lengths >= low) & (lengths <= high) for low, high in LENGTHS}
    groups[f"over {LENGTHS[-1][1]} tokens"] = lengths > LENGTHS[-1][1]
    return {name: _figures(model, kept, back, chosen) for name, chosen in groups.items() if chosen.any()}


def reconstruct_domain(model: SentenceSpace, texts: Sequence[str]) -> Results:
    """The figures of one list of texts, by a greedy pass."""
    kept = fitting(model, texts)
    back = written(model, vectors(model, kept))
    return {**_figures(model, kept, back, np.ones(len(back), bool)), **_counts(kept, len(texts))}


def damaged(model: SentenceSpace, texts: Sequence[str], seed: int = 0) -> Results:
    """Exact match and tokens in their position, read from pictures after each kind of damage."""
    kept = fitting(model, texts)
    pictures = model.pictures(vectors(model, kept))
    result: dict[str, dict[str, Mean]] = {}
    for how, amount in DAMAGES if len(pictures) else ():
        rough = [degrade(picture, how, amount, seed + number) for number, picture in enumerate(pictures)]
        back = model.read(np.stack(rough))
        placed, tokens = in_position(model, kept, back)
        name = f"{how} {amount:g}" if amount else how
        result[name] = {"exact": mean(same(back, kept.wanted)), "in_position": mean(placed, tokens)}
    return {"damages": result, **_counts(kept, len(texts))}


def in_position(model: SentenceSpace, kept: Kept, back: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Of each sentence, how many tokens stand at their position in what was written, and how many it has."""
    rows = model.tokenizer.encode_batch(list(back))
    right = [int((a[: len(b)] == b[: len(a)]).sum()) for a, b in zip(kept.rows, rows, strict=True)]
    return np.array(right, np.float64), np.array([len(row) for row in kept.rows], np.float64)


def draws(model: SentenceSpace) -> bool:
    """Whether the model makes pictures of its vectors."""
    return model.network.draws


def _picture_reader(model: SentenceSpace) -> Callable[[np.ndarray], list[str]]:
    """What reads vectors back through their 8-bit pictures, or straight where the model draws none."""
    if not draws(model):
        return lambda z: written(model, z)
    return lambda z: model.read(model.pictures(z)) if len(z) else []


def _figures(model: SentenceSpace, kept: Kept, back: Sequence[str], chosen: np.ndarray) -> Figures:
    positions = np.flatnonzero(chosen).tolist()
    if not positions:
        return {"exact": mean([])}
    table = table_of(model, [kept.rows[i] for i in positions])
    predicted = measured(model.network, table, model.recipe, row_sums, model.device)
    tokens = predicted["tokens"]
    forced = {"kl": predicted["kl"], "nll": predicted["nll"], "accuracy": predicted["right"]}
    return {name: mean(values, tokens) for name, values in forced.items()} | _whole_sentences(
        [back[i] for i in positions], [kept.wanted[i] for i in positions]
    )


def _whole_sentences(back: Sequence[str], wanted: Sequence[str]) -> Figures:
    scores = sentence_scores(list(back), list(wanted))
    return {"exact": mean(same(back, wanted)), "bleu": scores["bleu"]}


def _compared(kept: Kept, ways: Mapping[str, Sequence[str]]) -> dict[str, Figures]:
    """Exact match and BLEU of several ways to write the first of the kept sentences."""
    return {name: _whole_sentences(found, kept.wanted[: len(found)]) for name, found in ways.items()}


def _counts(kept: Kept, given: int) -> dict[str, int | dict[str, int]]:
    return {"given": given, "sentences": len(kept.texts), "skipped": kept.skipped, "unknown_words": kept.unknown}


def table_of(model: SentenceSpace, rows: Sequence[np.ndarray]) -> Table:
    """Rows of tokens as a table in memory, a boundary before, between and behind them."""
    eos = np.array([model.tokenizer.eos])
    ids = np.concatenate([eos, *(part for row in rows for part in (row, eos))]).astype(np.int64)
    offsets = np.cumsum([0, *(len(row) + 1 for row in rows)])
    stored = Stored(Column("tokens"), ids, offsets, counts=np.bincount(ids, minlength=len(model.tokenizer)))
    return Table(len(rows), {"text": stored})
