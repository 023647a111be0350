"""The command line as a whole: its verbs are what the models can do."""

import inspect
import io
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import typer

from lexigraph import cli
from lexigraph.registry import SYSTEMS

ABILITIES = sorted({ability for system in SYSTEMS.values() for ability in system.abilities})
MEASURING = {"diagnose", "compare-text"}  # they ask a model for several abilities and compare
COMMANDS = typer.main.get_command(cli.app).commands


def test_the_verbs_over_a_model_are_the_abilities_of_the_systems():
    panels = {name: command.rich_help_panel for name, command in COMMANDS.items()}
    verbs = {name for name, panel in panels.items() if panel in ("Writing", "Answering", "Sentence spaces")}
    assert verbs - MEASURING == set(ABILITIES)


@pytest.mark.parametrize("ability", ABILITIES)
def test_the_verb_of_an_ability_is_the_function_of_its_name_and_begins_with_the_run(ability):
    verb = inspect.unwrap(COMMANDS[ability].callback)
    assert verb.__name__ == ability
    assert next(iter(inspect.signature(verb).parameters)) == "run"


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_a_model_has_a_method_for_each_of_its_abilities(name):
    model = SYSTEMS[name].model_class()
    assert [ability for ability in SYSTEMS[name].abilities if not callable(getattr(model, ability, None))] == []


GROUPS = {"words", "statistical"}


@pytest.mark.parametrize("name", ["", *sorted(GROUPS)])
def test_every_verb_says_what_it_does_and_so_does_every_option(name):
    group = COMMANDS[name].commands if name else COMMANDS
    for name, command in group.items():
        assert command.help, name
        options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
        assert [option.name for option in options if not option.help] == [], name


NO_JSON = {"train", "demo", "convert", "sentences"}  # what they make is a folder, a page, a file, text
NO_TEXTS = {"decode", "read", "sample"}  # vectors, pictures, nothing


def options(command):
    return {name for parameter in command.params for name in parameter.opts}


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - GROUPS - NO_JSON))
def test_every_verb_writes_json_if_asked(name):
    assert "--json" in options(COMMANDS[name])


@pytest.mark.parametrize("name", sorted({*ABILITIES, "tokenize", "diagnose", "compare-text"} - NO_TEXTS))
def test_every_verb_that_takes_texts_takes_them_from_a_file_too(name):
    assert "--file" in options(COMMANDS[name])


@pytest.mark.parametrize("name", ["decode", "read", "blend", "solve", "sample", "replay"])
def test_every_verb_that_decodes_vectors_can_search_and_allow_for_noise(name):
    assert {"--beam", "--alpha", "--noise"} <= options(COMMANDS[name])


@pytest.mark.parametrize("name", ["nearest", "similarity", "analogy", "outlier", "senses", "align"])
def test_so_do_those_of_words(name):
    assert {"--file", "--json"} <= options(COMMANDS["words"].commands[name])


@pytest.mark.parametrize("name", ["translate", "phrases"])
def test_and_those_of_translation_by_counting(name):
    assert {"--file", "--json"} <= options(COMMANDS["statistical"].commands[name])


def printed(monkeypatch, capsys, *words, stdin=""):
    """What `lexigraph WORDS` prints on standard output."""
    monkeypatch.setattr(sys, "argv", ["lexigraph", *map(str, words)])
    monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_texts_are_the_same_from_arguments_a_file_and_standard_input(tiny_run, tmp_path, monkeypatch, capsys):
    file = tmp_path / "texts.txt"
    file.write_text("She sings .\nHe slept .\n")
    ways = (["She sings .", "He slept ."], ""), (["--file", file], ""), ([], file.read_text())
    lines = {printed(monkeypatch, capsys, "score", tiny_run, *given, stdin=stdin) for given, stdin in ways}
    assert len(lines) == 1
    found = json.loads(printed(monkeypatch, capsys, "score", tiny_run, "--file", file, "--json"))
    assert [item["text"] for item in found] == ["She sings .", "He slept ."]
    assert lines == {"".join(f"{item['score']:.4f}\t{item['text']}\n" for item in found)}


