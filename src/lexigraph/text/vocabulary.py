"""Learning what a tokenizer knows: for each kind (see tokenizer.py), how text is split and which pieces it has."""

from __future__ import annotations

import heapq
import json
import os
import random
import string
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import Literal, NotRequired, TypedDict

import numpy as np
import tokenizers as hf
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

from lexigraph.errors import LexigraphError
from lexigraph.text import files, readers, unigram, wordpiece
from lexigraph.text.readers import Json

KINDS = ("char", "word", "bpe", "wordpiece", "unigram", "sentencepiece")
PAD, UNK, EOS = SPECIAL = ("<pad>", "<unk>", "<eos>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))  # how SentencePiece writes the bytes it falls back to
NEVER = -1e4  # the score of pieces that no text may reach: worse than any segmentation into characters
NO_TEXT = "The source holds no text to learn from, or nothing in it is seen min_count times."
TOO_SMALL = "The special tokens and single characters alone are {}: size {} is too small."
BLOCK_CHARS = 1 << 22  # characters handled at once, in counting and in encoding
CAPITAL = "\x0e"  # the mark of a capital letter: the control character "shift out", which no text needs
Case = Literal["kept", "lower", "marked"]  # of letters


class Known(TypedDict):
    """What Lexigraph adds to a tokenizer file."""

    format: int
    kind: str
    special: list[str] | dict[str, int]  # the first tokens in their order or, of an imported one, with their ids
    roles: NotRequired[dict[str, int]]
    size: NotRequired[int]  # of an imported one


class Model(TypedDict, total=False):
    """How pieces are found: of Hugging Face's many keys, those that are read here."""

    vocab: dict[str, int] | list[tuple[str, float]]  # a unigram model has scores
    merges: list[tuple[str, str]]
    lexigraph: Known


class Added(TypedDict):
    """A token that is cut out of texts before anything else."""

    id: int
    content: str
    single_word: bool
    lstrip: bool
    rstrip: bool
    normalized: bool
    special: bool


class Content(TypedDict):
    """A tokenizer file of Hugging Face's."""

    model: Model
    added_tokens: NotRequired[list[Added]]
    decoder: NotRequired[dict[str, Json] | None]
    padding: NotRequired[dict[str, Json] | None]
    truncation: NotRequired[dict[str, Json] | None]
    post_processor: NotRequired[dict[str, Json] | None]


Texts = str | os.PathLike | Iterable[str] | Iterable[os.PathLike]  # a file, several, or texts themselves


def learn(
    source: Texts, kind: str, size: int, names: list[str], case: Case, min_count: int, seed: int, sample_chars: int
) -> Content:
    """A vocabulary of at most `size` tokens, `names` the first of them, as a tokenizer file of Hugging Face's."""
    shell, lines = _shell(kind, case), _lines(source)
    if kind == "char":
        shell.model = _char_model(shell, lines, names, size, min_count)
    elif kind == "bpe":
        shell.model = _bpe_model(shell, _sample(lines, sample_chars, seed), names, size, max(2, min_count))
    else:
        words = _count_words(shell, _sample(lines, sample_chars, seed))
        shell.model = _word_model(kind, words, names, size, min_count)
    return json.loads(shell.to_str())


def of_words(words: Iterable[str], case: Case) -> Content:
    """The vocabulary of these words, in their order, likewise."""
    shell = _shell("word", case)
    shell.model = models.WordLevel(_numbered(dict.fromkeys([*SPECIAL, *words])), unk_token=UNK)
    return json.loads(shell.to_str())


# --- The six kinds -----------------------------------------------------------------------------------------


def _shell(kind: str, case: Case) -> hf.Tokenizer:
    """What stands around the model: normalising, splitting into words, joining again."""
    shell = hf.Tokenizer(models.BPE())
    normal: list[normalizers.Normalizer] = [normalizers.Lowercase()] if case == "lower" else []
    if kind == "char":
        shell.decoder = decoders.Fuse()
    elif kind == "bpe":
        words = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
        shell.pre_tokenizer, shell.decoder = words, decoders.ByteLevel()
        if case == "marked":
            # "The Old" becomes "⇧ the⇧ old": the mark stands before the space, which belongs to the word, and every
            # text begins with a space, so that a word is the same token at the beginning as elsewhere.
            marked = [(f" {c}", f"{CAPITAL} {c.lower()}") for c in string.ascii_uppercase]
            marked += [(c, f"{CAPITAL}{c.lower()}") for c in string.ascii_uppercase]
            normal = [normalizers.Replace(CAPITAL, ""), normalizers.Prepend(" ")]
            normal += [normalizers.Replace(capital, mark) for capital, mark in marked]
            shell.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(CAPITAL, "isolated"), words])
            back = [decoders.Replace(mark, capital) for capital, mark in [*marked, ("", CAPITAL)]]
            shell.decoder = decoders.Sequence([decoders.ByteLevel(), *back, decoders.Strip(" ", 1, 0)])
    elif kind == "word":
        shell.pre_tokenizer = pre_tokenizers.WhitespaceSplit()  # and no decoder: words are joined with spaces
    elif kind == "wordpiece":
        shell.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        shell.decoder = decoders.WordPiece(prefix="##", cleanup=True)
    elif kind == "unigram":
        spaced = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
        shell.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), spaced])
        shell.decoder = decoders.Metaspace(prepend_scheme="always", split=False)
    elif kind == "sentencepiece":
        # Every line gets a ▁ in front, so that a word is the same piece there as elsewhere; since this one is
        # always added and always taken away, white space comes back exactly. (A ▁ in the text becomes a space.)
        begin_line = normalizers.Replace(hf.Regex(r"\n(?!\z)"), "\n▁")
        normal = [normalizers.NFKC(), *normal, normalizers.Prepend("▁"), normalizers.Replace(" ", "▁"), begin_line]
        shell.pre_tokenizer = pre_tokenizers.Split(hf.Regex(r"\s|▁[^\s▁]*"), "isolated")
        joins = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        shell.decoder = decoders.Sequence([*joins, decoders.Replace("\n ", "\n"), decoders.Strip(" ", 1, 0)])
    if normal:
        shell.normalizer = normalizers.Sequence(normal)
    return shell


