"""Which answers of a sentence space are doubtful: the limits of latent/confidence.py, and how well they tell.

    python benchmarks/confidence.py MODEL [SENTENCES.txt]

The limits are chosen by sums z(b, x) - z(a, x) + z(a, y) of the built-in grammar's *training* split, which are right
if b(y) comes out, and by sentences of the text (a file of one sentence a line that the model was not trained on),
copied, written from noisy vectors, and read from pictures that were saved as JPEG or shrunk. The grammar's test split
takes no part in that; the table says how the limits of today do there. Paste the lines that are printed last into
latent/confidence.py, and run it again.
"""

from __future__ import annotations

import io
import sys
import warnings
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.metrics import roc_auc_score

import lexigraph
from lexigraph.abilities.decoded import Decoded
from lexigraph.evaluation.latent.sentences import spelled
from lexigraph.latent import confidence
from lexigraph.text.edits import EDITS, edit_quadruples

TEXT = Path(__file__).parents[1] / "docs/tutorials/father-brown.txt"
COUNT, SEED = 30, 7  # quadruples of a family, parallel ones and any
SENTENCES = 300
COLUMNS = (
    *("answers", "right", "round trip of right ones", "nats per token", "AUC of round trip", "AUC of likelihood"),
    *("right ones called doubtful", "wrong ones called doubtful"),
)


def sums(model: lexigraph.TextModel, split: str) -> tuple[np.ndarray, list[str]]:
    """Vectors of sums, and the sentences that are right."""
    drawn = [
        [spelled(text, spaced=False) for text in four]
        for family in EDITS
        for parallel in (False, True)
        for four in edit_quadruples(family, COUNT, SEED, split, parallel=parallel)
    ]
    rows = [four for four in drawn if all(model.fits(four))]
    z = model.encode([text for four in rows for text in four], unnormalised=True).reshape(len(rows), 4, -1)
    return z[:, 1] - z[:, 0] + z[:, 2], [four[3] for four in rows]


def measures(found: list[Decoded], wanted: list[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Round trip and likelihood of each answer, whether it is right, and whether it is called doubtful."""
    near, likely = ([getattr(one.confidence, name) for one in found] for name in ("round_trip", "likelihood"))
    right = [one.text == text for one, text in zip(found, wanted, strict=True)]
    return np.array(near), np.array(likely), np.array(right), np.array([one.confidence.doubtful for one in found])


def changed(pixels: np.ndarray, how: str) -> np.ndarray:
    """A picture after a program has saved it again."""
    image, buffer = Image.fromarray(pixels), io.BytesIO()
    if how == "shrunk":
        side = len(pixels)
        small = image.resize((side // 2, side // 2), Image.Resampling.BICUBIC)
        return np.array(small.resize((side, side), Image.Resampling.BICUBIC))
    image.save(buffer, "JPEG", quality=int(how))
    return np.array(Image.open(buffer).convert("RGB"))


def row(name: str, found: list[Decoded], wanted: list[str]) -> None:
    """A line of the table: how often right, how well each measure tells (AUC), and what the word does."""
    near, likely, right, doubtful = measures(found, wanted)
    cells = [f"{right.mean():.1%}", f"{np.median(near[right]):.3f}", f"{np.median(likely[right]):.3f}"]
    if right.all() or not right.any():
        cells += ["", "", f"{doubtful[right].mean():.1%}", ""]
    else:
        cells += [f"{roc_auc_score(right, near):.3f}", f"{roc_auc_score(right, likely):.3f}"]
        cells += [f"{doubtful[right].mean():.1%}", f"{doubtful[~right].mean():.1%}"]
    print(f"| {name} | {len(right):,} | {' | '.join(cells)} |", flush=True)


def limits(found: list[Decoded], wanted: list[str], share: float) -> tuple[float, float]:
    """What 1 % of the right answers have less of as a round trip, and this share as likelihood."""
    near, likely, right, _ = measures(found, wanted)
    return float(np.quantile(near[right], 0.01)), float(np.quantile(likely[right], share))


def main() -> None:
    warnings.simplefilter("ignore")
    model = lexigraph.load(sys.argv[1])
    usual, most = model.default_noise(None), model.network.noise_level
    lines = Path(sys.argv[2] if len(sys.argv) > 2 else TEXT).read_text(encoding="utf-8").splitlines()
    texts = [line for line, fits in zip(lines, model.fits(lines), strict=True) if fits][-SENTENCES:]
    z = model.encode(texts)
    noises = sorted({0.0, usual, most})
    answers = {}
    for split in ("train", "test"):
        vectors, wanted = sums(model, split)
        for noise in noises[:2]:
            answers[f"sums, {split} split, noise {noise:g}"] = (
                model.decode(vectors, noise=noise, confidence=True),
                wanted,
            )
    answers["copies"] = model.decode(z, confidence=True), texts
    if model.network.draws:
        drawn = model.pictures(z)
        for how in ("95", "75", "shrunk"):
            again = np.stack([changed(pixels, how) for pixels in drawn])
            name = "pictures, shrunk to half" if how == "shrunk" else f"pictures, JPEG {how}"
            answers[name] = model.read(again, confidence=True), texts
    print(f"| | {' | '.join(COLUMNS)} |\n" + "| --- " * (1 + len(COLUMNS)) + "|")
    for name, (found, wanted) in answers.items():
        row(name, found, wanted)
    chosen = [limits(*answers[f"sums, train split, noise {noise:g}"], 0.05) for noise in noises[:2]]
    if len(noises) > 2:
        noisy = z + most * np.random.default_rng(SEED).standard_normal(z.shape).astype(np.float32)
        free = model.decode(noisy, noise=most, confidence=True)
        chosen.append((0.0, limits(free, [one.text for one in free], 0.05)[1]))
    print(f"\nNOISES = {tuple(noises)}")
    print(f"LEAST_ROUND_TRIP = {tuple(round(near, 2) for near, _ in chosen)}")
    print(f"LEAST_LIKELIHOOD = {tuple(round(likely, 3) for _, likely in chosen)}")
    if model.network.draws:
        every = [pair for name, pair in answers.items() if name.startswith("pictures")]
        found, wanted = [one for pair in every for one in pair[0]], [text for pair in every for text in pair[1]]
        print(f"OF_PICTURES = {tuple(round(limit, 2) for limit in limits(found, wanted, 0.01))}")
    now = (confidence.NOISES, confidence.LEAST_ROUND_TRIP, confidence.LEAST_LIKELIHOOD, confidence.OF_PICTURES)
    print("now:", *now)


if __name__ == "__main__":
    main()
