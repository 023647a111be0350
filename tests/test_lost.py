"""Nothing of the user's is overwritten or lost: outputs, locks, checksums, numbers that are none, a full disk."""

import fcntl
import json
import math
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

import lexigraph
from lexigraph import api, checksums, locks
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.latent.mixture import Mixture
from lexigraph.latent.pictures import save_picture, save_strip
from lexigraph.locks import LOCK, Lock, locked
from lexigraph.outputs import free_file, free_folder, json_text
from lexigraph.run import adding, creating, replacing
from lexigraph.text.tables import tables
from lexigraph.training import checkpoint
from lexigraph.training.checkpoint import Progress
from lexigraph.training.distribution import World
from lexigraph.weights import read_tensors, write_tensors
from lexigraph.words.ngram import NgramModel
from lexigraph.words.vectors import WordVectors
from tests.test_run import content, refusal

WV = WordVectors(["a", "b", "c"], np.arange(12, dtype=np.float32).reshape(3, 4))
PIXELS = np.zeros((4, 4, 3), np.uint8)
FEW = {"train.steps": 4, "train.checkpoint_every": 2, "train.validate_every": 4}


# ---- outputs ----

SAVES = {  # name → what writes it
    "a.vec": lambda path, **given: WV.save(path, **given),
    "a.bin": lambda path, **given: WV.save(path, **given),
    "map.html": lambda path, **given: WV.map(out=path, **given),
    "map.svg": lambda path, **given: WV.map(out=path, **given),
    "p.png": lambda path, **given: save_picture(path, PIXELS, "abc", **given),
    "s.png": lambda path, **given: save_strip(path, PIXELS[None], **given),
    "m.safetensors": lambda path, **given: MIXTURE.save(path, **given),
    "n.safetensors": lambda path, **given: NGRAMS.save(path, **given),
    "n.arpa": lambda path, **given: NGRAMS.save_arpa(path, **given),
    "t.json": lambda path, **given: TOKENIZER.save(path, **given),
}
MIXTURE = Mixture(weights=np.ones(1), means=np.zeros((1, 2)), choleskys=np.ones((1, 2)))
NGRAMS = NgramModel.train([["the", "cat", "sat"]], order=2)
TOKENIZER = lexigraph.Tokenizer.train(["the cat sat on the mat"] * 3, kind="char", size=30)


@pytest.mark.parametrize("name", SAVES)
def test_python_replaces_a_file_only_when_told_to(tmp_path, name):
    path = tmp_path / name
    path.write_text("mine")
    sentence = refusal(lambda: SAVES[name](path))
    assert str(path) in sentence
    assert "force=True" in sentence
    assert content(tmp_path) == {name: b"mine"}
    SAVES[name](path, force=True)
    assert path.read_bytes() != b"mine"
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_folder_of_vectors_is_replaced_by_force_and_one_of_other_things_never(tmp_path):
    WV.save(tmp_path / "wv")
    assert "force=True" in refusal(lambda: WV.save(tmp_path / "wv"))
    WV.head(2).save(tmp_path / "wv", force=True)
    assert len(WordVectors.load(tmp_path / "wv")) == 2
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.txt").write_text("mine")
    before = content(tmp_path)
    refusal(lambda: WV.save(tmp_path / "home", force=True))
    assert content(tmp_path) == before


def test_a_guard_says_what_is_wrong_with_a_place(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "file").write_text("mine")
    assert "folder" in refusal(lambda: free_file(tmp_path / "there", "a map"))
    assert "There is no folder" in refusal(lambda: free_file(tmp_path / "no" / "a.png", "a map"))
    assert "There is no folder" in refusal(lambda: free_file(tmp_path / "file" / "a.png", "a map"))
    with pytest.raises(UsageError, match=r"a\.txt.*\.png or \.svg"):
        free_file(tmp_path / "a.txt", "a map", (".png", ".svg"))
    assert free_file(tmp_path / "A.PNG", "a map", (".png",)) == tmp_path / "A.PNG"
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")  # where it points to is somebody's plan, too
    assert "exists already" in refusal(lambda: free_file(tmp_path / "dangling", "a map"))
    assert "no folder" in refusal(lambda: free_folder(tmp_path / "file", "a run", force=True))


