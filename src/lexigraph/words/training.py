"""Learn word vectors from a text file, in any of the ways that Lexigraph knows.

    wv = WordVectors.train("my.txt", method="skipgram", dim=100, window=5, negative=5, epochs=5, threads=2)

| method | what it is | settings of its own |
| --- | --- | --- |
| skipgram, cbow | word2vec | loss, negative, ns_exponent, sample, alpha; shared, start |
| fasttext, fasttext-cbow | word2vec with n-grams: unseen words have vectors | the first five; minn, maxn, buckets |
| glove | least squares on the logarithms of co-occurrences | alpha, x_max, combine |
| ppmi-svd, hellinger, lsa | counts and their principal directions | |

Settings of all: dim, window, min_count, max_words, epochs, threads, seed, split; loss is negative, hierarchical or
softmax. One thread gives the same bits every time; several are faster and differ a little from run to run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words import formats
from lexigraph.words.checkpoint import NO_CHECKPOINT, Checkpoint
from lexigraph.words.corpus import Corpus
from lexigraph.words.progress import Meter
from lexigraph.words.settings import Settings
from lexigraph.words.subwords import Subwords, ngram_rows


def train(
    file: str | Path, settings: Settings, tell: Callable[[str], None] | None = None, checkpoint: Path | None = None
) -> tuple[formats.Table, list[float]]:
    """Learn vectors from a text file; returns them and the mean loss of each epoch, where there are epochs.

    tell: takes the sentences that say how it goes; with one, a bar is shown on a terminal as well.
    checkpoint: a file that the training is kept in after each epoch and goes on from; it is removed at the end.
    """
    with Meter("reading", "words", 0, tell) as meter:
        corpus = Corpus.read(file, settings.min_count, settings.max_words, settings.split, meter.update)
    with corpus:
        if len(corpus.words) < 2:
            raise LexigraphError(
                f"{file} has one word that is seen often enough, {corpus.words[0]!r}: vectors need two."
            )
        if tell:
            positions = corpus.tokens + corpus.dropped
            tell(f"{len(corpus.words):,} words; {corpus.dropped:,} of {positions:,} positions are left out.")
        about = {name: value for name, value in vars(settings).items() if name not in ("threads", "start")}
        kept = Checkpoint(checkpoint, {**about, "text": corpus.fingerprint})
        learned = learn(corpus, settings, tell, kept)
        kept.remove()
        return learned


def learn(
    corpus: Corpus,
    settings: Settings,
    tell: Callable[[str], None] | None = None,
    checkpoint: Checkpoint = NO_CHECKPOINT,
) -> tuple[formats.Table, list[float]]:
    """Learn vectors from a text that has been read."""
    if settings.method == "glove":
        vectors, losses = _glove(corpus, settings, tell, checkpoint)
        return formats.Table(corpus.words, vectors, corpus.counts, None), losses
    if settings.method in ("ppmi-svd", "hellinger", "lsa"):
        from lexigraph.words.counts import vectors_from_counts

        vectors = vectors_from_counts(
            corpus, settings.method, settings.dim, settings.window, settings.side, seed=settings.seed
        )
        return formats.Table(corpus.words, vectors, corpus.counts, None), []
    return _word2vec(corpus, settings, tell, checkpoint)


def _word2vec(
    corpus: Corpus, settings: Settings, tell: Callable[[str], None] | None, checkpoint: Checkpoint
) -> tuple[formats.Table, list[float]]:
    from lexigraph.words import word2vec

    parts = start = None
    count = len(corpus.words)
    if ngrams := settings.method.startswith("fasttext"):
        rows, starts = ngram_rows(corpus.words, settings.buckets, settings.minn, settings.maxn)
        own = np.arange(count)  # a word's own row, then those of its n-grams, the next word's …
        parts = (starts + np.arange(count + 1), np.insert(rows + count, starts[:-1], own).astype(np.int32))
    if settings.start is not None:
        start = _known_rows(corpus.words, settings.start, settings.dim)
    with Meter(settings.method, "words", settings.epochs * corpus.tokens, tell) as meter:
        learned = word2vec.fit(
            corpus,
            settings,
            parts=parts,
            rows=count + settings.buckets if ngrams else count,
            start=start,
            told=meter.update,
            checkpoint=checkpoint,
        )
    words, vectors, counts, subwords = corpus.words, learned.vectors(), corpus.counts, None
    if ngrams:
        subwords = Subwords(learned.v[count:, : settings.dim], settings.buckets, settings.minn, settings.maxn)
    if settings.start is not None:  # words that the new text does not have stay as they were
        known = set(words)
        others = [row for row, word in enumerate(settings.start.words) if word not in known]
        words = words + [settings.start.words[row] for row in others]
        vectors = np.concatenate([vectors, settings.start.vectors[others]])
        old = settings.start.counts
        counts = np.concatenate([counts, old[others] if old is not None else np.zeros(len(others), np.int64)])
    return formats.Table(words, vectors, counts, subwords), learned.losses


def _known_rows(words: list[str], start: Any, dim: int) -> np.ndarray:
    """The vectors to begin with: of each word that has one, else NaN."""
    if start.vectors.shape[1] != dim:
        raise UsageError(
            f"The vectors to go on from have {start.vectors.shape[1]} dimensions: set dim to that, not {dim}."
        )
    index = {word: row for row, word in enumerate(start.words)}
    rows = np.array([index.get(word, -1) for word in words])
    known = np.full((len(words), dim), np.nan, np.float32)
    known[rows >= 0] = start.vectors[rows[rows >= 0]]
    return known


def _glove(
    corpus: Corpus, settings: Settings, tell: Callable[[str], None] | None, checkpoint: Checkpoint
) -> tuple[np.ndarray, list[float]]:
    from lexigraph.words import glove
    from lexigraph.words.cooccurrence import cooccurrence

    with ExitStack() as stack:
        counts = stack.enter_context(cooccurrence(corpus, settings.window, settings.side, "harmonic"))
        meter = stack.enter_context(Meter("glove", "pairs", settings.epochs * counts.nonzeros, tell))
        return glove.fit(counts, len(corpus.words), settings, meter.update, checkpoint)
