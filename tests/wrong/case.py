"""A bad input as data: what is typed, what lies in the folder, and what the sentence that answers must name."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

FAILED, WRONG_USAGE = 1, 2
TEXT = "".join(f"the {number} cats sat on mat {number % 7} .\n" for number in range(60))

Made = bytes | str | Callable[[Path], object]


@dataclass(frozen=True)
class Case:
    """`lexigraph COMMAND`, typed in a folder that holds good.txt and the files of `given`.

    A folder that the command names as `@gpt` is a copy of the tiny run of that recipe, called gpt.
    """

    command: str  # words are split as a shell splits them
    names: tuple[str, ...]  # what the answer must name: a file, a line, a key, an option, a value
    code: int = FAILED
    given: Mapping[str, Made] = field(default_factory=dict)  # name → content, or a function that makes or damages it
    stdin: str = ""

    def prepare(self, folder: Path, tiny_runs: Callable[[str], Path]) -> list[str]:
        """Make the files, and the words of the command."""
        import shlex

        words = shlex.split(self.command)
        (folder / "good.txt").write_text(TEXT, encoding="utf-8")
        for place, word in enumerate(words):
            if word.startswith("@"):
                words[place] = word[1:]
                if not (folder / word[1:]).exists():
                    shutil.copytree(tiny_runs(word[1:]), folder / word[1:])
        for name, made in self.given.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if callable(made):
                made(path)
            elif isinstance(made, bytes):
                path.write_bytes(made)
            else:
                path.write_text(made, encoding="utf-8")
        return words
