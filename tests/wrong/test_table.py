"""Every bad input of the tables beside this file: exit code 1 or 2, a sentence that names what is wrong, no
traceback, a disk left as it was, within ten seconds of the processor and one GiB of memory.

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
SECONDS = 10
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


def processor_seconds():
    """What this process and those that it has waited for have had of the processor. How long a case takes by the
    clock says more about what else the machine does."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


@pytest.mark.timeout(60)  # by the clock, for what hangs; training the tiny runs counts in here, too
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
    begin = processor_seconds()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    seconds = processor_seconds() - begin
    out, err = capsys.readouterr()
    said = " ".join(err.split())
    assert ended.value.code == case.code, said
    assert case.code in (FAILED, WRONG_USAGE)
    assert seconds < SECONDS
    assert "not enough memory for what was asked" not in said  # it was asked for, then: a size that nobody looked at
    assert "Traceback" not in err
    for part in case.names:
        assert part in said, f"{part!r} is not in {said!r}"
    assert out == ""
    assert content(tmp_path) == before
