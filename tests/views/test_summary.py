"""What `info` tells of a run."""

import json

import pytest

from lexigraph import api
from lexigraph.run import Run
from lexigraph.views import summary
from lexigraph.views.report import loss_curve
from lexigraph.words.builtin import kinds, questions


def test_the_size_is_that_of_the_network_and_the_settings_are_those_that_were_changed(tiny_runs):
    run = Run.open(tiny_runs("gpt"))
    facts = summary.facts(run)
    assert facts["parameters"] == sum(p.numel() for p in api.load(run.path).network.parameters())
    assert facts["recipe_like"] == "gpt"
    assert facts["settings"]["model.dim"] == run.recipe().model.dim
    assert "model.positions" not in facts["settings"]
    assert json.loads(json.dumps(facts))["recipe"]["train.seed"] == 0


def test_commands_are_those_of_the_runs_abilities(tiny_runs):
    run = Run.open(tiny_runs("bert"))
    said = summary.commands(run)
    assert [command.split()[1] for command in said] == [*run.config()["abilities"], "eval"]
    assert summary.commands(Run.open("books"))[0].startswith("lexigraph encode books")
    assert '"(? (? not) (? bad))"' in summary.commands(Run.open(tiny_runs("recursive")))[0]
    words = summary.commands(Run.open(tiny_runs("skipgram")))
    assert all(command.startswith("lexigraph words ") for command in words)


def test_a_curve_goes_down_from_left_to_right_as_its_losses_do():
    lines = summary.drawn({"train": [(1, 4.0), (2, 3.0), (3, 2.0)], "valid": [(3, 2.5)]})
    marks = [(line.index("·"), number) for number, line in enumerate(lines[: summary.HEIGHT]) if "·" in line]
    assert len(marks) == 3
    assert marks == sorted(marks)
    assert lines[0].lstrip().startswith("4.000")
    assert sum("o" in line for line in lines[: summary.HEIGHT]) == 1
    assert summary.drawn({}) == summary.drawn({"train": [(1, 2.0)]}) == []


def test_a_log_that_ends_in_the_middle_of_a_line_has_a_curve(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"kind": "train", "step": 1, "loss": 2.5}\n{"kind": "tra')
    with pytest.warns(UserWarning, match=r"log\.jsonl is damaged in line 2"):
        assert summary.curve(Run(tmp_path)) == {"train": [(1.0, 2.5)]}


def test_a_damaged_log_has_a_curve_of_what_can_be_read(tmp_path):
    good = b'{"kind": "train", "step": 1, "loss": 2.5}\n'
    rest = b"\xff\xfe\x00\n" + b"[" * 100_000 + b'\n[]\n{"step": "x", "loss": 1}\n{"step": 2, "loss": NaN}\n'
    (tmp_path / "log.jsonl").write_bytes(rest + good)
    with pytest.warns(UserWarning, match="line 1 and 2 others"):
        assert summary.curve(Run(tmp_path)) == {"train": [(1.0, 2.5)]}
    assert "<svg" in loss_curve(tmp_path / "log.jsonl")


def test_built_in_questions_are_right_by_the_grammar():
    asked = {(q.a, q.b): (q.c, *q.answers) for q in questions()}
    assert all(a != b for a, b in asked)
    assert ("girl", "girls") in asked
    assert ("dog", "beast") in kinds()
