"""Word vectors whose sum over a sentence is its SIF vector (Arora et al. 2017): a start for `sentence-average`.

python benchmarks/weighted_vectors.py own.vec words.txt paraphrases.txt weighted.vec

    x_w = a / (a + p(w)) (v_w - (v_w · u) u)        u: first principal direction of weighted means of sentences

p(w) is counted in words.txt, which the vectors were learned from; sentences are the first 20,000 of the third file.
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import numpy as np
from meaning import Words

from lexigraph.text import readers
from lexigraph.words.vectors import WordVectors

A, SENTENCES = 1e-3, 20_000


def main() -> None:
    own, counted, sentences, out = map(Path, sys.argv[1:])
    words = Words(own, counted)
    p = np.array([words.counts[word] for word in words.index]) / words.counts.total()
    vectors = words.table * (A / (A + p))[:, None]
    texts = islice((line for line in readers.read_lines(sentences) if line.strip()), SENTENCES)
    means = np.stack([vectors[words.of(text)].mean(0) for text in texts])
    u = np.linalg.svd(means, full_matrices=False)[2][0]
    vectors -= np.outer(vectors @ u, u)
    WordVectors(list(words.index), vectors.astype(np.float32)).save(out)


if __name__ == "__main__":
    main()
