"""Cut text into words and number them, in one pass over its bytes.

    types = Types()
    types.scan("The cat saw the cat.\\n")      # [0, 1, 2, 0, 1, -1]: words by first appearance, -1 where a line ends
    types.words(), types.counts               # ["the", "cat", "saw"], [2, 2, 1]

Ways to cut: "words" takes runs of letters and digits, an apostrophe between them included, in lower case, and drops
everything else; "elision" does so, too, but ends a word after its apostrophe, as French and Italian do: l'homme is
l' and homme; "characters" makes each letter of a script without spaces (Chinese, Japanese, Thai …) a word, and cuts
the rest as "words" does; "space" takes whatever stands between white space as it is. The words are kept in a hash
table that Numba compiles, several times as fast as splitting and counting in Python.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from functools import cache

import numpy as np

from lexigraph.compiled import kernel
from lexigraph.errors import UsageError
from lexigraph.registry import nearest
from lexigraph.words.settings import SPLITS

END = -1  # stands in the ids where a line ends
MOST = 1 << 23  # different words counted at once; beyond that, the rarest are forgotten
FULL = 0.6  # of the hash table: then it grows
SPACE, LETTER, APOSTROPHE, NEWLINE = range(4)
ELIDED = "\u02bc"  # the apostrophe as a letter: while text is scanned, one that ends a word
ELISION = re.compile(r"(?<=\w)'(?=\w)")
SPACELESS = "\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
VOWELS = "\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b6-\u17d3"
CHARACTER = re.compile(rf"[{SPACELESS}][{VOWELS}]*")  # with the vowels and tones written above and below it


class Types:
    """Different words, and how often each was seen.

    counts, labels: of each word; a label is the number by which `scan` calls it. Labels are 0, 1, 2 … as long as
    nothing was forgotten.
    """

    def __init__(self, split: str = "words", most: int = MOST) -> None:
        if split not in SPLITS:
            raise UsageError(f"There is no way {split!r} to cut text into words{nearest(split, SPLITS)}")
        self.split, self.most = split, most
        self.given = 0  # labels given out so far
        self.forgotten = 0  # words seen at most so often have been forgotten on the way
        self._size = np.zeros(2, np.int64)  # words and letters in use of the arrays below
        self._inside = np.zeros(1, np.bool_)  # whether the line so far has words
        self._hashes, self._counts, self._labels = (
            np.empty(0, np.uint64),
            np.empty(0, np.int64),
            np.empty(0, np.int32),
        )
        self._ends, self._letters = np.empty(0, np.int64), np.empty(0, np.uint8)
        self._grow(1 << 15, 1 << 20)

    def __len__(self) -> int:
        return int(self._size[0])

    @property
    def counts(self) -> np.ndarray:
        return self._counts[: len(self)]

    @property
    def labels(self) -> np.ndarray:
        return self._labels[: len(self)]

    def words(self, chosen: np.ndarray | None = None) -> list[str]:
        """The words, in the order of `counts` and `labels`; or those at the chosen positions."""
        ends = self._ends[: len(self)]
        begins = np.concatenate([[0], ends])
        positions = np.arange(len(self)) if chosen is None else chosen
        bounds = zip(begins[positions].tolist(), ends[positions].tolist(), strict=True)
        found = [self._letters[begin:end].tobytes().decode() for begin, end in bounds]
        return [word.replace(ELIDED, "'") for word in found] if self.split == "elision" else found

    def scan(self, text: str) -> np.ndarray:
        """The labels of a text's words in order, END after each line that has any."""
        if self.split != "space":
            text = text.lower().replace("’", "'")
        if self.split == "elision":
            text = ELISION.sub(f"{ELIDED} ", text)
        elif self.split == "characters":
            text = CHARACTER.sub(r" \g<0> ", text)
        data, classes = np.frombuffer(text.encode(), np.uint8), _classes(self.split)
        ids = np.empty(len(data) + 1, np.int32)
        done = written = 0
        while done < len(data):
            before = len(self)
            done, written = _scan(
                data, done, classes, self._slots, self._hashes, self._counts, self._labels, self._ends,
                self._letters, self._size, self._inside, self.given, ids, written,
            )  # fmt: skip
            self.given += len(self) - before
            if len(self) >= self.most:
                self._forget()
            words, letters = self._size.tolist()
            if words + 1 >= FULL * len(self._slots) or letters + len(data) > len(self._letters):
                self._grow(2 * words, 2 * letters + len(data))
        return ids[:written]

    def _grow(self, words: int, letters: int) -> None:
        """Make room for so many words and letters, and sort the words into a larger table."""
        slots = 1 << int(words / FULL).bit_length()
        room = int(FULL * slots) + 1
        sizes = {"_hashes": room, "_counts": room, "_labels": room, "_ends": room, "_letters": letters}
        for name, size in sizes.items():
            old = getattr(self, name)
            new = np.zeros(max(size, len(old)), old.dtype)  # zeros that nothing is written to take no memory
            new[: len(old)] = old
            setattr(self, name, new)
        self._slots = np.full(slots, -1, np.int32)
        _fill(self._slots, self._hashes, len(self))

    def _forget(self) -> None:
        """Drop the rarest words until half of the room is free, as word2vec's own program does."""
        while len(self) > self.most // 2:
            self.forgotten += 1
            kept = np.flatnonzero(self.counts > self.forgotten)
            begins = np.concatenate([[0], self._ends])[kept]
            lengths = self._ends[kept] - begins
            positions = np.repeat(begins - np.concatenate([[0], np.cumsum(lengths)[:-1]]), lengths) + np.arange(
                lengths.sum()
            )
            self._letters[: len(positions)] = self._letters[positions]
            for array in (self._hashes, self._counts, self._labels):
                array[: len(kept)] = array[kept]
            self._ends[: len(kept)] = np.cumsum(lengths)
            self._size[:] = len(kept), len(positions)
        self._slots[:] = -1
        _fill(self._slots, self._hashes, len(self))