def _char_model(shell: hf.Tokenizer, lines: Iterable[str], names: list[str], size: int, min_count: int) -> models.BPE:
    """The most frequent characters of the whole source, as a BPE model without merges."""
    counts = np.zeros(0x110000, np.int64)
    for block in blocks(lines):
        counts += np.bincount(codes(normalised(shell, "".join(block))), minlength=len(counts))
    seen = np.flatnonzero(counts >= min_count)
    _require(len(seen) > 0, NO_TEXT)
    ordered = seen[np.argsort(-counts[seen], kind="stable")][: size - len(names)]
    return models.BPE(_numbered([*names, *map(chr, ordered.tolist())]), [], unk_token=UNK)


def _bpe_model(shell: hf.Tokenizer, sample: list[str], names: list[str], size: int, min_count: int) -> models.BPE:
    """Hugging Face's trainer: it sorts the alphabet and breaks ties by id, so every run gives the same merges."""
    _require(any(sample), NO_TEXT)
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=size, min_frequency=min_count, special_tokens=names, initial_alphabet=letters, show_progress=False
    )
    # Training makes the special tokens ones that are cut out of texts: take the model, leave the rest.
    learner = hf.Tokenizer.from_str(shell.to_str())
    learner.train_from_iterator(sample, trainer)
    learned = json.loads(learner.to_str())["model"]
    return models.BPE(learned["vocab"], [(left, right) for left, right in learned["merges"]])


def _word_model(kind: str, words: Counter[str], names: list[str], size: int, min_count: int) -> models.Model:
    """The kinds that learn from words and their counts."""
    if kind == "word":
        frequent = [word for word, count in words.items() if count >= min_count and word not in names]
        frequent.sort(key=lambda word: (-words[word], word))
        return models.WordLevel(_numbered([*names, *frequent][:size]), unk_token=UNK)
    alphabet = _alphabet(words, min_count)
    _require(bool(alphabet - {"▁"}), NO_TEXT)
    if kind == "wordpiece":
        known = {word: count for word, count in words.items() if alphabet.issuperset(word)}
        pieces = [*names, *wordpiece.learn_pieces(known, size - len(names), max(2, min_count))]
        _require(len(pieces) <= size, TOO_SMALL.format(len(pieces), size))
        return models.WordPiece(_numbered(pieces), unk_token=UNK, max_input_chars_per_word=wordpiece.LONGEST_WORD)
    # A unigram model looks for every piece in the text, special ones too: with their characters in the alphabet
    # there is always a better way to read "<pad>" than as padding.
    unreachable = [*names, *(BYTES if kind == "sentencepiece" else ())]
    alphabet |= set("▁".join(unreachable))
    room = size - len(unreachable)
    _require(len(alphabet) <= room, TOO_SMALL.format(len(unreachable) + len(alphabet), size))
    learned = unigram.learn_pieces(words, room, alphabet, max(2, min_count), never=unreachable)
    scored = [(piece, NEVER) for piece in unreachable] + learned
    return models.Unigram(scored, unk_id=1, byte_fallback=kind == "sentencepiece")