def test_a_text_far_down_a_file_is_named_by_its_number(tiny_runs, monkeypatch, capsys):
    lines = ["She <mask> ."] * 1025 + ["no gap"]  # in the second block
    monkeypatch.setattr("lexigraph.abilities.encoding.MaskFilling._filled", lambda *_: [])
    monkeypatch.setattr(sys, "argv", ["lexigraph", "fill", str(tiny_runs("bert"))])
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(lines)))
    with pytest.raises(SystemExit):
        cli.main()
    assert "Text 1,026 has no gap" in capsys.readouterr().err


def test_several_texts_for_a_prompt_stand_apart(tiny_run, monkeypatch, capsys):
    out = printed(monkeypatch, capsys, "generate", tiny_run, "The", "-n", "2", "--max-new", "4")
    assert [line for line in out.splitlines() if line.startswith("---")] == ["--- 1 ---", "--- 2 ---"]
    found = json.loads(
        printed(monkeypatch, capsys, "generate", tiny_run, "The", "-n", "2", "--max-new", "4", "--json")
    )
    assert [item["prompt"] for item in found] == ["The", "The"]


def test_a_prompt_is_continued_before_the_next_one_is_waited_for(tiny_run, monkeypatch):
    (reads, asks), (listens, writes) = os.pipe(), os.pipe()
    monkeypatch.setattr(sys, "stdin", os.fdopen(reads))
    monkeypatch.setattr(sys, "stdout", os.fdopen(writes, "w"))
    with ThreadPoolExecutor() as pool:
        asked = pool.submit(cli.app, ["generate", str(tiny_run), "--max-new", "3"], standalone_mode=False)
        for prompt in (b"The", b"She"):
            os.write(asks, prompt + b"\n")
            assert os.read(listens, 1000).startswith(prompt)
        os.close(asks)
        asked.result()


def test_a_sum_that_begins_with_a_minus_is_no_option(tiny_runs, monkeypatch, capsys):
    run = tiny_runs("picture")
    found = json.loads(printed(monkeypatch, capsys, "solve", run, "- 0.5 He ran . + She sings .", "--json"))
    assert found[0]["terms"] == [{"factor": -0.5, "text": "He ran ."}, {"factor": 1.0, "text": "She sings ."}]


def test_answers_say_how_far_they_are_to_be_trusted(monkeypatch, capsys):
    sums = ["She is tired. - He is tired. + He is here.", "Do not sit. - Sit. + Close the two old windows, please."]
    sure, doubtful = json.loads(printed(monkeypatch, capsys, "solve", "books", *sums, "--json"))
    assert (sure["text"], sure["doubtful"]) == ("She is here.", False)
    assert sure["round_trip"] > 0.99
    assert sure["likelihood"] == pytest.approx(sure["log_probability"] / 5, abs=0.1)
    assert doubtful["doubtful"]
    monkeypatch.setattr(sys, "argv", ["lexigraph", "solve", "books", *sums])
    with pytest.raises(SystemExit):
        cli.main()
    out, err = capsys.readouterr()
    assert out.splitlines() == [sure["text"], doubtful["text"]]  # for the next program of a pipe
    assert err.splitlines() == [f"! doubtful (round trip {doubtful['round_trip']:.2f}): {doubtful['text']}"]
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    lines = printed(monkeypatch, capsys, "solve", "books", *sums).splitlines()
    assert [line.split()[0] for line in lines] == [f"{each['round_trip']:.2f}" for each in (sure, doubtful)]
    assert ["doubtful" in line for line in lines] == [False, True]


def test_a_picture_is_read_with_where_the_decoder_looked(tmp_path, monkeypatch, capsys):
    printed(monkeypatch, capsys, "pictures", "books", "She laughed.", "--out", tmp_path / "drawn")
    file = tmp_path / "drawn/0000.png"
    (item,) = json.loads(printed(monkeypatch, capsys, "read", "books", file, "--alignment", "--json"))
    assert (item["file"], item["text"], item["doubtful"]) == (str(file), "She laughed.", False)
    assert [piece for piece, _, _ in item["alignment"]] == ["She", "laughed", ".", "<eos>"]
    assert all(1 / 16 <= share <= 1 and place.startswith("row ") for _, place, share in item["alignment"])
    lines = printed(monkeypatch, capsys, "read", "books", file, "--alignment").splitlines()
    assert lines[0] == "She laughed."
    assert len(lines) == 5
