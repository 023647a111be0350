"""The README is executed: every command and the Python of its tour, on a text file, in a temporary folder."""

from __future__ import annotations

import html
import os
import re
import shlex
import sys
from pathlib import Path

import pytest

from lexigraph import cli
from lexigraph import recipe as recipes
from lexigraph.text import constructions
from lexigraph.views import demonstration

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
LONGEST = 300  # lines of a page under docs/: what a person reads at one go
SMALL = {  # the same commands, in seconds instead of minutes
    "train.steps": 2,
    "data.sentences": 800,
    "train.batch_tokens": 256,
    "train.tensorboard": "false",
    "model.dim": 16,
    "tokenizer.size": 400,
}


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def commands() -> list[str]:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    return [line for line in lines if line.startswith("lexigraph ")]


def execute(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = shlex.split(command)
    if words[1] == "train" and "--resume" not in words:
        inherited = ("model", "tokenizer") if "--from" in words else ()
        known = recipes.read(words[2]).flat()  # not every system has a width
        small = {k: value for k, value in SMALL.items() if k in known and k.split(".")[0] not in inherited}
        words += [part for key, value in small.items() for part in ("--set", f"{key}={value}")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0, command


def test_the_tour_of_the_readme(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("my.txt").write_text("\n".join(constructions.sentences(600)) + "\n")
    Path("other.txt").write_text("\n".join(constructions.sentences(50, seed=1)) + "\n")
    assert len(commands()) > 12
    for command in commands():
        execute(command, monkeypatch)
    assert capsys.readouterr().out
    for block in blocks("python"):
        exec(compile(block, "README.md", "exec"), {})
    assert os.listdir("runs")


def test_the_table_of_systems_names_every_recipe_and_no_other():
    table = README.read_text(encoding="utf-8").split("## What is in it today")[1].split("| measured")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`" in line]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])}
    assert named - {"lexigraph tokenize"} == set(recipes.names())


def pages() -> list[Path]:
    """What a person reads: the pages at the root and under docs/, and the cards of bundled models."""
    return [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "src/lexigraph/bundled").glob("*/*.md")]


def anchors(page: Path) -> set[str]:
    """The names by which a link finds the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_relative_link_leads_somewhere():
    for page in pages():
        for target in re.findall(r"\]\(([^):]+)\)", page.read_text(encoding="utf-8")):
            file, _, anchor = target.partition("#")
            there = page.parent / file if file else page
            assert there.exists(), f"{page.relative_to(ROOT)} links to {target}"
            assert not anchor or anchor in anchors(there), f"{page.relative_to(ROOT)}: {target} is no heading"


def test_pages_named_without_a_link_exist():
    code = [*ROOT.glob("src/**/*.py"), *ROOT.glob("src/**/*.toml"), *ROOT.glob("benchmarks/*.py")]
    for reader in (*pages(), *code):
        for named in re.findall(r"\bdocs/[\w/-]+\.md\b", reader.read_text(encoding="utf-8")):
            assert (ROOT / named).exists(), f"{reader.relative_to(ROOT)} names {named}"


def test_no_page_under_docs_has_more_than_300_lines():
    for page in (ROOT / "docs").rglob("*.md"):
        lines = len(page.read_text(encoding="utf-8").splitlines())
        assert lines <= LONGEST, f"{page.relative_to(ROOT)} has {lines} lines: split it by topic"


def test_the_demo_writes_a_report(tmp_path, capsys):
    page = demonstration.run(tmp_path / "demo").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == len(demonstration.SENTENCES) + 7
    for text in (*demonstration.SENTENCES, *demonstration.BLEND, *demonstration.SUMS):
        assert html.escape(text) in page
    assert "http" not in page.replace("http-equiv", "")  # nothing is loaded from elsewhere
    assert "read back exactly" in capsys.readouterr().out