def _alphabet(words: Counter[str], min_count: int) -> set[str]:
    """The characters that cover 99.95 % of the text, or the 256 most frequent if those are more."""
    counts: Counter[str] = Counter()
    for word, count in words.items():
        for character in word:
            counts[character] += count
    ordered = sorted(counts, key=lambda character: (-counts[character], character))
    covered = np.cumsum([counts[character] for character in ordered])
    enough = int(np.searchsorted(covered, 0.9995 * covered[-1])) + 1
    return {character for character in ordered[: max(enough, 256)] if counts[character] >= min_count}


def _numbered(pieces: Iterable[str]) -> dict[str, int]:
    return {piece: i for i, piece in enumerate(pieces)}


# --- Reading text ------------------------------------------------------------------------------------------


def _lines(source: Texts) -> Iterator[str]:
    """The lines of files or of texts, their ends kept; a very long one comes in parts."""
    if isinstance(source, str | os.PathLike):
        source = [Path(source)]
    texts = source
    if isinstance(source, list | tuple) and all(map(files.names_a_file, source)):
        texts = chain.from_iterable(map(readers.read_text, files.expand(tuple(map(os.fspath, source)))))
    for text in texts:
        assert isinstance(text, str), f"{text!r} is no text: files come as a list"
        check_unicode(text)
        for piece in readers.pieces([text]):
            yield from piece.splitlines(keepends=True)


def _sample(lines: Iterable[str], limit: int, seed: int) -> list[str]:
    """Lines of at most `limit` characters in all, evenly from the whole, in order: those that draw small numbers."""
    rng = random.Random(seed)
    kept: list[tuple[float, int, str]] = []  # a heap, the largest number first
    total, bar = 0, 1.0
    for number, line in enumerate(lines):
        if (draw := rng.random()) >= bar:
            continue
        heapq.heappush(kept, (-draw, number, line))
        total += len(line)
        while total > limit and len(kept) > 1:
            largest, _, dropped = heapq.heappop(kept)
            bar, total = -largest, total - len(dropped)
    return [line[:limit] for _, _, line in sorted(kept, key=lambda entry: entry[1])]


def _count_words(shell: hf.Tokenizer, sample: list[str]) -> Counter[str]:
    """How often each word stands in the text, split as the encoder will split it."""
    words: Counter[str] = Counter()
    for chunk, count in Counter(chunk for line in sample for chunk in line.split()).items():
        for word in split(shell, chunk):
            words[word] += count
    _require(bool(words), NO_TEXT)
    return words


def blocks(texts: Iterable[str]) -> Iterator[list[str]]:
    """The texts in groups of about BLOCK_CHARS characters."""
    block, total = list[str](), 0
    for text in texts:
        block.append(text)
        total += len(text)
        if total >= BLOCK_CHARS:
            yield block
            block, total = [], 0
    yield block


def normalised(shell: hf.Tokenizer, text: str) -> str:
    check_unicode(text)
    return text if shell.normalizer is None else shell.normalizer.normalize_str(text)


def split(shell: hf.Tokenizer, text: str) -> list[str]:
    return [word for word, _ in shell.pre_tokenizer.pre_tokenize_str(normalised(shell, text))]


def codes(text: str) -> np.ndarray:
    return np.frombuffer(text.encode("utf-32-le"), np.uint32)


def check_unicode(text: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        lone = f"Character {error.start} of the text is a lone surrogate ({text[error.start]!r}), which is no text"
        raise LexigraphError(f"{lone}; the file it came from was probably not read as UTF-8.") from None


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise LexigraphError(otherwise)
