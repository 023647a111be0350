"""The documentation: what pages say is executed, their links lead somewhere, and none grows too long."""

from __future__ import annotations

import html
import re
import subprocess
import sys

import pytest

from lexigraph import cli
from lexigraph import recipe as recipes
from lexigraph.views import demonstration
from tests.pages import ROOT, Follower, blocks, commands, pages

README = ROOT / "README.md"
LONGEST = 300  # lines of a page under docs/: what a person reads at one go
LARGEST = 100_000  # bytes of a picture or a text that a page brings
TO_EXECUTE = [str(page.relative_to(ROOT)) for page in sorted(pages()) if blocks(page)]


@pytest.fixture(scope="module")
def follower(tmp_path_factory):
    return Follower(tmp_path_factory.mktemp("trained"))


@pytest.mark.timeout(600)  # the README is long, and a busy machine is no failure
@pytest.mark.parametrize("page", TO_EXECUTE)
def test_what_a_page_says_can_be_done(page, follower, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    follower.follow(ROOT / page, monkeypatch)


def test_the_readme_shows_every_verb():
    shown = {" ".join(line.split()[1:3]) for line in commands(README)}
    verbs = {verb for panel in cli.PANELS.values() for verb in panel}
    assert verbs <= {words.split()[0] for words in shown}


def test_the_reference_is_up_to_date():
    made = subprocess.run([sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr


def test_the_table_of_systems_names_every_recipe_and_no_other():
    table = README.read_text(encoding="utf-8").split("## What is in it today")[1].split("| measured")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ") and "`" in line]
    named = {name for row in rows for name in re.findall(r"`([^`]+)`", row.rsplit("|", 2)[1])}
    assert named - {"lexigraph tokenize"} == set(recipes.names())


def anchors(page) -> set[str]:
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


def test_tutorials_are_short_and_what_pages_bring_is_small():
    tutorials = [page for page in (ROOT / "docs/tutorials").glob("*.md") if page.name != "README.md"]
    assert len(tutorials) == 4
    assert all(len(page.read_text(encoding="utf-8").splitlines()) < 150 for page in tutorials)
    assert len(README.read_text(encoding="utf-8").splitlines()) < 200
    brought = [*(ROOT / "docs/images").iterdir(), *(ROOT / "docs/tutorials").glob("*.txt")]
    assert {file.name: file.stat().st_size for file in brought if file.stat().st_size > LARGEST} == {}


def test_the_demo_writes_a_report(tmp_path, capsys):
    page = demonstration.run(tmp_path / "demo").read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == len(demonstration.SENTENCES) + 7
    for text in (*demonstration.SENTENCES, *demonstration.BLEND, *demonstration.SUMS):
        assert html.escape(text) in page
    assert "http" not in page.replace("http-equiv", "")  # nothing is loaded from elsewhere
    assert "read back exactly" in capsys.readouterr().out
