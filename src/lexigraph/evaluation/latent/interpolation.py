"""Ways between two sentences: is every step a sentence, and does the path move?

The pairs are fixed by the file: its different texts of 4 to 20 words (split at white space), in the order of
BLAKE2b("seed:text"); the first with the second, the third with the fourth, and so on. The rest of the file, in the
same order, is what real sentences are like for the judge (judge.py).

broken      unlike real sentences of that length for the judge, or a word stands twice side by side (`the the`),
            unless one of the ends repeats that word itself
stuck       the same sentence as the step before
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from lexigraph.abilities.language import LanguageModel
from lexigraph.abilities.spaces import SentenceSpace
from lexigraph.evaluation.latent.judge import judged, unlike
from lexigraph.evaluation.latent.sentences import Results, fitting, mean, ordered, overlap, whole

REPEATED = re.compile(r"(?<![\w'’])(\w+(?:['’]\w+)*)(?=\s+\1(?![\w'’]))")
STEPS = 7
REAL = 5000  # sentences behind the percentiles


def fixed_pairs(texts: Sequence[str], count: int, seed: int = 0) -> tuple[list[tuple[str, str]], list[str]]:
    """The pairs of a file by the rule above, and its other texts."""
    usable = ordered((text for text in texts if 4 <= len(text.split()) <= 20), seed)
    count = min(count, len(usable) // 4)  # the other half is what real sentences are like
    pairs = [(usable[2 * i], usable[2 * i + 1]) for i in range(count)]
    return pairs, usable[2 * count :]


def repeats(text: str) -> set[str]:
    """The words that stand twice side by side, without case; a comma between them makes it good English.

    >>> sorted(repeats("The the cat, cat sat sat."))
    ['sat', 'the']
    """
    return set(REPEATED.findall(text.casefold()))


def interpolate(
    model: SentenceSpace,
    texts: Sequence[str],
    judge: LanguageModel | None = None,
    *,
    pairs: int = 200,
    steps: int = STEPS,
    noise: float | None = None,
    seed: int = 0,
) -> Results:
    """The paths between fixed pairs: broken and stuck steps, different sentences, likeness to both ends."""
    drawn, others = fixed_pairs(texts, pairs, seed)
    kept, _, skipped = whole(model, list(drawn))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about unknown words, once for every pair
        paths = [[found.text for found in model.blend(*ends, steps=steps, noise=noise)] for ends in kept]
    result = describe(paths) | {"pairs": len(paths), "skipped": skipped, "steps": steps, "seed": seed}
    repeated = np.array(
        [[bool(repeats(text) - repeats(path[0]) - repeats(path[-1])) for text in path] for path in paths]
    )
    result["repeating_steps"] = mean(repeated.mean(1) if len(paths) else [])
    if judge is None:
        return result | {"judge": "none given, so that broken steps are not known"}
    if not paths:
        return result
    real = judged(judge, fitting(model, others[:REAL]).wanted)
    strange = unlike(real, judged(judge, [text for path in paths for text in path])).reshape(len(paths), steps)
    broken = strange | repeated
    inner = slice(1, steps - 1)
    return result | {
        "paths_without_a_broken_step": mean(~broken.any(1)),
        "inner_paths_without_a_broken_step": mean(~broken[:, inner].any(1)),
        "broken_steps": mean(broken.mean(1)),
        "broken_by_step": [float(share) for share in broken.mean(0)],
        "strange_steps": mean(strange.mean(1)),
        "strange_ends": mean(strange[:, [0, -1]].mean(1)),  # real sentences, nearly: about 5 % by construction
        "real_sentences": len(real.nll),
    }


def describe(paths: Sequence[Sequence[str]]) -> Results:
    """What can be said of paths without a judge; the first and the last step stand for the ends."""
    steps = range(len(paths[0]) if paths else 0)
    stuck = [float(np.mean([a == b for a, b in pairwise(path)])) for path in paths]
    return {
        "different_sentences": mean([float(len(set(path))) for path in paths]),
        "stuck_steps": mean(stuck),
        "likeness": {
            f"step {i + 1}": {
                "to the first": mean([overlap(path[i], path[0]) for path in paths]),
                "to the last": mean([overlap(path[i], path[-1]) for path in paths]),
            }
            for i in steps
        },
        "examples": [list(path) for path in paths[:5]],
    }
