"""What each layer of a reader knows of its words: a linear classifier of their tags for each (Belinkov et al. 2017).

    p(tag of w_t) = softmax(W h_t + b)        h_t: the state of one layer at word t, the mean of its pieces

W and b are fitted on the first half of the sentences, one layer at a time, and judged on the second half; the reader
stays as it is. Beside them stands what needs no context: the tag that each word had most often in the first half.

Shapes: B sentences, T words, P pieces of a word, N words of all sentences, d width of a state.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from lexigraph.abilities.textmodel import BATCH_SIZE, TextModel
from lexigraph.errors import UsageError
from lexigraph.evaluation.intervals import Figure, metric
from lexigraph.nn.network import Reader, read_words
from lexigraph.objectives.terms import Batch
from lexigraph.text import builtin, files
from lexigraph.text.readers import read
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.views.reading import reader_of

MOST_WORDS = 16_000  # of both halves together: more make a probe slower, and no better
SENTENCES = 2_000  # of the built-in corpus
FEWEST = 20  # words that are judged

Sentence = tuple[list[str], list[str]]  # words, and their tags


@dataclass(frozen=True)
class Probed:
    """How often the tags that a layer's probe names are right, on sentences that it was not fitted on."""

    layers: Mapping[int, Figure]
    most_frequent: Figure  # the most frequent tag of each word
    fitted: int  # words
    judged: int
    tags: int  # different ones


def tagged(file: str) -> list[Sentence]:
    """The sentences of a file with tags, equal ones once."""
    fields = ("tokens", "tags")
    if files.built_in(file):
        records = builtin.records(fields, SENTENCES, file)
    else:
        records = read(file, needed=fields)
    found: dict[tuple[str, ...], list[str]] = {}
    count = 0
    for record in records:
        words, tags = (_listed(record.columns.get(field, "")) for field in fields)
        if len(words) != len(tags):
            raise UsageError(f"{file}, line {record.line}: there are {len(words)} words and {len(tags)} tags.")
        if words and tuple(words) not in found:
            found[tuple(words)] = tags
            count += len(words)
        if count >= MOST_WORDS:
            break
    return [(list(words), tags) for words, tags in found.items()]


def _listed(value: object) -> list[str]:
    return value.split() if isinstance(value, str) else list(map(str, value))  # type: ignore[call-overload]


def probed(model: TextModel, sentences: Sequence[Sentence], word: str = "") -> Probed:
    """A probe of each layer; of one word alone, if it is named, whatever its case."""
    if (found := reader_of(model)) is None:
        raise UsageError(
            f"This {model.recipe.system} model shows no layers to a probe: take one that reads for others, as elmo "
            "or bert, or one that was trained with --from such a run."
        )
    reader, tokenizer = found
    half = len(sentences) // 2
    words = [each.lower() for sentence, _ in sentences for each in sentence]
    tags = np.array([tag for _, row in sentences for tag in row])
    owner = np.repeat(np.arange(len(sentences)), [len(row) for _, row in sentences])
    chosen = np.array([not word or each == word.lower() for each in words], bool)
    first, second = np.flatnonzero(chosen & (owner < half)), np.flatnonzero(chosen & (owner >= half))
    if min(len(first), len(second)) < FEWEST or len(set(tags[first].tolist())) < 2:
        what = repr(word) if word else "a word with a tag"
        raise UsageError(
            f"The first half of the sentences has {what} {len(first)} times, the second {len(second)} times: a probe "
            f"needs {FEWEST} in each, and two different tags."
        )
    usual = _most_frequent([words[n] for n in first], tags[first].tolist())
    guessed = np.array([usual[words[n]] for n in second])
    states = list(_states(model, reader, tokenizer, [row for row, _ in sentences]))
    layers = {
        number: _right(_fitted(x[first], tags[first], x[second]) == tags[second], owner[second])
        for number, x in enumerate(np.concatenate(each) for each in zip(*states, strict=True))
    }
    right = _right(guessed == tags[second], owner[second])
    return Probed(layers, right, len(first), len(second), len(set(tags[chosen].tolist())))


def _most_frequent(words: Sequence[str], tags: Sequence[str]) -> Mapping[str, str]:
    """The tag of each word; of those that are not known, the most frequent one of all."""
    counts = defaultdict[str, Counter[str]](Counter)
    for word, tag in zip(words, tags, strict=True):
        counts[word][tag] += 1
    (usual, _), *_ = Counter(tags).most_common(1)
    return defaultdict(lambda: usual, {word: tally.most_common(1)[0][0] for word, tally in counts.items()})


def _fitted(x: Float[np.ndarray, "N d"], tags: np.ndarray, held_out: Float[np.ndarray, "M d"]) -> np.ndarray:
    """The tags that logistic regression names for words that it was not fitted on."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    probe = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200, tol=1e-3))
    return np.asarray(probe.fit(x, tags).predict(held_out))


def _right(right: np.ndarray, owner: np.ndarray) -> Figure:
    """The share that is right, and its interval over sentences."""
    _, place = np.unique(owner, return_inverse=True)
    return metric(np.bincount(place, right), np.bincount(place).astype(np.float64))


def _states(
    model: TextModel, reader: Reader, tokenizer: Tokenizer, sentences: Sequence[list[str]]
) -> Iterator[list[Float[np.ndarray, "N d"]]]:
    """The states of all layers for the words of some sentences after others."""
    for start in range(0, len(sentences), BATCH_SIZE):
        rows = [tokenizer.encode_words(words) for words in sentences[start : start + BATCH_SIZE]]
        tensors, positions = read_words(reader, rows, tokenizer.eos)
        places = torch.from_numpy(positions)
        words = torch.arange(places.shape[1]) < torch.tensor([len(row) for row in rows])[:, None]
        pieces = places[words]  # (N, P); -1: there is none
        inside = (pieces >= 0).float()[:, :, None]
        with torch.inference_mode():
            layers = [
                layer.flatten(0, 1).float().cpu() for layer in reader.states(Batch(tensors).to(model.device)).layers
            ]
            means = [(layer[pieces.clamp(min=0)] * inside).sum(1) / inside.sum(1).clamp(min=1) for layer in layers]
        yield [mean.numpy() for mean in means]
