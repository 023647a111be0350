"""Vector arithmetic with the built-in grammar's edits, whose results are known exactly.

    z(b, x) − z(a, x) + z(a, y)  →  b(y)            a, b: before and after an edit; x, y: two sentences

success               over all parallel quadruples (a(x), b(x), a(y), b(y)) of the held-out split, in which the edit
                      changes the same words at the same positions of x and y, after the same words
any_two               over quadruples of any two sentences, in which the edit may take other words at other positions
if_reconstructed      over those whose four sentences come back from their own vectors (decoded without noise)
strength s            z(a, y) + s · difference
reverse               z(b, y) − difference  →  a(y)
mean_difference       the mean difference of training pairs in place of one pair's
two at once           two differences, of two other sentences, added to z(a, y)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np

from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.evaluation.latent.sentences import Mean, Means, Results, mean, same, spelled, vectors, whole, written
from lexigraph.text import grammar
from lexigraph.text.constructions import clauses, split_of
from lexigraph.text.edits import EDITS, changed, edit_pairs, edit_quadruples
from lexigraph.text.grammar import Clause

STRENGTHS = (0.5, 0.75, 1.0, 1.25, 1.5)
GROUPS: dict[str, tuple[str, ...]] = {
    "pronoun": ("he-she", "he-they", "i-we", "she-i", "they-you"),
    "plurality": ("plural",),
    "tense": ("present-past", "past-future", "present-future"),
    "aspect": ("progressive", "perfect"),
    "modal": ("can", "must"),
    "negation after an auxiliary": ("not-auxiliary",),
    "negation with do": ("not-do",),
    "auxiliary-first question": ("ask-auxiliary",),
    "question with do": ("ask-do",),
    "command to request": ("please", "could-you"),
    "negative command": ("do-not",),
    "fronting": ("fronting",),
    "passive": ("passive",),
    "dative": ("dative",),
}
TWO_AT_ONCE = (
    ("he-she", "present-past"),  # He sings . She sang .
    ("he-they", "past-future"),  # He sang . They will sing .
    ("plural", "present-past"),  # The key is old . The keys were old .
    ("present-past", "not-do"),  # She sings . She did not sing .
    ("not-auxiliary", "ask-auxiliary"),  # He is here . Is he not here ?
)
Progress = Callable[[str], None]


def arithmetic(
    model: SentenceSpace,
    count: int = 100,
    *,
    noise: float | None = None,
    seed: int = 0,
    spaced: bool = True,
    training: int = 50,
    families: Sequence[str] = tuple(EDITS),
    report: Progress = lambda _: None,
) -> Results:
    """Every family by itself, the groups of them, and two edits at once."""
    noise = model.default_noise(noise)
    rows: dict[str, dict[str, np.ndarray]] = {}
    skipped: dict[str, int] = {}
    for family in families:
        report(f"arithmetic: {family}")
        rows[family], skipped[family] = outcomes(model, family, count, noise, seed, spaced, training)
    groups = {name: [rows[family] for family in members if family in rows] for name, members in GROUPS.items()}
    pooled = {
        name: {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
        for name, parts in groups.items()
        if parts
    }
    both = [pair for pair in TWO_AT_ONCE if set(pair) <= set(families)]
    report("arithmetic: two at once")
    return {
        "groups": {name: _figures(part) for name, part in pooled.items()},
        "families": {family: _figures(part) for family, part in rows.items()},
        "two_at_once": {" + ".join(pair): two_at_once(model, pair, count, noise, seed, spaced) for pair in both},
        "quadruples": count,
        "skipped": skipped,
        "noise": noise,
    }


def outcomes(
    model: SentenceSpace, family: str, count: int, noise: float, seed: int, spaced: bool, training: int
) -> tuple[dict[str, np.ndarray], int]:
    """1 or 0 for every quadruple and every way to use it, and how many quadruples the model cannot hold."""
    drawn = edit_quadruples(family, count, seed, split="test", parallel=True)
    quadruples, kept, skipped = whole(model, [tuple(spelled(text, spaced) for text in four) for four in drawn])
    n = len(quadruples)
    z = vectors(model, kept, unnormalised=True)
    parts = z.reshape(n, 4, z.shape[1])
    before, after = parts[:, 2], parts[:, 3]
    wanted = [kept.wanted[i::4] for i in range(4)]
    difference = parts[:, 1] - parts[:, 0]
    pairs = (tuple(spelled(text, spaced) for text in pair) for pair in edit_pairs(family, training, seed, "train"))
    _, seen, _ = whole(model, list(pairs))
    known = vectors(model, seen, unnormalised=True)
    usual = (known[1::2] - known[::2]).mean(0) if len(known) else np.zeros(z.shape[1], z.dtype)
    ways = [before + np.float32(strength) * difference for strength in STRENGTHS]
    found = written(model, np.concatenate([*ways, after - difference, before + usual]), noise=noise)
    goals = [wanted[3]] * len(STRENGTHS) + [wanted[2], wanted[3]]
    names = [*(f"strength {strength:g}" for strength in STRENGTHS), "reverse", "mean_difference"]
    result = {name: same(found[i * n : (i + 1) * n], goals[i]) for i, name in enumerate(names)}
    back = same(written(model, z), kept.wanted).reshape(n, 4)
    free = any_two(model, family, count, noise, seed, spaced)
    return result | {"reconstructed": back.min(1, initial=1.0), "any_two": free}, skipped


def any_two(model: SentenceSpace, family: str, count: int, noise: float, seed: int, spaced: bool) -> np.ndarray:
    """1 or 0 for every quadruple of two sentences that need not be parallel."""
    drawn = edit_quadruples(family, count, seed, split="test")
    quadruples, kept, _ = whole(model, [tuple(spelled(text, spaced) for text in four) for four in drawn])
    z = vectors(model, kept, unnormalised=True)
    parts = z.reshape(len(quadruples), 4, z.shape[1])
    return same(written(model, parts[:, 1] - parts[:, 0] + parts[:, 2], noise=noise), kept.wanted[3::4])


def _figures(rows: dict[str, np.ndarray]) -> Means:
    whole, ways = rows["reconstructed"] == 1, [name for name in rows if name != "reconstructed"]
    success = rows["strength 1"]
    figures = {"success": mean(success), "if_reconstructed": mean(success[whole]), "reconstructed": mean(whole)}
    return figures | {name: mean(rows[name]) for name in ways if name != "strength 1"}


# ---- two edits at once ----


def combined(families: tuple[str, str], clause: Clause) -> tuple[Clause, Clause] | None:
    """The clause before and after both edits, or None where the grammar cannot express one of the steps."""
    first, second = (EDITS[family] for family in families)
    pair = first.pair(clause)
    other = second.pair(pair[0]) if pair else None
    again = first.pair(other[0]) if other else None
    if not other or not again or again[0] != other[0]:  # the second edit undid what the first begins with
        return None
    both = changed(again[1], second.feature, second.after)
    return (again[0], both) if both else None


def combined_pairs(families: tuple[str, str], seed: int, split: str = "test") -> Iterator[tuple[str, str]]:
    """Sentences before and after both edits, without end; of "test" if one of the two sentences is."""
    for clause in clauses(None, seed):
        pair = combined(families, clause)
        if pair and min(map(split_of, pair)) == split:  # "test" < "train"
            yield grammar.realise(pair[0]), grammar.realise(pair[1])


def two_at_once(
    model: SentenceSpace, families: tuple[str, str], count: int, noise: float, seed: int, spaced: bool
) -> dict[str, Mean | int]:
    """z(a, y) + the difference of one edit + the difference of the other, each from a sentence of its own."""
    donors = [edit_pairs(family, None, seed + number, "test") for number, family in enumerate(families, 1)]
    drawn = islice(zip(*donors, combined_pairs(families, seed), strict=False), count)
    texts = [tuple(spelled(text, spaced) for pair in row for text in pair) for row in drawn]
    rows, kept, skipped = whole(model, texts)
    z = vectors(model, kept, unnormalised=True).reshape(len(rows), 6, model.network.latent)
    target = z[:, 4] + (z[:, 1] - z[:, 0]) + (z[:, 3] - z[:, 2])
    right = same(written(model, target, noise=noise), kept.wanted[5::6])
    back = same(written(model, z.reshape(-1, z.shape[2])), kept.wanted).reshape(-1, 6).min(1, initial=1.0) == 1
    return {"success": mean(right), "if_reconstructed": mean(right[back]), "skipped": skipped}
