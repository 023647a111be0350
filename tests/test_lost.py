"""Nothing of the user's is overwritten or lost: outputs, checksums, numbers that are none, a full disk."""

import json
import math
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
from lexigraph import api, checksums
from lexigraph.errors import UsageError
from lexigraph.latent.mixture import Mixture
from lexigraph.latent.pictures import save_picture, save_strip
from lexigraph.locks import LOCK
from lexigraph.outputs import free_file, free_folder, json_text
from lexigraph.run import adding, replacing
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
    writes = {name for name, own in options.items() if own & {"--out", "--strip", "--svg"} or name == "convert"}
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


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_write_that_is_stopped_leaves_the_file_before_it(tmp_path, number):
    (tmp_path / "a.json").write_text("old")

    def stopped():
        with replacing(tmp_path / "a.json") as temporary:
            temporary.write_text("ne")
            os.kill(os.getpid(), number)
            signal.sigtimedwait([], 5)  # the handler runs before this line ends

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert content(tmp_path) == {"a.json": b"old"}


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

    from lexigraph.training.loop import _better
    from lexigraph.training.step import Training

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
