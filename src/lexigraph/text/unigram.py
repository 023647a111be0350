"""A unigram language model of pieces (Kudo 2018): learning it, as SentencePiece does, and sampling from it.

A text's probability is the sum over its segmentations of the product of its pieces' probabilities. Begin
with many frequent substrings; repeat: fit the probabilities by EM, then drop the pieces whose loss costs the
least likelihood,

    loss(x) = c(x) (log p(x) − log p(best other segmentation of x))        c(x) the expected count

until `size` are left. Single characters always stay. The trainer in `tokenizers` gives other scores on every
run, because it sums in the order of a hash map; here the same text gives the same numbers.

Words lie one after another in flat arrays, each with one slot more than it has characters; a piece that stands
in a word is an edge from slot to slot, and the forward-backward sums run over all words at once.
"""

from __future__ import annotations

import math
import random
import unicodedata
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from itertools import accumulate, groupby, pairwise

import numpy as np

LONGEST_PIECE = 16
LONGEST_WORD = 32  # cut there: products of 32 probabilities do not underflow
SEEDS_PER_PIECE = 20  # candidates at the start, for each piece wanted
SHRINK = 0.75  # kept in each round


def learn_pieces(
    words: Mapping[str, int],
    size: int,
    alphabet: Collection[str],
    min_count: int = 2,
    never: Collection[str] = (),
) -> list[tuple[str, float]]:
    """At most `size` pieces with their log-probabilities, the likeliest first.

    All characters of `alphabet` become pieces, and no piece holds another; the strings in `never` become none.
    """
    texts: Counter[str] = Counter()
    for word, count in words.items():
        for run in _runs(word, alphabet):
            texts[run] += count
    ordered = sorted(texts)
    weight = np.array([texts[text] for text in ordered], np.float64)
    pieces, expected = _seeds(ordered, weight, size * SEEDS_PER_PIECE, alphabet, min_count, frozenset(never))
    corpus, inside = Lattice(ordered, pieces), Lattice(pieces, pieces, proper=True)
    single = np.array([len(piece) == 1 for piece in pieces])
    alive = np.ones(len(pieces), bool)

    while True:
        for _ in range(2):
            score = _log_probabilities(expected, alive, single)
            expected = corpus.expected_counts(score, weight)
            alive &= single | (expected >= 0.5)
        if alive.sum() <= size:
            break
        score = _log_probabilities(expected, alive, single)
        with np.errstate(invalid="ignore"):
            loss = expected * (score - inside.best(score))
        loss[single] = np.inf
        loss[~alive] = -np.inf
        keep = max(size, int(alive.sum() * SHRINK))
        alive = np.zeros(len(pieces), bool)
        alive[np.argsort(-loss, kind="stable")[:keep]] = True  # pieces are sorted, so ties fall canonically
        corpus.drop(alive)
        inside.drop(alive)

    score = _log_probabilities(expected, alive, single)
    # Rounded, so that another processor's last digit does not make another file.
    learned = [(pieces[i], round(float(score[i]), 6)) for i in np.flatnonzero(alive)]
    return sorted(learned, key=lambda entry: (-entry[1], entry[0]))


