"""One process at a time: who is told, what is taken over, and what a stopped preparation leaves."""

import fcntl
import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path

import pytest

import lexigraph
from lexigraph import api, locks
from lexigraph.errors import LexigraphError
from lexigraph.locks import LOCK, Lock, locked
from lexigraph.run import creating
from tests.test_run import content, refusal


def test_a_lock_names_process_computer_and_time_and_ends_with_its_block(tmp_path):
    with locked(tmp_path):
        held = json.loads((tmp_path / LOCK).read_text())
        sentence = refusal(lambda: Lock(tmp_path))
        assert f"process {os.getpid()} on {held['host']} since {held['since']}" in sentence
    assert content(tmp_path) == {}
    with pytest.raises(KeyboardInterrupt), locked(tmp_path):
        raise KeyboardInterrupt
    assert content(tmp_path) == {}


def test_the_lock_of_a_process_that_was_killed_is_taken_over(tmp_path):
    child = os.fork()
    if child == 0:
        Lock(tmp_path)
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert json.loads((tmp_path / LOCK).read_text())["process"] == child
    with locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()


@pytest.mark.parametrize("left", [b"", b"{", b"[]", b'{"process": 1}'])
def test_a_lock_that_was_not_written_to_its_end_is_taken_over(tmp_path, left):
    (tmp_path / LOCK).write_bytes(left)
    with locked(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text())["process"] == os.getpid()


@pytest.mark.parametrize(
    ("host", "boot", "taken"), [("here", "old", True), ("box", "now", True), ("box", "x", False)]
)
def test_a_lock_from_before_a_restart_is_taken_over_and_one_of_another_computer_is_not(
    tmp_path, monkeypatch, host, boot, taken
):
    (tmp_path / LOCK).write_text(json.dumps({"process": 1, "host": host, "boot": boot, "since": "yesterday"}))
    mine = {"process": os.getpid(), "host": "here", "boot": "now", "since": "today"}
    monkeypatch.setattr(locks, "_self", lambda: mine)
    if taken:
        with locked(tmp_path):
            assert json.loads((tmp_path / LOCK).read_text()) == mine
        return
    sentence = refusal(lambda: Lock(tmp_path))
    assert "process 1 on box since yesterday" in sentence
    assert f"remove {tmp_path / LOCK}" in sentence


def test_where_the_disk_has_no_locks_the_process_is_asked_for(tmp_path, monkeypatch):
    def no_locks(*_):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", no_locks)
    held = dict(locks._self()) | {"process": os.getppid()}
    (tmp_path / LOCK).write_text(json.dumps(held))
    assert f"process {os.getppid()}" in refusal(lambda: Lock(tmp_path))
    (tmp_path / LOCK).write_text(json.dumps(held | {"process": 999999999}))
    Lock(tmp_path).release()


def test_of_two_who_prepare_the_same_run_one_is_told(tmp_path):
    out = tmp_path / "runs" / "new"

    def second():
        with creating(out):
            raise AssertionError

    with creating(out) as temporary:
        (temporary / "config.json").write_text("first")
        assert f"process {os.getpid()}" in refusal(second)
    assert content(tmp_path) == {"runs": None, "runs/new": None, "runs/new/config.json": b"first"}
    assert "holds a run already" in refusal(second)


def _race(out, start, ended):
    start.wait()
    try:
        with creating(Path(out)) as temporary:
            (temporary / "config.json").write_text(str(os.getpid()))
            (temporary / "more").write_text(str(os.getpid()))
        ended.put("made")
    except LexigraphError as error:
        ended.put(str(error))


def test_of_many_who_begin_at_the_same_moment_one_makes_the_run(tmp_path):
    processes = multiprocessing.get_context("fork")
    start, ended = processes.Event(), processes.Queue()
    racers = [processes.Process(target=_race, args=(tmp_path / "new", start, ended)) for _ in range(8)]
    for each in racers:
        each.start()
    start.set()
    said = [ended.get(timeout=60) for _ in racers]
    for each in racers:
        each.join()
    assert said.count("made") == 1
    others = [
        each for each in said if each != "made" and "in use by" not in each and "holds a run already" not in each
    ]
    assert not others
    assert (tmp_path / "new" / "config.json").read_text() == (tmp_path / "new" / "more").read_text()
    assert {path.name for path in tmp_path.iterdir()} == {"new"}
    assert {path.name for path in (tmp_path / "new").iterdir()} == {"config.json", "more"}


def test_what_a_killed_preparation_left_is_removed_by_the_next(tmp_path):
    child = os.fork()
    if child == 0:
        with creating(tmp_path / "new") as temporary:
            (temporary / "tables").mkdir()
            (temporary / "tables" / "half").write_text("half")
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert {path.name for path in tmp_path.iterdir()} == {".new.partial"}
    with creating(tmp_path / "new") as temporary:
        assert [path.name for path in temporary.iterdir()] == [LOCK]
        (temporary / "config.json").write_text("{}")
    assert content(tmp_path) == {"new": None, "new/config.json": b"{}"}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_preparation_that_is_stopped_leaves_nothing(tmp_path, number):
    def stopped():
        with creating(tmp_path / "runs" / "new") as temporary:
            (temporary / "tables").mkdir()
            os.kill(os.getpid(), number)
            signal.sigtimedwait([], 5)  # the handler runs before this line ends

    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert content(tmp_path) == {}
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_run_that_is_in_training_is_neither_resumed_nor_begun_again(tmp_path, tiny_run):
    run = shutil.copytree(tiny_run, tmp_path / "run")
    (run / "results.json").unlink()
    before = content(run)
    with locked(run):
        assert f"process {os.getpid()}" in refusal(lambda: api.train(out=run, resume=True, quiet=True))
        assert "holds a run already" in refusal(lambda: api.train("gpt", "grammar", run, tiny=True, quiet=True))
    assert content(run) == before


def test_word_vectors_in_training_are_not_resumed(tmp_path):
    (tmp_path / "text.txt").write_text("the cat sat on the mat\n" * 50)
    run = tmp_path / "run"
    lexigraph.train("ppmi-svd", tmp_path / "text.txt", run, set={"words.dim": 2, "words.min_count": 1}, quiet=True)
    assert not (run / LOCK).exists()
    (run / "results.json").unlink()
    with locked(run):
        assert "in use by" in refusal(lambda: lexigraph.train(out=run, resume=True, quiet=True))
