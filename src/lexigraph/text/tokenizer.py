"""Text to token ids and back: six kinds behind one class, over Hugging Face `tokenizers`.

    char            one id per character
    word            the most frequent words, split at white space
    bpe             byte-level byte-pair encoding (Sennrich et al. 2016; GPT-2): any text comes back exactly; with
                    marked capitals all but the control character that marks them, U+000E
    wordpiece       words and ##continuations, merged by p(ab)/(p(a)p(b)) (text/wordpiece.py)
    unigram         a unigram language model of pieces, words split at white space (text/unigram.py)
    sentencepiece   the same on raw text, NFKC-normalised, white space as ▁, unseen characters as bytes

Ids 0, 1 and 2 are <pad>, <unk> and <eos> in every kind; <eos> both starts and ends a text. Then come the extra
special tokens. They are never read from text: "<eos>" in a text is five characters like any others.

A tokenizer that another library made (kind "imported") has its special tokens where it has them; its file says which
ids are `pad`, `unk`, `eos`, and `begin`, which starts a text. Other special tokens may have a part to play, too:
`roles` holds all of them by name.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import tokenizers as hf
from jaxtyping import Int64, UInt32

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.outputs import free_file
from lexigraph.run import replacing
from lexigraph.stored import json_in
from lexigraph.text import bytelevel, unigram, vocabulary
from lexigraph.text.vocabulary import BYTES, CAPITAL, KINDS, NEVER, SPECIAL, Case, Content, Known

FORMAT = 1
IMPORTED = "imported"
MOST_TOKENS = 10_000_000  # room for all of them is made before the first is learned


class Tokenizer:
    """Turns text into ids and back.

    >>> tok = Tokenizer.train(iter(["the cat sat", "the cat ran"]), kind="word")
    >>> tok.encode("the dog ran"), tok.decode(tok.encode("the cat ran"))
    ([4, 1, 5], 'the cat ran')
    """

    pad, unk, eos = range(3)
    begin = eos

    def __init__(self, content: Content):
        """From the content of a tokenizer file; users call `train` or `load`."""
        ours = content["model"]["lexigraph"]
        if ours["kind"] != IMPORTED:  # a file for other libraries announces special tokens, which they read from text
            content = {**content, "added_tokens": [], "post_processor": None}  # and puts them around texts
        self._content = content
        self._hf = hf.Tokenizer.from_str(json.dumps(content))
        self._ids: dict[str, int] = self._hf.get_vocab()
        self._words: dict[str, np.ndarray] = {}  # of `encode_words`
        self.kind: str = ours["kind"]
        self.roles: dict[str, int] = {"pad": self.pad, "unk": self.unk, "eos": self.eos, "begin": self.begin}
        if self.kind == IMPORTED:
            self._be_imported(ours)
            return
        self.roles |= ours.get("roles", {})
        self._pieces = sorted(self._ids, key=self._ids.__getitem__)
        self.special: dict[str, int] = {name: i for i, name in enumerate(ours["special"])}
        self.size = len(self._pieces)
        self.keeps_whitespace = self.kind in ("char", "bpe", "sentencepiece")
        if self._pieces[: len(self.special)] != list(self.special) or max(self._ids.values()) != self.size - 1:
            raise ValueError("its special tokens are not the first ones, or ids are missing")

    def _be_imported(self, ours: Known) -> None:
        self._hf.encode_special_tokens = True  # what looks like a special token in a text is text
        assert isinstance(ours["special"], dict), "its special tokens have no ids"
        self.special, self.roles, self.size = ours["special"], ours["roles"], ours["size"]
        self.pad, self.unk, self.eos, self.begin = (self.roles[role] for role in ("pad", "unk", "eos", "begin"))
        names = {i: name for name, i in (self._ids | self.special).items()}
        self._pieces = [names[i] for i in range(self.size)]
        probe = " a  b\n c"
        self.keeps_whitespace = self.decode(self.encode(probe)) == probe

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        return f"Tokenizer(kind={self.kind!r}, size={self.size}, fingerprint={self.fingerprint!r})"

    # ---------------------------------------------------------------------------------------- training

    @classmethod
    def train(
        cls,
        source: str | os.PathLike | Iterable[str] | Iterable[os.PathLike],
        kind: str = "bpe",
        size: int = 8000,
        *,
        special: Sequence[str] = (),
        lower: bool = False,
        marked_capitals: bool = False,
        min_count: int = 1,
        seed: int = 0,
        sample_chars: int = 20_000_000,
    ) -> Tokenizer:
        """Learn a vocabulary of at most `size` tokens from files (.gz and .xz too) or from texts.

        `source` is a file, a list of files, or any iterable of texts; pass `iter(texts)` if texts could be taken
        for file names. At most `sample_chars` characters, drawn evenly from the whole, are used. Characters, words
        and pairs seen less than `min_count` times are not learned; subwords must be seen twice in any case.

        lower: all letters become small ones. marked_capitals (bpe): a capital letter becomes a mark and the small
            letter, and comes back: a word then has the same tokens at the beginning of a sentence as inside it.
        """
        if kind not in KINDS:
            near = difflib.get_close_matches(kind, KINDS, n=1, cutoff=0)[0]
            raise UsageError(
                f"There is no tokenizer kind {kind!r}; did you mean {near!r}? Kinds: {', '.join(KINDS)}."
            )
        for name in special:
            # Letters between punctuation: no kind can learn such a piece from text, so names cannot collide.
            if not re.fullmatch(r"(?=.*[^\W_])([^\w\s]|_)\S+([^\w\s]|_)", name) or name in (*SPECIAL, *BYTES):
                raise UsageError(f"The special token {name!r} is taken or not of the form <name> or [name].")
        if marked_capitals and (kind != "bpe" or lower):
            raise UsageError(f"Capitals are marked in kind 'bpe', where they are kept; here {kind!r}, lower {lower}.")
        if size > MOST_TOKENS:
            raise UsageError(f"A tokenizer of size {size} is too large: it has at most {MOST_TOKENS:,} tokens.")
        names = [*SPECIAL, *dict.fromkeys(special)]
        taken = len(names) + (256 if kind in ("bpe", "sentencepiece") else 0)
        if size < taken + (kind != "bpe"):
            raise UsageError(
                f"A {kind} tokenizer of size {size} is too small: the special tokens"
                f"{' and the 256 bytes' if taken > len(names) else ''} alone take {taken}."
            )
        case: Case = "marked" if marked_capitals else "lower" if lower else "kept"
        content = vocabulary.learn(source, kind, size, names, case, min_count, seed, sample_chars)
        # Inside the model's part, where Hugging Face's reader passes over what it does not know.
        content["model"]["lexigraph"] = {"format": FORMAT, "kind": kind, "special": names}
        return cls(content)

    @classmethod
    def of_words(cls, words: Sequence[str]) -> Tokenizer:
        """A tokenizer whose tokens are these words; if none has a capital, words are read in small letters."""
        content = vocabulary.of_words(words, "kept" if any(word != word.lower() for word in words) else "lower")
        content["model"]["lexigraph"] = {"format": FORMAT, "kind": "word", "special": list(SPECIAL)}
        return cls(content)

    @classmethod
    def imported(cls, content: Content, named: dict[str, str], size: int) -> Tokenizer:
        """A tokenizer from the content of another library's tokenizer.json, with `size` ids.

        named: special tokens by their role: pad, unk, eos, begin, mask … Ids that no token has are kept as special
        ones, so that nothing writes them.
        """
        content = {**content, "padding": None, "truncation": None}  # the model's business, and in its own way
        vocabulary = hf.Tokenizer.from_str(json.dumps(content)).get_vocab()
        roles = {role: vocabulary[name] for role, name in named.items() if name in vocabulary}
        special = {token["content"]: token["id"] for token in content.get("added_tokens", []) if token["special"]}
        special |= {name: vocabulary[name] for name in named.values() if name in vocabulary}
        if "eos" not in roles:
            raise LexigraphError("The tokenizer does not say which token ends a text (eos_token or sep_token).")
        if max(vocabulary.values()) >= size:
            raise LexigraphError(
                f"The tokenizer has ids up to {max(vocabulary.values())}, the model only {size} embeddings: they do "
                "not belong together."
            )
        special |= {f"<unused-{i}>": i for i in sorted(set(range(size)) - set(vocabulary.values()))}
        roles = {"pad": roles["eos"], "unk": roles["eos"], "begin": roles["eos"]} | roles
        ours: Known = {"format": FORMAT, "kind": IMPORTED, "special": special, "roles": roles, "size": size}
        return cls({**content, "model": {**content["model"], "lexigraph": ours}})

    def with_roles(self, roles: Mapping[str, int]) -> Tokenizer:
        """The same tokenizer, in which special tokens have further parts to play: `mask`, `cls`, `sep`, `start` …"""
        model = self._content["model"]
        known: Known = {**model["lexigraph"], "roles": {**model["lexigraph"].get("roles", {}), **roles}}
        return Tokenizer({**self._content, "model": {**model, "lexigraph": known}}) if roles else self

    def with_words(self, words: Iterable[str]) -> Tokenizer:
        """The same tokenizer of kind word, with those of these words that it lacks behind its own."""
        if self.kind != "word":
            raise UsageError(
                f"This tokenizer is of kind {self.kind!r}: only a vocabulary of words takes more of them."
            )
        model = self._content["model"]
        more = (word for word in dict.fromkeys(words) if word not in self._ids)
        vocab = self._ids | {word: number for number, word in enumerate(more, self.size)}
        return Tokenizer({**self._content, "model": {**model, "vocab": vocab}})

    # ---------------------------------------------------------------------------------------- encoding

    def encode(self, text: str, *, dropout: float = 0.0, alpha: float | None = None, seed: int = 0) -> list[int]:
        """The ids of a text, no special tokens added.

        `dropout` (bpe): each merge is dropped with this probability (Provilkov et al. 2020). `alpha` (unigram,
        sentencepiece): a segmentation is drawn with probability ∝ P^alpha (Kudo 2018). Same seed, same ids.
        """
        if dropout and (self.kind != "bpe" or not 0 <= dropout <= 1):
            raise UsageError(f"Dropout is a probability, for kind 'bpe'; here it is {dropout} for {self.kind!r}.")
        if alpha is not None and (self.kind not in ("unigram", "sentencepiece") or alpha < 0):
            raise UsageError(f"Alpha is at least 0, for unigram models; here it is {alpha} for {self.kind!r}.")
        if not dropout and alpha is None:
            return self.encode_flat([text])[0].tolist()
        rng = random.Random(seed)
        ids: list[int] = []
        for word in vocabulary.split(self._hf, text):
            if alpha is None:
                ids += [self._ids[piece] for piece in bytelevel.drop_merges(word, self._ranks, dropout, rng)]
            else:
                ids += self._ids_of_pieces(unigram.sample(word, self._scores, alpha, rng))
        return ids

    def encode_flat(self, texts: Sequence[str]) -> tuple[UInt32[np.ndarray, " tokens"], Int64[np.ndarray, " texts"]]:
        """All ids of many texts one after another, and how many each text has: what shards are written from."""
        rows: list[np.ndarray] = [np.zeros(0, np.uint32)]
        for block in vocabulary.blocks(texts):
            if self.kind == "char":
                rows += map(self._encode_characters, block)
                continue
            try:
                encodings = self._hf.encode_batch_fast(block, add_special_tokens=False)
            except TypeError:  # the way a lone surrogate shows
                for text in block:
                    vocabulary.check_unicode(text)
                raise
            rows += [np.array(encoding.ids, np.uint32) for encoding in encodings]
        flat = np.concatenate(rows)
        if self.kind == "word":
            flat[flat < len(self.special)] = self.unk  # the word "<eos>" in a text ends nothing
        return flat, np.array([len(row) for row in rows[1:]], np.int64)

    def encode_batch(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The ids of each text, as uint32 arrays."""
        flat, lengths = self.encode_flat(texts)
        return np.split(flat, np.cumsum(lengths)[:-1]) if len(texts) else []

    def encode_words(self, words: Sequence[str]) -> list[np.ndarray]:
        """The ids of words that are cut each by itself; many of those met before are remembered."""
        if len(self._words) > 100_000:
            self._words.clear()
        unmet = [word for word in dict.fromkeys(words) if word not in self._words]
        self._words.update(zip(unmet, self.encode_batch(unmet), strict=True))
        return [self._words[word] for word in words]

    def _encode_characters(self, text: str) -> np.ndarray:
        """A look-up, many times faster than the model without merges that the file holds."""
        return self._character_ids[vocabulary.codes(vocabulary.normalised(self._hf, text))]

    @cached_property
    def _character_ids(self) -> np.ndarray:
        table = np.full(0x110000, self.unk, np.uint32)
        table[[ord(character) for character in self._pieces[len(self.special) :]]] = range(
            len(self.special), self.size
        )
        return table

    @cached_property
    def _ranks(self) -> dict[tuple[str, str], int]:
        return {(left, right): i for i, (left, right) in enumerate(self._content["model"]["merges"])}

    @cached_property
    def _scores(self) -> dict[str, float]:
        pieces = self._content["model"]["vocab"]
        assert isinstance(pieces, list)
        return {piece: score for piece, score in pieces if score > NEVER}

    def _ids_of_pieces(self, pieces: Iterable[str]) -> Iterator[int]:
        """Ids of sampled pieces; as in the plain encoding, unknown characters are bytes, or one <unk> for a run."""
        unknown_before = False
        for piece in pieces:
            unknown = piece not in self._scores
            if not unknown:
                yield self._ids[piece]
            elif self.kind == "sentencepiece":
                yield from (self._ids[BYTES[byte]] for byte in piece.encode())
            elif not unknown_before:
                yield self.unk
            unknown_before = unknown

    # ---------------------------------------------------------------------------------------- decoding

    def decode(self, ids: Sequence[int] | np.ndarray) -> str:
        """The text of these ids. Special tokens are left out; in kind word, <unk> is a word and stays."""
        return self.decode_batch([ids])[0]

    def decode_batch(self, batch: Iterable[Sequence[int] | np.ndarray], *, unknown: bool = False) -> list[str]:
        """The text of each row of ids. `unknown`: <unk> stays in all kinds."""
        hidden = set(self.special.values()) - ({self.unk} if unknown or self.kind == "word" else set())
        kept = [[i for i in self._checked(ids) if i not in hidden] for ids in batch]
        return self._hf.decode_batch(kept, skip_special_tokens=False)

    def tokens(self, ids: Sequence[int] | np.ndarray) -> list[str]:
        """The pieces of these ids as a person reads them; in bpe, bytes that are no character alone as \\xe2."""
        shown = self._readable
        return [shown[i] for i in self._checked(ids)]

    def surfaces(self, text: str) -> list[str]:
        """What each token of a text stands for in it, known or not."""
        return [text[first:last] for first, last in self._hf.encode(text, add_special_tokens=False).offsets]

    def offsets(self, texts: Sequence[str]) -> list[Int64[np.ndarray, "bounds 2"]]:
        """Where each token of a text stands in it, without white space around it: its first character, and the one
        behind its last. A last row is the end of the text."""
        found = []
        for text, encoding in zip(texts, self._hf.encode_batch(list(texts), add_special_tokens=False), strict=True):
            rows = []
            for first, last in encoding.offsets:
                inner = text[first:last].strip()
                first += len(text[first:last]) - len(text[first:last].lstrip()) if inner else 0
                rows.append((first, first + len(inner) if inner else last))
            found.append(np.array([*rows, (len(text), len(text))], np.int64))
        return found

    def word_numbers(self, text: str) -> Int64[np.ndarray, " tokens"]:
        """Which word each token of a text belongs to, where words stand between white space; a space to the next."""
        begins = np.array([match.start() for match in re.finditer(r"\S+", text)], np.int64)
        offsets = self._hf.encode(text, add_special_tokens=False).offsets
        first = [end - len(text[start:end].lstrip()) for start, end in offsets]
        return np.maximum(np.searchsorted(begins, first, side="right") - 1, 0)

    @cached_property
    def _readable(self) -> list[str]:
        """Every piece as a person reads it: made once, for a long text asks for each of them many times."""
        if not self._of_bytes:
            return self._pieces
        read = [piece if piece in self.special else bytelevel.readable(piece) for piece in self._pieces]
        return ["⇧" if piece == CAPITAL else piece for piece in read]

    @property
    def marks_spaces(self) -> bool:
        """Whether a word's token holds the space before it, where there is one in the text."""
        return self._of_bytes

    @property
    def _of_bytes(self) -> bool:
        """Whether pieces are written in GPT-2's byte alphabet."""
        if self.kind != IMPORTED:
            return self.kind == "bpe"
        return (self._content.get("decoder") or {}).get("type") == "ByteLevel"

    def id_of(self, token: str) -> int:
        """The id of a piece; for bpe as plain text (" the") or as it is stored ("Ġthe")."""
        found = self._ids.get(token, self._ids.get(bytelevel.stored(token) if self._of_bytes else token))
        if found is None:
            raise LexigraphError(f"{token!r} is not in this vocabulary of {self.size} tokens.")
        return found

    def token_of(self, i: int) -> str:
        """The piece with this id, as it is stored."""
        return self._pieces[self._checked([i])[0]]

    def _checked(self, ids: Sequence[int] | np.ndarray) -> list[int]:
        row: list[int] = np.asarray(ids).tolist()
        if row and (min(row) < 0 or max(row) >= self.size):
            bad = next(i for i in row if not 0 <= i < self.size)
            raise LexigraphError(f"There is no token {bad}: this vocabulary has the ids 0 to {self.size - 1}.")
        return row

    # ---------------------------------------------------------------------------------------- files

    @property
    def content(self) -> Content:
        """What its file holds."""
        return self._content

    @cached_property
    def fingerprint(self) -> str:
        """Sixteen hexadecimal digits that name this tokenizer: equal for equal files."""
        canonical = json.dumps(self._content, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def save(self, path: str | os.PathLike, force: bool = False) -> Path:
        """Write one file that `Tokenizer.load` and `tokenizers.Tokenizer.from_file` read; all of it or nothing.

        path: a .json file, or a folder for its tokenizer.json; `force` replaces what is there.
        """
        target = free_file(_file_at(path), "a tokenizer", (".json",), force)
        with replacing(target) as temporary:
            text = json.dumps(self._content, ensure_ascii=False, separators=(",", ":"))
            temporary.write_text(text, encoding="utf-8")
        return target

    @classmethod
    def load(cls, path: str | os.PathLike) -> Tokenizer:
        """Read a file written by `save`, or the tokenizer.json of a folder."""
        target = _file_at(path)
        if not target.exists():
            raise LexigraphError(f"There is no tokenizer file {target}.")
        content = json_in(target)
        model = content.get("model") if isinstance(content, dict) else None
        ours = model.get("lexigraph") if isinstance(model, dict) else None
        if not isinstance(ours, dict):
            raise LexigraphError(f"{target} was not written by Lexigraph: train a tokenizer with Tokenizer.train.")
        if ours.get("format") != FORMAT:
            raise LexigraphError(
                f"{target} has format {ours.get('format')}; this Lexigraph reads {FORMAT}: update it."
            )
        try:
            return cls(content)
        except Exception as error:  # Hugging Face raises bare Exception for whatever it cannot read
            raise LexigraphError(f"The tokenizer file {target} is damaged: {error}.") from None


def _file_at(path: str | os.PathLike) -> Path:
    return Path(path) / "tokenizer.json" if Path(path).is_dir() else Path(path)
