"""Run folders: what counts as one, and that writing leaves the old or the new, never half of one."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

import lexigraph.run
from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError
from lexigraph.run import FORMAT, Run, remove, replacing


def content(folder):
    """Every path below a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def refusal(action):
    with pytest.raises(LexigraphError) as caught:
        action()
    return str(caught.value)


# ---- replacing ----


def test_a_file_appears_when_the_block_ends_and_nothing_stays_beside_it(tmp_path):
    target = tmp_path / "a.json"
    with replacing(target) as temporary:
        temporary.write_text("new")
        assert not target.exists()
        assert temporary.parent == target.parent  # a rename over file systems would not be atomic
    assert content(tmp_path) == {"a.json": b"new"}


@pytest.mark.parametrize("error", [RuntimeError, OSError, KeyboardInterrupt])
def test_the_old_file_is_whole_when_the_block_raises(tmp_path, error):
    target = tmp_path / "a.json"
    target.write_text("old")

    def fail():
        with replacing(target) as temporary:
            temporary.write_text("ne")
            raise error("stop")

    with pytest.raises(LexigraphError if error is OSError else error):
        fail()
    assert content(tmp_path) == {"a.json": b"old"}


def test_a_failed_write_says_which_file_and_that_nothing_changed(tmp_path):
    def fail():
        with replacing(tmp_path / "a.json"):
            raise OSError("No space left on device")

    sentence = refusal(fail)
    assert str(tmp_path / "a.json") in sentence
    assert "No space left" in sentence
    assert "unchanged" in sentence


def test_all_is_on_the_disk_before_the_name_changes_and_the_name_after(tmp_path, monkeypatch):
    events, fsync, replace = [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda file: (events.append(os.fstat(file).st_ino), fsync(file)))
    monkeypatch.setattr(os, "replace", lambda old, new: (events.append("renamed"), replace(old, new)))
    with replacing(tmp_path / "step") as temporary:
        temporary.mkdir()
        (temporary / "weights").write_text("new")
    before, after = events[: events.index("renamed")], events[events.index("renamed") + 1 :]
    assert {path.stat().st_ino for path in (tmp_path / "step", tmp_path / "step" / "weights")} == set(before)
    assert tmp_path.stat().st_ino in after


def test_a_folder_replaces_a_full_folder(tmp_path):
    target = tmp_path / "step"
    target.mkdir()
    (target / "old").write_text("old")
    with replacing(target) as temporary:
        temporary.mkdir()
        (temporary / "new").write_text("new")
    assert content(tmp_path) == {"step": None, "step/new": b"new"}