class Lattice:
    """Where pieces stand in texts: edges, in groups of one start and one length, by start."""

    def __init__(self, texts: list[str], pieces: list[str], proper: bool = False):
        """`proper` leaves out a piece that is the whole text."""
        code, lengths = _codes(texts)
        first = np.cumsum(lengths + 1) - lengths - 1  # each text's first slot
        self.first, self.last = first, first + lengths
        slot = np.arange(len(code)) + np.repeat(np.arange(len(texts)), lengths)  # of each character
        offset = slot - np.repeat(first, lengths)
        room = np.repeat(lengths, lengths) - offset
        trie = _Trie(pieces)
        node = np.zeros(len(code), np.int64)
        place = np.arange(len(code))
        found = []
        for length in range(1, LONGEST_PIECE + 1):
            place, node = place[room[place] >= length], node[room[place] >= length]
            node = trie.step(node, code[place + length - 1])
            place, node = place[node >= 0], node[node >= 0]
            is_piece = trie.piece[node] >= 0
            if proper:
                is_piece &= (room[place] > length) | (offset[place] > 0)
            found.append((place[is_piece], trie.piece[node[is_piece]], np.full(is_piece.sum(), length)))
        at, piece, length_of = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((length_of, offset[at]))
        self.start, self.piece = slot[at[order]], piece[order]
        self.end = self.start + length_of[order]
        self.group = offset[at[order]] * (LONGEST_PIECE + 1) + length_of[order]
        self._find_groups()

    def _find_groups(self) -> None:
        bounds = [*np.flatnonzero(np.diff(self.group, prepend=-1)).tolist(), len(self.group)]
        self.groups = [slice(a, b) for a, b in pairwise(bounds)]

    def drop(self, alive: np.ndarray) -> None:
        """Forget the edges of pieces that are no longer alive."""
        keep = alive[self.piece]
        self.start, self.end = self.start[keep], self.end[keep]
        self.piece, self.group = self.piece[keep], self.group[keep]
        self._find_groups()

    def expected_counts(self, score: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """How often each piece is used, over all segmentations of all texts."""
        probability = np.exp(score)[self.piece]
        forward, backward = np.zeros(self.last[-1] + 1), np.zeros(self.last[-1] + 1)
        forward[self.first] = backward[self.last] = 1
        for group in self.groups:  # within a group no two edges share an end, so += is safe
            forward[self.end[group]] += forward[self.start[group]] * probability[group]
        for group in reversed(self.groups):
            backward[self.start[group]] += backward[self.end[group]] * probability[group]
        scale = np.repeat(weight / forward[self.last], self.last - self.first + 1)
        used = forward[self.start] * probability * backward[self.end] * scale[self.start]
        return np.bincount(self.piece, used, len(score))

    def best(self, score: np.ndarray) -> np.ndarray:
        """The log-probability of each text's best segmentation (Viterbi)."""
        value = np.full(self.last[-1] + 1, -np.inf)
        value[self.first] = 0
        for group in self.groups:
            end = self.end[group]
            value[end] = np.maximum(value[end], value[self.start[group]] + score[self.piece[group]])
        return value[self.last]


class _Trie:
    """Pieces as a tree of characters that many walkers descend at once. Node 0 is the root."""

    def __init__(self, pieces: list[str]):
        children: dict[int, int] = {}
        piece_at = [-1]
        for i, piece in enumerate(pieces):
            node = 0
            for character in piece:
                node = children.setdefault(node << 21 | ord(character), len(piece_at))
                if node == len(piece_at):
                    piece_at.append(-1)
            piece_at[node] = i
        self.piece = np.array(piece_at)
        keys = np.fromiter(children, np.int64, len(children))
        order = np.argsort(keys)
        self.key, self.child = keys[order], np.fromiter(children.values(), np.int64, len(keys))[order]

    def step(self, node: np.ndarray, code: np.ndarray) -> np.ndarray:
        """The children of these nodes by these characters; -1 where there is none."""
        key = node << 21 | code
        at = np.minimum(np.searchsorted(self.key, key), len(self.key) - 1)
        return np.where(self.key[at] == key, self.child[at], -1)


def _seeds(
    texts: list[str],
    weight: np.ndarray,
    wanted: int,
    alphabet: Collection[str],
    min_count: int,
    never: frozenset[str],
) -> tuple[list[str], np.ndarray]:
    """Candidate pieces, sorted, and their counts: all characters, and the substrings that cover the most text."""
    code, lengths = _codes(texts)
    character_weight = np.repeat(weight, lengths)
    room = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(code))
    joined = "".join(texts)
    counts = dict.fromkeys(alphabet, 0.0)
    place, node = np.arange(len(code)), np.zeros(len(code), np.int64)
    columns: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  # where each one first stands, length, count
    for length in range(1, LONGEST_PIECE + 1):
        # A frequent substring begins with a frequent one: only those positions are looked at again.
        place, node = place[room[place] >= length], node[room[place] >= length]
        if not len(place):
            break
        _, example, node = np.unique(node << 21 | code[place + length - 1], return_index=True, return_inverse=True)
        count = np.bincount(node, character_weight[place])
        columns.append((place[example], np.full(len(count), length), count))
        frequent = count[node] >= min_count
        place, node = place[frequent], node[frequent]
    at, length_of, count = (np.concatenate(column) for column in zip(*columns, strict=True))
    single = length_of == 1
    counts.update((joined[a], float(n)) for a, n in zip(at[single], count[single], strict=True))
    many = np.flatnonzero(~single & (count >= min_count))
    many = many[np.argsort(-(count * length_of)[many], kind="stable")[:wanted]]
    for a, n, c in zip(at[many].tolist(), length_of[many].tolist(), count[many].tolist(), strict=True):
        if joined[a : a + n] not in never:
            counts[joined[a : a + n]] = c
    pieces = sorted(counts)
    return pieces, np.array([counts[piece] for piece in pieces])


