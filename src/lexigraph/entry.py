"""`lexigraph.train` and `lexigraph.load`, for every kind of system.

Word vectors need no torch, whose import alone takes longer than many a training of them: which kind is asked for is
found here first, and only networks load the rest of the house.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lexigraph.run import holds_word_vectors, word_vectors_asked

if TYPE_CHECKING:
    from lexigraph.abilities.textmodel import TextModel
    from lexigraph.text.files import Given
    from lexigraph.words.vectors import WordVectors


def load(folder: str | Path, device: str = "auto", *, int8: bool = False) -> TextModel | WordVectors:
    """A trained model from its run folder; `int8`: on the CPU, with products in 8 bits."""
    if holds_word_vectors(folder):
        from lexigraph.words import run

        return run.load(folder, device, int8)
    from lexigraph.abilities.textmodel import TextModel

    return TextModel.load(folder, device, int8)


def train(
    recipe: str | Path | None = None,
    data: Given | None = None,
    out: str | Path | None = None,
    *,
    valid: Given | None = None,
    test: Given | None = None,
    start: str | Path | None = None,
    set: Mapping[str, Any] | None = None,
    resume: bool = False,
    tiny: bool = False,
    quiet: bool = False,
) -> TextModel | WordVectors:
    """Raw text in, model out: trains a recipe on a file and leaves a complete run folder.

    recipe: a name from `lexigraph recipes`, or a .toml file.
    data, valid, test: a string or a path names a file, a folder, a pattern ("texts/*.txt"), "-" for standard input,
        or "grammar" for the built-in corpus; it is never a text. A list holds several files or texts: paths are
        files; strings are files if every one is there or looks like one ("a.txt": no white space, and a suffix that
        is read), and otherwise texts, as in ["a sentence", "another one"]. Any other iterable, as a generator, gives
        texts. Instead of a text there may be a dictionary with the fields of a record, {"source": …, "target": …}.
    start: what to start from (starting.py): a finished run of the same system, whose tokenizer, model and weights are
        taken over; one of another system, which becomes a part; or word vectors, a run or a file.
    set: recipe keys to change, as {"train.steps": 500}, {"words.dim": 50}.
    resume: go on with the run in `out` from its last checkpoint.
    """
    given: dict[str, Any] = {"valid": valid, "test": test, "start": start, "set": set}
    given |= {"resume": resume, "tiny": tiny, "quiet": quiet}
    if word_vectors_asked(recipe, out):
        from lexigraph.words import run

        return run.train(recipe, data, out, **given)
    from lexigraph import api

    return api.train(recipe, data, out, **given)
