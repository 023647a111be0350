"""The pages that people read, and how a test does what they say: every command and every line of Python, at toy size.

A fence marked `sh` holds commands, one marked `python` holds Python, and both are executed in the order of the page.
What cannot run in a test (a cluster, a benchmark of hours) is written as an indented block instead.
"""

from __future__ import annotations

import io
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import lexigraph
from lexigraph import cli, entry
from lexigraph import recipe as recipes
from lexigraph.abilities.textmodel import TextModel
from lexigraph.run import Run
from lexigraph.text import constructions, edits, phrases, sentiment
from lexigraph.text.builtin import records

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^```(sh|python)\n(.*?)^```", re.DOTALL | re.MULTILINE)
IN_TABLE = re.compile(r"^\|.*`(lexigraph train [^`]+)`", re.MULTILINE)

OWN_WORDS = 3 * ["The king and the queen met a man and a woman at dinner , after breakfast and cereal by the river ."]


def pages() -> list[Path]:
    """The pages at the root and under docs/, and the cards of bundled models."""
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src/lexigraph/bundled").glob("*/*.md")]


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of what a page wants executed."""
    text = page.read_text(encoding="utf-8")
    return [*FENCE.findall(text), *(("sh", command) for command in IN_TABLE.findall(text))]


def commands(page: Path) -> list[str]:
    """The command lines of a page, continued ones joined."""
    joined = "\n".join(text for language, text in blocks(page) if language == "sh").replace("\\\n", " ")
    return [line for line in joined.splitlines() if line.strip() and not line.startswith("#")]


def conllu(number: int, row: tuple[str, ...]) -> str:
    """A word with its tag, head and relation as a line of CoNLL-U."""
    word, tag, head, relation = row
    return f"{number}\t{word}\t_\t{tag}\t_\t_\t{head}\t{relation}\t_\t_\n"


@cache
def files() -> dict[str, str]:
    """What pages take for granted: a text of one's own and another one, pairs, texts with labels, words with tags or
    trees."""
    labels = [record.columns for record in records(("text", "label"), 200)]
    trees = [
        zip(*record.columns.values(), strict=True)
        for record in records(("tokens", "tags", "heads", "relations"), 100)
    ]
    brackets = {
        name: "".join(f"{tree}\n" for tree in islice(trees, 200))
        for name, trees in (
            ("films.trees", sentiment.trees()),
            ("bank.mrg", map(phrases.tree, constructions.clauses(200))),
        )
    }
    tagged = [zip(*record.columns.values(), strict=True) for record in records(("tokens", "tags"), 200)]
    return {
        "book.txt": textwrap.fill(" ".join(constructions.sentences(200)).replace(" .", "."), 70) + "\n",
        "letters/may.txt": "We left the old harbour .\nNobody went outside .\n",
        "diary.txt": "The harbour was old and quiet .\nIt rained .\n",
        "blends.tsv": "I love you.\tShe hated the old man.\n",
        "sums.tsv": "family\texpression\tintended\n"
        "pronoun\tShe is tired. - He is tired. + He is here.\tShe is here.\n"
        "tense\tHe was here. - He is here. + She is happy.\tShe was happy.\n",
        "my.txt": "\n".join([*constructions.sentences(400), *OWN_WORDS]) + "\n",
        "other.txt": "\n".join(constructions.sentences(50, seed=1)) + "\n",
        "pairs.tsv": "".join(f"{source}\t{target}\n" for source, target in edits.edit_pairs("ask-auxiliary", 200)),
        "films.tsv": "".join(f"{row['text']}\t{row['label']}\n" for row in labels),
        "trees.conllu": "\n".join("".join(map(conllu, range(1, 99), tree)) for tree in trees),
        **brackets,
        "tags.conll": "\n".join("".join(f"{word} {tag}\n" for word, tag in sentence) for sentence in tagged),
    }


@dataclass
class Follower:
    """Does what pages say, in the current folder; what several pages train alike is trained once."""

    trained: Path  # where finished runs are kept for the next page
    known: dict[Any, Path] = field(default_factory=dict)

    def follow(self, page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Execute every block of a page."""
        for name, text in files().items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_text(text, encoding="utf-8")
        for file in page.parent.glob("*.txt"):
            shutil.copy(file, file.name)
        monkeypatch.setitem(vars(lexigraph), "train", small_train)
        monkeypatch.setattr(TextModel, "load", load)
        names: dict[str, Any] = {}
        for language, text in blocks(page):
            if language == "python":
                exec(compile(text, str(page.relative_to(ROOT)), "exec"), names)
            else:
                for line in text.replace("\\\n", " ").splitlines():
                    self.type_in(line.strip(), monkeypatch)

    def type_in(self, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Execute one line as it is typed."""
        if not line or line.startswith("#"):
            return
        words = shlex.split(line, comments=True)
        if words[0] == "make":
            assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text(encoding="utf-8"), line
        elif words[0] == "lexigraph":
            self._lexigraph(*from_file(words), monkeypatch)
        else:
            subprocess.run(["bash", "-c", line], check=True)

    def _lexigraph(self, words: list[str], given: str, monkeypatch: pytest.MonkeyPatch) -> None:
        key, out = training(words)
        if key in self.known:
            shutil.copytree(self.known[key], out)
            return
        monkeypatch.setattr(sys, "stdin", io.StringIO(given))
        monkeypatch.setattr(sys, "argv", [*words, *smaller(words)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 0, shlex.join(words)
        if key:
            self.known[key] = self.trained / str(len(self.known))
            shutil.copytree(out, self.known[key])


LOAD = TextModel.load  # before any test puts another in its place
loaded = cache(LOAD)


def load(folder: str | Path, device: str = "auto", int8: bool = False) -> TextModel:
    """`TextModel.load`; what ships with Lexigraph is loaded once for all pages."""
    return loaded(str(folder), device, int8) if Run.open(folder).bundled else LOAD(folder, device, int8)


def small_train(recipe: str, *given: Any, **options: Any) -> Any:
    """`lexigraph.train`, at toy size."""
    return entry.train(recipe, *given, **options | {"set": dict(options.get("set") or {}) | tiny([recipe])})


def from_file(words: list[str]) -> tuple[list[str], str]:
    """A command without `< FILE`, and what the file holds."""
    if "<" not in words:
        return words, ""
    place = words.index("<")
    return words[:place] + words[place + 2 :], Path(words[place + 1]).read_text(encoding="utf-8")


def training(words: list[str]) -> tuple[tuple[Any, ...], str]:
    """What tells one training from another, and its folder; nothing for a command that is none."""
    if words[1] != "train" or {"--from", "--resume", "--prepare"} & set(words):
        return (), ""
    place = words.index("--out")
    data = words[words.index("--data") + 1] if "--data" in words else ""
    text = Path(data).read_bytes() if Path(data).is_file() else b""
    return (*words[:place], *words[place + 2 :], text), words[place + 1]


def smaller(words: list[str]) -> list[str]:
    """What makes a training small enough for a test."""
    if words[1] == "compare":
        options = next(place for place, word in enumerate(words) if word.startswith("--"))
        changes = tiny(words[2:options])
    elif words[1] == "train" and "--resume" not in words:
        inherited = ("model", "tokenizer", "parts") if "--from" in words else ()
        changes = {key: value for key, value in tiny([words[2]]).items() if key.split(".")[0] not in inherited}
    elif "--resume" in words and "--set" in words:
        changes = {"train.steps": 4}
    else:
        return []
    return [part for key, value in changes.items() for part in ("--set", f"{key}={str(value).lower()}")]


def tiny(names: list[str]) -> dict[str, Any]:
    """The keys that make recipes tiny: what their tables [tiny] have in common."""
    tables = [recipes.source(name).tables.get("tiny", {}) for name in names]
    return {key: value for key, value in tables[0].items() if all(key in table for table in tables)}
