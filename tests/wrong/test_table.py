"""Every bad input of the tables beside this file: exit code 1 or 2, a sentence that names what is wrong, no
traceback, a disk left as it was, within ten seconds and one GiB.

A table is a module `cases_….py` with `CASES: dict[str, Case]`.
"""

import importlib
import io
import resource
import sys
from pathlib import Path

import pytest

from lexigraph import cli
from tests.wrong.case import FAILED, WRONG_USAGE, Case

GIB = 1 << 30
TABLES = sorted(path.stem for path in Path(__file__).parent.glob("cases_*.py"))
CASES = {
    f"{table.removeprefix('cases_')}: {name}": case
    for table in TABLES
    for name, case in importlib.import_module(f"tests.wrong.{table}").CASES.items()
}


def content(folder):
    """Every path below a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.fixture
def one_gib_more():
    """No more address space than one GiB above what the process has: what takes more fails with a traceback."""
    has = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (has + GIB, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.timeout(60)  # ten seconds of its own on an idle machine; training the tiny runs counts in here, too
@pytest.mark.parametrize("name", CASES)
def test_a_bad_input_gets_a_sentence_and_changes_nothing(name, tmp_path, tiny_runs, monkeypatch, capsys, request):
    case: Case = CASES[name]
    words = case.prepare(tmp_path, tiny_runs)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.StringIO(case.stdin))
    monkeypatch.setattr(sys, "argv", ["lexigraph", *words])
    before = content(tmp_path)
    capsys.readouterr()
    if sys.platform == "linux":
        request.getfixturevalue("one_gib_more")
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    said = " ".join(err.split())
    assert ended.value.code == case.code, said
    assert case.code in (FAILED, WRONG_USAGE)
    assert "Traceback" not in err
    for part in case.names:
        assert part in said, f"{part!r} is not in {said!r}"
    assert out == ""
    assert content(tmp_path) == before
