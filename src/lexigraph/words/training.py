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

import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import gettempdir

import numpy as np

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.outputs import reason
from lexigraph.recipe import Data
from lexigraph.text.files import Given, named, shown
from lexigraph.text.remarks import remarks
from lexigraph.words import formats
from lexigraph.words.checkpoint import NO_CHECKPOINT, Checkpoint
from lexigraph.words.corpus import Corpus
from lexigraph.words.progress import Meter, Report
from lexigraph.words.settings import Settings
from lexigraph.words.subwords import Subwords, ngram_rows

ELIDED = re.compile(r"(?:[ldjnsmtc]|qu|dell|all|nell|sull|un)'[aeiouyhàâéèêîôœù]")


def train(
    text: Given | Data,
    settings: Settings,
    report: Report | None = None,
    checkpoint: Path | None = None,
    start: formats.Table | None = None,
) -> tuple[formats.Table, list[float]]:
    """Learn vectors from a text; returns them and the mean loss of each epoch, where there are epochs.

    report: takes the sentences that say how it goes; with one, a bar is shown on a terminal as well.
    checkpoint: a file that the training is kept in after each epoch and goes on from; it is removed at the end.
    start: vectors to go on from.
    """
    check_start(settings, start)
    with reading(text, settings, report) as corpus:
        kept = Checkpoint(checkpoint, identity(corpus, settings))
        learned = learn(corpus, settings, report, kept, start)
        kept.remove()
        return learned


@contextmanager
def reading(text: Given | Data, settings: Settings, report: Report | None = None) -> Iterator[Corpus]:
    """A text as the numbers of its words, if it has words enough."""
    settings.refuse_beyond_memory()
    text = text if isinstance(text, Data) else Data(train=named(text))
    if report:
        for remark in remarks(replace(text, unit="stream"), ("text",), settings.split):  # wrapped lines: little harm
            report(f"! {remark}")
    with Meter("reading", "words", 0, report) as meter:
        try:
            corpus = Corpus.read(text, settings.min_count, settings.max_words, settings.split, meter.update)
        except OSError as error:
            raise LexigraphError(
                f"The words of {shown(text.train)} could not be kept in {gettempdir()}: {reason(error)}. TMPDIR can "
                "name another folder."
            ) from None
    with corpus:
        if len(corpus.words) < 2:
            raise LexigraphError(
                f"{shown(text.train)} has one word that is seen often enough, {corpus.words[0]!r}: vectors need two."
            )
        if report:
            positions = corpus.tokens + corpus.dropped
            if settings.split == "words" and (elided := _elided(corpus)):
                report(f"! Words such as {elided!r} are two, l' and homme: --set words.split=elision parts them.")
            report(f"{len(corpus.words):,} words; {corpus.dropped:,} of {positions:,} positions are left out.")
        settings.refuse_beyond_memory(len(corpus.words))
        yield corpus


def _elided(corpus: Corpus) -> str:
    """The most frequent word with an elided article or pronoun, if the text has many: it is French or Italian."""
    found = [(count, word) for word, count in zip(corpus.words, corpus.counts, strict=True) if ELIDED.match(word)]
    return max(found)[1] if sum(count for count, _ in found) > 0.01 * corpus.tokens else ""


def identity(corpus: Corpus, settings: Settings) -> Mapping[str, object]:
    """What a checkpoint must agree with: the text, and all settings but how long and with how many threads."""
    kept = {name: value for name, value in vars(settings).items() if name not in ("threads", "epochs")}
    return kept | {"text": corpus.fingerprint}


def check_start(settings: Settings, start: formats.Table | None) -> None:
    """Refuse vectors that a training cannot go on from."""
    if start is None:
        return
    if settings.method not in ("skipgram", "cbow"):
        raise UsageError(
            f"Only skipgram and cbow go on from other vectors: leave out --from (start) for {settings.method}."
        )
    dim = start.vectors.shape[1]
    if dim != settings.dim:
        raise UsageError(f"The vectors to go on from have {dim} dimensions: set dim to that, not {settings.dim}.")


def learn(
    corpus: Corpus,
    settings: Settings,
    report: Report | None = None,
    checkpoint: Checkpoint = NO_CHECKPOINT,
    start: formats.Table | None = None,
) -> tuple[formats.Table, list[float]]:
    """Learn vectors from a text that has been read."""
    settings = settings.resolved().with_threads()
    if settings.method == "glove":
        vectors, losses = _glove(corpus, settings, report, checkpoint)
        return formats.Table(corpus.words, vectors, corpus.counts, None), losses
    if not settings.has_epochs:
        from lexigraph.words.counts import vectors_from_counts

        vectors = vectors_from_counts(
            corpus, settings.method, settings.dim, settings.window, settings.side, seed=settings.seed
        )
        return formats.Table(corpus.words, vectors, corpus.counts, None), []
    return _word2vec(corpus, settings, report, checkpoint, start)


def _word2vec(
    corpus: Corpus,
    settings: Settings,
    report: Report | None,
    checkpoint: Checkpoint,
    start: formats.Table | None,
) -> tuple[formats.Table, list[float]]:
    from lexigraph.words import word2vec

    parts = None
    count = len(corpus.words)
    if ngrams := settings.method.startswith("fasttext"):
        rows, starts = ngram_rows(corpus.words, settings.buckets, settings.minn, settings.maxn)
        own = np.arange(count)  # a word's own row, then those of its n-grams, the next word's …
        parts = (starts + np.arange(count + 1), np.insert(rows + count, starts[:-1], own).astype(np.int32))
    with Meter(settings.method, "words", settings.epochs * corpus.tokens, report) as meter:
        learned = word2vec.fit(
            corpus,
            settings,
            parts=parts,
            rows=count + settings.buckets if ngrams else count,
            start=None if start is None else _known_rows(corpus.words, start),
            report=meter.update,
            checkpoint=checkpoint,
        )
    words, vectors, counts, subwords = corpus.words, learned.vectors(), corpus.counts, None
    if ngrams:
        subwords = Subwords(learned.v[count:, : settings.dim], settings.buckets, settings.minn, settings.maxn)
    if start is not None:  # words that the new text does not have stay as they were
        known = set(words)
        others = [row for row, word in enumerate(start.words) if word not in known]
        words = words + [start.words[row] for row in others]
        vectors = np.concatenate([vectors, start.vectors[others]])
        old = start.counts
        counts = np.concatenate([counts, old[others] if old is not None else np.zeros(len(others), np.int64)])
    return formats.Table(words, vectors, counts, subwords), learned.losses


def _known_rows(words: list[str], start: formats.Table) -> np.ndarray:
    """The vectors to begin with: of each word that has one, else NaN."""
    index = {word: row for row, word in enumerate(start.words)}
    rows = np.array([index.get(word, -1) for word in words])
    known = np.full((len(words), start.vectors.shape[1]), np.nan, np.float32)
    known[rows >= 0] = start.vectors[rows[rows >= 0]]
    return known


def _glove(
    corpus: Corpus, settings: Settings, report: Report | None, checkpoint: Checkpoint
) -> tuple[np.ndarray, list[float]]:
    from lexigraph.words import glove
    from lexigraph.words.cooccurrence import cooccurrence

    with ExitStack() as stack:
        counts = stack.enter_context(cooccurrence(corpus, settings.window, settings.side, "harmonic"))
        meter = stack.enter_context(Meter("glove", "pairs", settings.epochs * counts.nonzeros, report))
        return glove.fit(counts, len(corpus.words), settings, meter.update, checkpoint)