def test_the_old_folder_is_whole_when_the_block_raises(tmp_path):
    target = tmp_path / "step"
    target.mkdir()
    (target / "old").write_text("old")

    def fail():
        with replacing(target) as temporary:
            temporary.mkdir()
            (temporary / "new").write_text("new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert content(tmp_path) == {"step": None, "step/old": b"old"}


def test_the_old_folder_comes_back_when_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    target = tmp_path / "step"
    target.mkdir()
    (target / "old").write_text("old")
    rename = os.rename

    def refuse(source, destination):
        if str(source).endswith(".partial"):
            raise PermissionError("may not be renamed")
        rename(source, destination)

    def fail():
        with replacing(target) as temporary:
            temporary.mkdir()

    monkeypatch.setattr(lexigraph.run, "_exchanged", lambda one, other: False)  # as on a disk that cannot
    monkeypatch.setattr(os, "rename", refuse)
    refusal(fail)
    assert content(tmp_path) == {"step": None, "step/old": b"old"}


# Killed children say what a power cut would leave, at the moment that the code is named for.
KILLED = """
import os, sys
from pathlib import Path
import lexigraph.run
from lexigraph.run import replacing
moment, target = sys.argv[1], Path(sys.argv[2])
rename = os.rename
def die_between(source, destination):
    if moment == "between-renames" and str(source).endswith(".partial"):
        os._exit(9)
    rename(source, destination)
os.rename = die_between
lexigraph.run._exchanged = lambda one, other: False
with replacing(target) as temporary:
    temporary.mkdir()
    (temporary / "new").write_text("half")
    if moment == "in-the-block":
        os._exit(9)
"""


@pytest.mark.parametrize("moment", ["in-the-block", "between-renames"])
def test_leftovers_of_a_killed_write_are_cleaned_by_the_next_one(tmp_path, moment):
    target = tmp_path / "step"
    target.mkdir()
    (target / "old").write_text("old")
    died = subprocess.run([sys.executable, "-c", KILLED, moment, str(target)], check=False)
    assert died.returncode == 9
    assert any(name.endswith(".partial") for name in content(tmp_path))

    def fail():
        with replacing(target):
            raise RuntimeError

    with pytest.raises(RuntimeError):  # even a write that fails finds the old content and tidies up
        fail()
    assert content(tmp_path) == {"step": None, "step/old": b"old"}
    with replacing(target) as temporary:
        temporary.mkdir()
    assert content(tmp_path) == {"step": None}


def test_removing_a_link_leaves_what_it_points_to(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "kept")
    remove(tmp_path / "link")
    remove(tmp_path / "not there")
    assert content(tmp_path) == {"kept": None, "kept/file": b"kept"}


# ---- what counts as a run ----


def test_a_written_config_is_read_back(tmp_path):
    Run(tmp_path).write("config.json", {"format": FORMAT, "system": "gpt", "labels": {"ä": 1}})
    assert Run.open(tmp_path).config()["labels"] == {"ä": 1}
    assert not Run.open(tmp_path).finished


@pytest.mark.parametrize(
    ("config", "words"),
    [
        (json.dumps({"format": FORMAT + 1}), [f"format {FORMAT + 1}", f"up to {FORMAT}", "update Lexigraph"]),
        (json.dumps({"format": 0}), ["config.json", "not a run folder"]),
        (json.dumps({"model_type": "gpt2"}), ["config.json", "not a run folder"]),
        ("[1, 2]", ["config.json", "not a run folder"]),
        ('{"format": 1, "sys', ["config.json", "damaged"]),
        ("", ["config.json", "damaged"]),
        (b"\xff\xfe\x00", ["config.json", "damaged"]),
    ],
)
def test_a_foreign_newer_or_damaged_config_is_refused_with_a_sentence(tmp_path, config, words):
    (tmp_path / "config.json").write_bytes(config if isinstance(config, bytes) else config.encode())
    sentence = refusal(lambda: Run.open(tmp_path))
    for word in [str(tmp_path), *words]:
        assert word in sentence


def test_folders_and_files_that_are_no_run_are_refused(tmp_path):
    assert "no config.json" in refusal(lambda: Run.open(tmp_path))
    assert "no run folder" in refusal(lambda: Run.open(tmp_path / "nowhere"))
    (tmp_path / "file").write_text("x")
    assert "no run folder" in refusal(lambda: Run.open(tmp_path / "file"))
    (tmp_path / "config.json").mkdir()
    assert "config.json" in refusal(lambda: Run.open(tmp_path))


def test_a_missing_part_of_a_run_is_named(tmp_path):
    Run(tmp_path).write("config.json", {"format": FORMAT})
    assert "results.json is missing" in refusal(lambda: Run.open(tmp_path).json("results.json"))
    assert "recipe.toml" in refusal(lambda: Run.open(tmp_path).recipe())


def test_a_finished_run_holds_all_that_is_promised_and_no_leftovers(tiny_run):
    names = {path.name for path in tiny_run.iterdir()}
    promised = {
        "recipe.toml",
        "config.json",
        "tokenizer.json",
        "model.safetensors",
        "results.json",
        "log.jsonl",
        "unigrams.npy",
    }
    assert names == promised | {"checkpoints"}
    assert Run.open(tiny_run).finished
    assert not list(tiny_run.rglob(".*"))


# ---- older formats ----

IDS = {"mask": 3, "begin": 2, "end": 2}  # of special tokens, which format 1 had among the keys of the model


@pytest.mark.parametrize(
    ("system", "model", "unit", "roles", "changes"),
    [
        ("gpt", {}, "stream", {}, {"data.unit": "stream"}),
        ("bert", IDS, "line", {"mask": 3, "cls": 2, "sep": 2}, {}),
        ("bart", {"start": 2, "begin": -1, "mask": 3}, "line", {"start": 2, "mask": 3}, {}),
        ("bart", {"start": 2, "begin": 0, "mask": 3}, "pair", {"start": 2, "cls": 0, "mask": 3},
         {"objective.noise": "none"}),
        ("t5", {"start": 0, "sentinels": 3, "first_sentinel": 9, "sentinel_step": -1}, "line",
         {"start": 0, "sentinel-0": 9, "sentinel-1": 8, "sentinel-2": 7}, {}),
        ("transformer", {}, "pair", {}, {}),
        ("picture", {"start": True}, "line", {}, {"model.start": True}),  # a key of its own that is still there
    ],
)  # fmt: skip
def test_a_run_of_format_1_is_read_in_todays_words(tmp_path, system, model, unit, roles, changes):
    said = recipes.read(system, {"data.unit": "line"} | changes)
    old = recipes.read(system, {"data.unit": "line"} | ({} if unit == "pair" else changes)).toml()
    lines = "".join(f"{key} = {str(value).lower()}\n" for key, value in model.items())
    old = old.replace("start = false\n", "").replace("start = true\n", "")
    old = old.replace("[model]\n", f"[model]\n{lines}").replace("[train]\n", "[train]\ngreater_is_better = false\n")
    old = old.replace('unit = "line"', f'unit = "{unit}"')
    (tmp_path / "recipe.toml").write_text(old)
    (tmp_path / "config.json").write_text(json.dumps({"format": 1, "system": system}))
    assert Run.open(tmp_path).recipe() == said
    assert Run.open(tmp_path).roles() == roles
    assert (tmp_path / "recipe.toml").read_text() == old  # what is there is only read


# ---- a disk that is full ----

FULL = """
import resource, signal, sys
from pathlib import Path
import torch
from lexigraph.errors import LexigraphError
from lexigraph.training import checkpoint
from lexigraph.training.checkpoint import Progress
from lexigraph.training.distribution import World

folder, world = Path(sys.argv[1]), World(torch.device("cpu"))

def step(network, optimizer):
    network(torch.ones(1, 64)).sum().backward()
    optimizer.step()

def made():
    torch.manual_seed(0)
    network = torch.nn.Linear(64, 64)
    return network, torch.optim.AdamW(network.parameters())

network, optimizer = made()
step(network, optimizer)
checkpoint.save(folder, network, optimizer, [None], Progress(step=1), world)
whole = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
weight = network.weight.detach().clone()

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
step(network, optimizer)
for limit in (100, 20_000):  # the weights do not fit, then the optimizer's moments do not
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        checkpoint.save(folder, network, optimizer, [None], Progress(step=2), world)
        print("was written all the same")
    except LexigraphError as error:
        print(error)
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == whole
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))

other, its_optimizer = made()
progress, _ = checkpoint.restore(checkpoint.latest(folder), other, its_optimizer, 1, world)
assert progress.step == 1 and torch.equal(other.weight, weight)
assert len(list(folder.iterdir())) == 1
"""


def test_a_full_disk_leaves_the_checkpoint_before_it_whole(tmp_path):
    code = textwrap.dedent(FULL)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "checkpoints")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    sentences = done.stdout.splitlines()
    assert len(sentences) == 2
    for sentence in sentences:
        assert "step-00000002 could not be written" in sentence
        assert "large" in sentence  # "File too large", as the system says it
        assert "unchanged" in sentence


def test_a_bundled_model_is_found_by_name_unless_a_run_has_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Run.open("books").path.parent.name == "bundled"
    (tmp_path / "books").mkdir()  # a folder of that name, but no run
    assert Run.open("books").path.parent.name == "bundled"
    with pytest.raises(LexigraphError, match="no run folder nosuch; bundled models: books"):
        Run.open("nosuch")
