"""A translator by counting, whole: train it from pairs of lines, tune its eight weights, save it, translate.

    model = PhraseTranslator.train(pairs, tune=held_out)
    model.translate(["A man sleeps."])

Lines are cut into words and marks; a mark is written close to the word before it. The table comes from IBM models in
both directions. The weights are tuned to BLEU on pairs that the table has not seen: the n best translations of each,
then one weight after the other to where their best is best (Och 2003, on a grid), and again with new translations.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float64

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.run import replacing
from lexigraph.statistical.decoding import FEATURES, START_WEIGHTS, PhraseDecoder, Weights
from lexigraph.statistical.ibm import IBMModel, Links, Sides
from lexigraph.statistical.phrases import PhraseTable, phrase_table, read_table, symmetrised, write_table
from lexigraph.stored import json_in
from lexigraph.words.ngram import NgramModel

TOKEN = re.compile(r"\w+(?:['’]\w+)?|[^\w\s]")
ROUNDS, N_BEST = 4, 100
GRID = np.linspace(-1, 1, 41)  # what is added to a weight, as a share of all of them
Stats = Float64[np.ndarray, " 10"]  # matches and possible ones of 1 to 4 words, lengths


@dataclass(frozen=True)
class PhraseTranslator:
    """A table, an n-gram model of the target, and what each feature counts."""

    table: PhraseTable
    language: NgramModel
    weights: Weights

    @classmethod
    def train(
        cls,
        pairs: Sequence[tuple[str, str]],
        *,
        tune: Sequence[tuple[str, str]] = (),
        model: int = 2,
        longest: int = 5,
        order: int = 3,
        say: Callable[[str], None] = lambda text: None,
    ) -> PhraseTranslator:
        """Learn from pairs of lines; without `tune` the weights stay as they are set here."""
        words = _cut(pairs, "training")
        say(f"aligning {len(words):,} pairs by IBM model {model}, in both directions")
        table = phrase_table(words, align(words, model), longest)
        say(f"{sum(map(len, table.values())):,} pairs of phrases; an n-gram model of order {order}")
        language = NgramModel.train([list(target) for _, target in words], order)
        made = cls(table, language, np.array(START_WEIGHTS))
        return made.tuned(tune, say) if tune else made

    def translate(self, texts: Sequence[str], *, beam: int = 50) -> list[str]:
        """The translation of each text."""
        decoder = PhraseDecoder(self.table, self.language, self.weights.tolist())
        return [joined(decoder.translate(cut(text), beam=beam)[0].words) for text in texts]

    def tuned(
        self, pairs: Sequence[tuple[str, str]], say: Callable[[str], None] = lambda text: None
    ) -> PhraseTranslator:
        """The same with other weights: those that give the best BLEU on these pairs."""
        words, weights = _cut(pairs, "tuning"), self.weights
        pools: list[dict[tuple[str, ...], tuple[Weights, Stats]]] = [{} for _ in words]
        for number in range(ROUNDS):
            decoder = PhraseDecoder(self.table, self.language, weights.tolist())
            for (source, target), pool in zip(words, pools, strict=True):
                for found in decoder.translate(source, beam=30, n_best=N_BEST):
                    pool[tuple(found.words)] = (found.features, _stats(found.words, target))
            weights, bleu = _climb(weights, pools)
            say(f"tuning, round {number + 1} of {ROUNDS}: BLEU {100 * bleu:.2f}")
        return PhraseTranslator(self.table, self.language, weights)

    def save(self, folder: str | Path) -> None:
        """Write phrases.gz (as Moses reads it), the n-gram model and the weights into a new folder."""
        with replacing(Path(folder)) as temporary:
            temporary.mkdir(parents=True)
            write_table(self.table, temporary / "phrases.gz")
            self.language.save(temporary / "language")
            weights = dict(zip(FEATURES, self.weights.tolist(), strict=True))
            (temporary / "weights.json").write_text(json.dumps(weights, indent=2), "utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> PhraseTranslator:
        """Read such a folder."""
        path = Path(folder)
        if not (path / "weights.json").exists():
            raise UsageError(f"There is no phrase translator in {path}: it has no weights.json.")
        weights = json_in(path / "weights.json")
        if set(weights) != set(FEATURES):
            raise LexigraphError(f"{path / 'weights.json'} has other weights than {', '.join(FEATURES)}.")
        language = NgramModel.load(path / "language")
        return cls(read_table(path / "phrases.gz"), language, np.array([float(weights[name]) for name in FEATURES]))


def align(pairs: Sequence[Sides], model: int = 2) -> list[Links]:
    """The links of pairs of sentences, from IBM models in both directions."""
    there, back = IBMModel.train(pairs, model=model), IBMModel.train([(f, e) for e, f in pairs], model=model)
    return [symmetrised(there.align(e, f), [(i, j) for j, i in back.align(f, e)]) for e, f in pairs]


def cut(text: str) -> list[str]:
    """Words and marks.

    >>> cut("A man, who's old, sleeps.")
    ['A', 'man', ',', "who's", 'old', ',', 'sleeps', '.']
    """
    return TOKEN.findall(text)


def joined(words: Sequence[str]) -> str:
    """Words and marks as a text.

    >>> joined(["A", "man", ",", "old", "(", "and", "grey", ")", "."])
    'A man, old (and grey).'
    """
    return re.sub(r"([(\[„“]) ", r"\1", re.sub(r" ([.,;:!?)\]”])", r"\1", " ".join(words)))


def _cut(pairs: Sequence[tuple[str, str]], what: str) -> list[Sides]:
    words = [(cut(source), cut(target)) for source, target in pairs]
    kept = [(source, target) for source, target in words if source and target]
    if not kept:
        raise UsageError(f"The {what} data has no pair with words on both sides.")
    return list(kept)


def _stats(words: Sequence[str], wanted: Sequence[str]) -> Stats:
    found = [float(len(words)), float(len(wanted))]
    for n in range(1, 5):
        one, other = (Counter(tuple(text[i : i + n]) for i in range(len(text) - n + 1)) for text in (words, wanted))
        found += [float((one & other).total()), float(one.total())]
    return np.array(found)


def _bleu(sums: Stats) -> float:
    """BLEU of summed statistics, without smoothing but for what never matches."""
    matches, possible = sums[2::2].clip(min=1e-9), sums[3::2].clip(min=1e-9)
    short = min(0.0, 1 - sums[1] / max(sums[0], 1e-9))
    return float(np.exp(short + np.log(matches / possible).mean()))


def _climb(weights: Weights, pools: Sequence[dict[tuple[str, ...], tuple[Weights, Stats]]]) -> tuple[Weights, float]:
    """The weights by which the translations that are then best have the best BLEU together."""
    most = max(map(len, pools))
    features = np.zeros((len(pools), most, len(FEATURES)))
    stats = np.zeros((len(pools), most, 10))
    blank = np.full((len(pools), most), -math.inf)
    for number, pool in enumerate(pools):
        for place, (feature, stat) in enumerate(pool.values()):
            features[number, place], stats[number, place], blank[number, place] = feature, stat, 0.0

    def bleu(weights: Weights) -> float:
        best = (features @ weights + blank).argmax(1)
        return _bleu(stats[np.arange(len(pools)), best].sum(0))

    reached = bleu(weights)
    for _ in range(5):
        before = reached
        for k in range(len(FEATURES)):
            tries = weights + GRID[:, None] * np.eye(len(FEATURES))[k] * np.abs(weights).sum() / 2
            scores = [bleu(each) for each in tries]
            if max(scores) > reached + 1e-9:
                reached, weights = max(scores), tries[int(np.argmax(scores))]
        if reached == before:
            break
    return weights / np.abs(weights).sum(), reached