@cache
def _classes(split: str) -> np.ndarray:
    """What each code point does: divide words, belong to them, or end a line."""
    characters = map(chr, range(sys.maxunicode + 1))
    if split == "space":
        letters = (not character.isspace() for character in characters)
    else:  # marks too: the vowel signs of many scripts are no letters by themselves
        letters = (character.isalnum() or unicodedata.category(character)[0] == "M" for character in characters)
    table = np.where(np.fromiter(letters, np.bool_, sys.maxunicode + 1), LETTER, SPACE).astype(np.uint8)
    table[ord("\n")] = NEWLINE
    if split != "space":
        table[ord("'")] = APOSTROPHE
    return table


@kernel("void(int32[::1], uint64[::1], int64)")
def _fill(slots, hashes, size):
    """Put every word into the slot that its hash names, or the next free one."""
    mask = np.uint64(len(slots) - 1)
    for word in range(size):
        slot = hashes[word] & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = word


@kernel(
    "UniTuple(int64, 2)(Array(uint8, 1, 'C', readonly=True), int64, uint8[::1], int32[::1], uint64[::1], int64[::1],"
    " int32[::1], int64[::1], uint8[::1], int64[::1], boolean[::1], int64, int32[::1], int64)"
)
def _scan(data, position, classes, slots, hashes, counts, labels, ends, letters, size, inside, given, ids, written):
    """Read words from `position` on, until the text ends or the table is full; return where, and how many ids."""
    mask = np.uint64(len(slots) - 1)
    first = size[0]
    begin = position  # of the word being read
    hashed = np.uint64(0xCBF29CE484222325)  # FNV-1a
    pending = False  # an apostrophe after a letter: part of the word if a letter follows
    end_of_word = position
    total = len(data)
    while position <= total:
        step = 1
        if position == total:
            kind = np.uint8(SPACE)
        else:
            code = np.int64(data[position])
            if code >= 0x80:  # UTF-8: two to four bytes, six bits of the code in each after the first
                step = 2 if code < 0xE0 else 3 if code < 0xF0 else 4
                code &= 0x7F >> step
                for place in range(position + 1, position + step):
                    code = code << 6 | (np.int64(data[place]) & 0x3F)
            kind = classes[code]
        if kind == LETTER:
            if end_of_word < position and not pending:  # a new word
                begin, hashed = position, np.uint64(0xCBF29CE484222325)
            pending = False
            for place in range(max(begin, end_of_word), position + step):  # an apostrophe waiting there included
                hashed = (hashed ^ np.uint64(data[place])) * np.uint64(0x100000001B3)
            end_of_word = position + step
            position += step
            continue
        if kind == APOSTROPHE and end_of_word == position and end_of_word > begin:
            pending = True
            position += step
            continue
        if end_of_word > begin:  # a word is complete
            if size[0] >= len(hashes):
                return begin, written
            slot = hashed & mask
            while True:
                word = slots[slot]
                if word < 0:
                    word = size[0]
                    slots[slot] = word
                    hashes[word], counts[word], labels[word] = hashed, 0, given + word - first
                    for place in range(begin, end_of_word):
                        letters[size[1] + place - begin] = data[place]
                    size[1] += end_of_word - begin
                    ends[word] = size[1]
                    size[0] += 1
                    break
                if hashes[word] == hashed:  # 64 bits: two words that share them are not to be expected
                    break
                slot = (slot + np.uint64(1)) & mask
            counts[word] += 1
            ids[written] = labels[word]
            written += 1
            inside[0] = True
        if kind == NEWLINE and inside[0]:
            ids[written] = -1
            written += 1
            inside[0] = False
        pending = False
        position += step
        begin = end_of_word = position
        hashed = np.uint64(0xCBF29CE484222325)
    return total, written