def test_every_verb_that_writes_can_be_forced_and_says_so():
    import typer

    from lexigraph import cli

    commands = typer.main.get_command(cli.app).commands
    every = commands | {f"words {name}": each for name, each in commands.pop("words").commands.items()}
    options = {name: {option for p in each.params for option in p.opts} for name, each in every.items()}
    writes = {name for name, own in options.items() if own & {"--out", "--strip"} or name == "convert"}
    forced = {name for name, own in options.items() if "--force" in own}
    assert writes - forced == {"train", "compare"}  # a run is never replaced
    assert forced <= writes


def test_pictures_appear_together_or_not_at_all(tmp_path):
    (tmp_path / "0001.png").write_text("mine")

    def half():
        with adding(tmp_path) as temporary:
            (temporary / "0000.png").write_text("new")
            (temporary / "0001.png").write_text("new")
            raise OSError("No space left on device")

    assert "No space left" in refusal(half)
    assert content(tmp_path) == {"0001.png": b"mine"}


def test_two_processes_that_write_one_file_leave_one_of_the_two(tmp_path):
    target, other = tmp_path / "a.json", f".a.json.{os.getppid()}.partial"
    (tmp_path / other).write_text("half")  # of a process that lives
    (tmp_path / ".a.json.999999999.partial").write_text("half")  # of one that does not
    with replacing(target) as temporary:
        temporary.write_text("new")
    assert content(tmp_path) == {"a.json": b"new", other: b"half"}


# ---- locks ----


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
    assert all("in use by" in each or "holds a run already" in each for each in said if each != "made"), said
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


