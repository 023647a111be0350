"""A run that is resumed for longer than it was planned."""

import json
import shutil

import pytest

from lexigraph import api
from lexigraph.errors import LexigraphError, UsageError

TINY = {"train.schedule": "constant", "train.steps": 4, "train.checkpoint_every": 2}


def weights(folder):
    (newest,) = (folder / "checkpoints").glob("step-*")
    return newest.name, (newest / "weights.safetensors").read_bytes()


def longer(folder, **keys):
    return api.train(out=folder, resume=True, quiet=True, set={key.replace("__", "."): v for key, v in keys.items()})


def test_with_a_constant_rate_a_longer_run_is_the_one_planned_so_from_the_start(tiny_runs, tmp_path):
    shutil.copytree(tiny_runs("gpt", TINY), tmp_path / "run")
    longer(tmp_path / "run", train__steps=6)
    assert weights(tmp_path / "run") == weights(tiny_runs("gpt", TINY | {"train.steps": 6}))
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["steps"] == 6
    steps = [json.loads(line)["step"] for line in (tmp_path / "run" / "log.jsonl").read_text().splitlines()]
    assert steps == sorted(steps)
    assert steps[-1] == 6


def test_what_would_make_another_run_is_refused_by_name_and_changes_nothing(tiny_runs, tmp_path):
    shutil.copytree(tiny_runs("gpt", TINY), tmp_path / "run")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(LexigraphError, match=r"train\.lr: .* became 1\.0.*Only train\.steps"):
        longer(tmp_path / "run", train__lr=1.0)
    with pytest.raises(UsageError, match="has made 4 steps already"):
        longer(tmp_path / "run", train__steps=3)
    with pytest.raises(UsageError, match=r"train\.steps decides"):
        longer(tmp_path / "run", train__epochs=2.0)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before


def test_a_text_that_has_changed_since_is_refused(tmp_path, tiny_runs):
    shutil.copytree(tiny_runs("gpt", TINY), tmp_path / "run")
    recipe = tmp_path / "run" / "recipe.toml"
    recipe.write_text(recipe.read_text().replace("sentences = 400", "sentences = 500"))
    with pytest.raises(LexigraphError, match=r"is not what .* was trained on any more"):
        longer(tmp_path / "run", train__steps=6)
    assert (tmp_path / "run" / "results.json").exists()


def test_a_damaged_log_is_kept_as_it_is_and_half_a_line_is_not(tiny_runs, tmp_path, capfd):
    run = tmp_path / "run"
    shutil.copytree(tiny_runs("gpt", TINY), run)
    whole = (run / "log.jsonl").read_bytes()
    (run / "log.jsonl").write_bytes(b"\xff\x00 {\n" + whole + b'{"kind": "tra')
    api.train(out=run, resume=True, set={"train.steps": 6})
    assert "log.jsonl is damaged in line 1: what is there stays" in " ".join(capfd.readouterr().err.split())
    written = (run / "log.jsonl").read_bytes()
    assert written.startswith(b"\xff\x00 {\n" + whole)
    events = [json.loads(line) for line in written.splitlines()[1:]]
    assert [event["step"] for event in events] == sorted(event["step"] for event in events)
    (run / "log.jsonl").write_bytes(whole + b'{"kind": "tra')
    api.train(out=run, resume=True, set={"train.steps": 8})
    assert "ended within a line" in " ".join(capfd.readouterr().err.split())