def _log_probabilities(expected: np.ndarray, alive: np.ndarray, single: np.ndarray) -> np.ndarray:
    """Log-probabilities from counts, in Kudo's Bayesian form, which makes rare pieces rarer still."""
    from scipy.special import digamma

    count = np.where(single, np.maximum(expected, 0.5), expected)
    score = np.full(len(count), -np.inf)
    score[alive] = digamma(count[alive]) - digamma(count[alive].sum())
    return score


def _codes(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Every character's code point, and the length of each text."""
    code = np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32).astype(np.int64)
    return code, np.fromiter(map(len, texts), np.int64, len(texts))


def _runs(word: str, alphabet: Collection[str]) -> Iterator[str]:
    """The parts of a word that a piece may not cross, as in SentencePiece: letters, digits and signs stay apart."""
    mark = "▁" if word.startswith("▁") else ""
    start = len(mark)
    for kind, group in groupby(
        word[start:], key=lambda c: _KINDS[unicodedata.category(c)[0]] if c in alphabet else ""
    ):
        run = "".join(group)
        if kind:
            run = mark + run
            yield from (run[i : i + LONGEST_WORD] for i in range(0, len(run), LONGEST_WORD))
        mark = ""


_KINDS = {"L": "letter", "M": "letter", "N": "digit", "P": "sign", "S": "sign", "Z": "sign", "C": "sign"}


def sample(word: str, scores: Mapping[str, float], alpha: float, rng: random.Random) -> list[str]:
    """A segmentation of a word, drawn with probability ∝ P^alpha; a character without a score is a piece, too.

    Forward filtering: total[end] = log Σ P^alpha over the segmentations of word[:end]. Backward sampling: the last
    piece by its share of total[end], then the one before it.
    """
    ways: list[list[tuple[float, int]]] = [[]]  # for each end: the weight of each last piece, and its start
    total = [0.0]
    for end in range(1, len(word) + 1):
        ways.append([])
        for start in range(max(0, end - LONGEST_PIECE), end):
            score = scores.get(word[start:end], 0.0 if start == end - 1 else None)
            if score is not None:
                ways[end].append((total[start] + alpha * score, start))
        top = max(weight for weight, _ in ways[end])
        total.append(top + math.log(sum(math.exp(weight - top) for weight, _ in ways[end])))
    pieces: list[str] = []
    end = len(word)
    while end:
        shares = list(accumulate(math.exp(weight - total[end]) for weight, _ in ways[end]))
        _, start = ways[end][min(bisect(shares, rng.random() * shares[-1]), len(shares) - 1)]
        pieces.append(word[start:end])
        end = start
    return pieces[::-1]