# ---- checksums ----


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A run before its first step."""
    out = tmp_path_factory.mktemp("prepared") / "run"
    return api.prepare("gpt", "grammar", out, set=FEW, tiny=True, quiet=True)


def cut(path):
    path.write_bytes(path.read_bytes()[:-8])


def flip(path):
    written = bytearray(path.read_bytes())
    written[len(written) // 2] ^= 4
    path.write_bytes(written)


def test_every_table_that_changed_is_named(tmp_path, prepared):
    names = [path.name for path in (prepared / "tables").iterdir() if path.name != checksums.CHECKSUMS]
    assert {"train.text.offsets", "train.text.values", "valid.text.values", "train.json"} <= set(names)
    for damage in (cut, flip, Path.unlink):
        for name in names:
            folder = shutil.copytree(prepared / "tables", tmp_path / f"{damage.__name__}-{name}")
            damage(folder / name)
            assert name in refusal(lambda folder=folder: checksums.verify(folder))


def test_a_run_with_damaged_or_exchanged_tables_is_not_trained(tmp_path, prepared):
    run = shutil.copytree(prepared, tmp_path / "run")
    one, other = (run / "tables" / f"{split}.text.offsets" for split in ("valid", "test"))
    one.rename(tmp_path / "aside")
    other.rename(one)
    (tmp_path / "aside").rename(other)
    before = content(run)
    assert ".text.offsets" in refusal(lambda: api.train(out=run, resume=True, quiet=True))
    assert content(run) == before


def test_older_tables_without_checksums_are_read_but_not_if_their_parts_do_not_fit(tmp_path, prepared):
    from lexigraph.nn.network import columns_of

    columns = columns_of(lexigraph.run.Run.open(prepared).recipe())
    folder = shutil.copytree(prepared / "tables", tmp_path / "tables")
    (folder / checksums.CHECKSUMS).unlink()
    checksums.verify(folder)
    assert len(tables(folder, columns)["train"]) > 0
    cut(folder / "valid.text.offsets")
    assert "valid.text.offsets" in refusal(lambda: tables(folder, columns))


def test_weights_that_changed_are_refused_and_older_ones_are_read(tmp_path):
    from safetensors.torch import save_file

    weights = {"w": torch.arange(6.0).reshape(2, 3), "n": torch.tensor(3), "h": torch.ones(3, dtype=torch.bfloat16)}
    write_tensors(weights, tmp_path / "new.safetensors")
    assert torch.equal(read_tensors(tmp_path / "new.safetensors")["w"], weights["w"])
    flip_last = bytearray((tmp_path / "new.safetensors").read_bytes())
    flip_last[-1] ^= 1
    (tmp_path / "new.safetensors").write_bytes(flip_last)
    assert "new.safetensors is damaged" in refusal(lambda: read_tensors(tmp_path / "new.safetensors"))
    save_file(weights, tmp_path / "old.safetensors")
    assert torch.equal(read_tensors(tmp_path / "old.safetensors")["w"], weights["w"])


def stepped(network, optimizer):
    network(torch.ones(1, 4)).sum().backward()
    optimizer.step()


@pytest.fixture
def saved(tmp_path):
    """A checkpoint, and what restores it."""
    torch.manual_seed(0)
    network, world = torch.nn.Linear(4, 4), World(torch.device("cpu"))
    optimizer = torch.optim.AdamW(network.parameters())
    stepped(network, optimizer)
    folder = tmp_path / "checkpoints"
    checkpoint.save(folder, network, optimizer, [{"h": torch.ones(2)}], Progress(step=1), world)

    def restore():
        return checkpoint.restore(checkpoint.latest(folder), network, optimizer, 1, world)

    assert restore()[0] == Progress(step=1)
    return checkpoint.latest(folder), restore


@pytest.mark.parametrize("name", ["weights", "optimizer", "random", "carry"])
@pytest.mark.parametrize("damage", [cut, flip, Path.unlink])
def test_a_checkpoint_with_a_damaged_file_is_refused_by_its_name(saved, name, damage):
    path, restore = saved
    damage(path / f"{name}.safetensors")
    assert f"{name}.safetensors" in refusal(restore)


def test_a_checkpoint_with_a_file_of_another_or_another_state_is_refused(saved):
    path, restore = saved
    write_tensors({"weight": torch.zeros(4, 4), "bias": torch.zeros(4)}, path / "other.safetensors")
    (path / "weights.safetensors").replace(path / "aside")
    (path / "other.safetensors").replace(path / "weights.safetensors")
    assert "weights.safetensors" in refusal(restore)
    (path / "aside").replace(path / "weights.safetensors")
    restore()
    state = json.loads((path / "state.json").read_text())
    (path / "state.json").write_text(json.dumps(state | {"step": 3}))
    assert "state.json" in refusal(restore)
    for wrong in ("[]", "{}", "null", '{"world": 1, "stepp": 2}', "{"):
        (path / "state.json").write_text(wrong)
        assert "state.json" in refusal(restore)
    del state["checksum"], state["files"]  # as older versions wrote it
    (path / "state.json").write_text(json.dumps(state))
    assert restore()[0].step == 1


def test_a_checkpoint_of_word_vectors_that_changed_is_refused(tmp_path):
    from lexigraph.words.checkpoint import Checkpoint

    table, kept = {"vectors": np.ones((3, 4), np.float32)}, Checkpoint(tmp_path / "epoch", {"text": "a"})
    kept.save(table, [1.0])
    assert kept.load({"vectors": np.zeros((3, 4), np.float32)}) == [1.0]
    written = bytearray((tmp_path / "epoch").read_bytes())
    written[-1] ^= 1
    (tmp_path / "epoch").write_bytes(written)
    assert "epoch is damaged" in refusal(lambda: kept.load({"vectors": np.zeros((3, 4), np.float32)}))


def test_a_run_from_before_there_were_fingerprints_is_read(tmp_path, tiny_run):
    run = shutil.copytree(tiny_run, tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    assert config["vocabularies"].keys() == {"tokenizer.json"}
    (run / "config.json").write_text(
        json.dumps({k: v for k, v in config.items() if k not in ("vocabularies", "files")})
    )
    assert lexigraph.load(run).fingerprint == lexigraph.load(tiny_run).fingerprint


# ---- numbers that are none ----


def test_json_has_no_nan_and_says_what_it_lacks():
    written = json.loads(
        json_text({"scores": {"nll": math.nan, "n": [1.0, math.inf]}, "steps": 2}), parse_constant=pytest.fail
    )
    assert written == {
        "scores": {"nll": None, "n": [1.0, None]},
        "steps": 2,
        "not_finite": ["scores.nll", "scores.n.1"],
    }


def test_a_score_that_is_no_number_is_left_out_and_told(tmp_path, tiny_run, monkeypatch):
    run = shutil.copytree(tiny_run, tmp_path / "run")
    (tmp_path / "text.txt").write_text("She sings .\nHe sang .\n" * 20)
    score = api._scores

    def without_number(*given):
        scores = score(*given)
        scores["nll"]["value"] = math.nan
        return scores

    monkeypatch.setattr(api, "_scores", without_number)
    with pytest.warns(UserWarning, match=r"nll\.value"):
        api.evaluate(run, tmp_path / "text.txt", device="cpu")
    results = json.loads((run / "results.json").read_text(), parse_constant=pytest.fail)
    assert results["files"][str(tmp_path / "text.txt")]["nll"]["value"] is None
    assert results["scores"] == json.loads((tiny_run / "results.json").read_text())["scores"]
    done = subprocess.run(
        [sys.executable, "-m", "lexigraph", "info", str(run)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_a_validation_that_is_no_number_is_not_the_best():
    from types import SimpleNamespace

    from lexigraph.training.loop import Training, _better

    training = object.__new__(Training)
    training.progress, training.greater_is_better = Progress(step=1), False
    training.network = SimpleNamespace(traits=SimpleNamespace(settled=0))
    assert _better(training, math.nan)  # nothing else is there to be kept
    assert training.progress.best is None
    assert _better(training, 2.0)
    assert not _better(training, math.nan)
    assert training.progress.best == 2.0


# ---- a full disk ----


@contextmanager
def full_disk(free=10):
    """Files of more than so many bytes cannot be written: the system's own error, in every library."""
    handler, limit = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, limit[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("name", SAVES)
def test_a_full_disk_is_a_sentence_and_leaves_what_was_there(tmp_path, name):
    path = tmp_path / name
    path.write_text("mine")

    def write():
        with full_disk():
            SAVES[name](path, force=True)

    if name.startswith("map"):
        SAVES[name](tmp_path / f"warm.{name}")  # fonts are looked for once
        (tmp_path / f"warm.{name}").unlink()
    sentence = refusal(write)
    assert str(path) in sentence
    assert "unchanged" in sentence
    assert content(tmp_path) == {name: b"mine"}


def test_a_disk_that_is_full_while_a_run_is_prepared_leaves_nothing(tmp_path):
    def train():
        with full_disk(2000):
            api.train("gpt", "grammar", tmp_path / "runs" / "new", set=FEW, tiny=True, quiet=True)

    assert "new" in refusal(train)
    assert content(tmp_path) == {}


def test_a_disk_that_is_full_while_a_run_is_trained_leaves_one_that_can_be_resumed(tmp_path, prepared):
    run = shutil.copytree(prepared, tmp_path / "run")

    def train():
        with full_disk(5000):
            api.train(out=run, resume=True, quiet=True)

    before = content(run)
    assert str(run) in refusal(train)
    left = content(run)
    assert {name: left[name] for name in before} == before
    assert not [name for name in left if "partial" in name or LOCK in name]
    api.train(out=run, resume=True, quiet=True)
    calm = shutil.copytree(prepared, tmp_path / "calm")
    api.train(out=calm, resume=True, quiet=True)
    assert (run / "model.safetensors").read_bytes() == (calm / "model.safetensors").read_bytes()


def test_a_disk_that_is_full_while_word_vectors_are_trained_leaves_nothing(tmp_path):
    from lexigraph.words import word2vec  # noqa: F401 (which compiles its kernels, and keeps them on the disk)

    (tmp_path / "text.txt").write_text("the cat sat on the mat\n" * 50)
    before = content(tmp_path)

    def train(free):
        with full_disk(free):
            lexigraph.train("cbow", tmp_path / "text.txt", tmp_path / "run", set={"words.min_count": 1}, quiet=True)

    for free in (10, 1500):  # the text does not fit, then the first epoch does not
        sentence = refusal(lambda free=free: train(free))
        assert "run" in sentence
        assert "could not be" in sentence
        assert content(tmp_path) == before


def test_a_disk_that_is_full_while_a_text_is_scored_says_where(tmp_path, tiny_run):
    (tmp_path / "text.txt").write_text("She sings .\nHe sang .\n" * 500)
    before = content(tiny_run)

    def score():
        with full_disk():
            api.evaluate(tiny_run, tmp_path / "text.txt", device="cpu")

    assert "TMPDIR" in refusal(score)
    assert content(tiny_run) == before
