"""Wrong input at the command line: the exit code, a sentence that says what and where, and a disk left as it was."""

import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from safetensors.numpy import load_file, save_file

import lexigraph
import lexigraph.api
from lexigraph import cli
from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError

FAILED, WRONG_USAGE = 1, 2
TEXT = "".join(f"the {number} cats sat on mat {number % 7} .\n" for number in range(60))


def content(folder):
    """Every path below a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Tests run in an empty folder with one good text in it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.txt").write_text(TEXT)
    return tmp_path


@pytest.fixture
def run(here, tiny_run):
    """A copy of a trained run, to be damaged."""
    shutil.copytree(tiny_run, here / "run")
    return here / "run"


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs `lexigraph …` in this process: exit code, standard output, standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["lexigraph", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        out, err = capsys.readouterr()
        return ended.value.code, out, err

    return call


@pytest.fixture
def refused(here, command):
    """Runs a command that must fail: no result, no traceback, the disk as before. Gives what was said."""

    def call(code, *arguments):
        before = content(here)
        ended, out, err = command(*arguments)
        assert ended == code, err
        assert out == ""
        assert "Traceback" not in err
        assert content(here) == before
        return " ".join(err.split())

    return call


def assert_says(sentence, *words):
    for word in words:
        assert str(word) in sentence, f"{word!r} is not in {sentence!r}"


# ---- files ----

BAD_FILES = {
    "missing": (None, ["no such file"]),
    "empty": (b"", ["empty"]),
    "blank": (b" \n\n\t\n", ["empty"]),
    "binary": (b"some text\n\x00\x01\x02\x03", ["line 2", "10"]),
    "latin-1": ("fine\ncaf\u00e9 noir\n".encode("latin-1"), ["line 2", "byte offset 8", "0xE9", "UTF-8"]),
    "cut in a character": ("naïve".encode()[:3], ["byte offset 2", "UTF-8"]),
    "long line": (b"short\n" + b"x" * 10_000_000 + b"\n", ["line 2", "data.max_chars"]),
}


@pytest.mark.parametrize(
    ("unit", "kind"),
    [(unit, kind) for unit in ("line", "stream") for kind in BAD_FILES if (unit, kind) != ("stream", "long line")],
)
def test_training_on_a_bad_file_says_what_is_wrong_where(here, refused, kind, unit):
    data, words = BAD_FILES[kind]
    if data is not None:
        (here / "bad.txt").write_bytes(data)
    assert_says(
        refused(FAILED, "train", "gpt", "--data", "bad.txt", "--out", "runs/new", "--set", f"data.unit={unit}"),
        *("bad.txt", *words),
    )


@pytest.mark.parametrize("kind", ["missing", "empty", "binary", "latin-1"])
def test_evaluating_and_checking_a_bad_file(here, run, refused, kind):
    data, words = BAD_FILES[kind]
    if data is not None:
        (here / "bad.txt").write_bytes(data)
    assert_says(refused(FAILED, "eval", run, "--data", "bad.txt"), "bad.txt", *words)
    assert_says(refused(FAILED, "check", "bad.txt"), "bad.txt", *words)


@pytest.mark.parametrize("option", ["--valid", "--test"])
def test_a_bad_held_out_file_is_refused_before_training(refused, option):
    sentence = refused(FAILED, "train", "gpt", "--data", "good.txt", option, "nowhere.txt", "--out", "new")
    assert_says(sentence, "nowhere.txt", "no such file")


def test_a_text_smaller_than_a_batch_is_refused(refused):
    sentence = refused(FAILED, "train", "gpt", "--data", "good.txt", "--out", "new")
    assert_says(sentence, "good.txt", "tokens", "2,048", "train.batch_tokens")


def test_a_file_whose_text_column_is_elsewhere(here, refused):
    (here / "rows.jsonl").write_text('{"text": "fine"}\n{"text": 7}\n')
    assert_says(
        refused(FAILED, "train", "gpt", "--data", "rows.jsonl", "--out", "new"), "rows.jsonl, line 2", "data.columns"
    )


def test_training_needs_a_recipe_a_text_and_a_folder(refused):
    assert_says(refused(WRONG_USAGE, "train", "gpt", "--data", "good.txt"), "--out")
    assert_says(refused(WRONG_USAGE, "train", "gpt", "--out", "new"), "--data")
    assert_says(refused(WRONG_USAGE, "train", "--data", "good.txt", "--out", "new"), "recipe")
    assert_says(refused(WRONG_USAGE, "train", "gpt", "--data", "good.txt", "--out", "."), "name")


# ---- recipes ----


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('system = "gpt"\n[train]\nstps = 5\n', 3, ["train.stps", "'steps'"]),
        ('system = "gpt"\n\n[train]\nlr = "high"\n', 4, ["train.lr", "number", "'high'"]),
        ('system = "gpt"\n[modle]\ndim = 8\n', 2, ["[modle]", "'model'"]),
        ('system = "gptt"\n', 1, ["'gptt'", "'gpt'"]),
        ('system = "gpt"\n[train\n', 2, ["TOML"]),
    ],
)
def test_a_wrong_recipe_file_is_refused_with_its_line(here, refused, text, line, words):
    (here / "mine.toml").write_text(text)
    sentence = refused(WRONG_USAGE, "train", "mine.toml", "--data", "good.txt", "--out", "new")
    assert_says(sentence, "mine.toml", f"line {line}", *words)


def test_unknown_recipes_and_keys_are_answered_with_the_nearest(refused):
    assert_says(refused(WRONG_USAGE, "train", "gppt", "--data", "good.txt", "--out", "new"), "'gppt'", "'gpt'")
    assert_says(refused(WRONG_USAGE, "recipes", "gppt"), "'gppt'", "'gpt'")
    usual = ("train", "gpt", "--data", "good.txt", "--out", "new", "--set")
    assert_says(refused(WRONG_USAGE, *usual, "train.stepps=5"), "train.stepps", "'train.steps'")
    assert_says(refused(WRONG_USAGE, *usual, "train.steps=lots"), "train.steps", "'lots'", "whole number")
    assert_says(refused(WRONG_USAGE, *usual, "train.device=tpu"), "no device", "'tpu'")
    assert_says(refused(WRONG_USAGE, *usual, "data.split=0.9,0.9"), "data.split", "0.9")
    assert_says(refused(WRONG_USAGE, *usual, "data.clean=lowr"), "'lowr'", "'lower'")


def test_unknown_verbs_and_options_are_wrong_usage(refused, run):
    assert_says(refused(WRONG_USAGE, "trian"), "trian")
    assert_says(refused(WRONG_USAGE, "train", "gpt", "--dta", "good.txt"), "--dta")
    assert_says(refused(WRONG_USAGE, "generate", run, "a", "--max-new", "many"), "--max-new")
    assert_says(refused(WRONG_USAGE, "score", run, "a", "--device", "tpu"), "'tpu'")


# ---- run folders ----


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def rename_weight(path):
    weights = load_file(path)
    weights["foreign.weight"] = weights.pop(sorted(weights)[0])
    save_file(weights, path)


def newer(path):
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 99}))


DAMAGES = {
    "weights cut": (lambda run: cut(run / "model.safetensors"), ["model.safetensors", "truncated"]),
    "weights missing": (lambda run: (run / "model.safetensors").unlink(), ["model.safetensors", "incomplete"]),
    "weights emptied": (lambda run: (run / "model.safetensors").write_bytes(b""), ["model.safetensors", "damaged"]),
    "weights foreign": (lambda run: rename_weight(run / "model.safetensors"), ["model.safetensors"]),
    "weights of another size": (
        lambda run: edit(run / "recipe.toml", "dim = 16", "dim = 32"),
        ["model.safetensors", "shape"],
    ),
    "tokenizer cut": (lambda run: cut(run / "tokenizer.json"), ["tokenizer.json", "damaged"]),
    "tokenizer missing": (lambda run: (run / "tokenizer.json").unlink(), ["tokenizer.json"]),
    "tokenizer foreign": (lambda run: (run / "tokenizer.json").write_text('{"model": {}}'), ["tokenizer.json"]),
    "recipe missing": (lambda run: (run / "recipe.toml").unlink(), ["recipe.toml"]),
    "recipe damaged": (lambda run: edit(run / "recipe.toml", "[model]", "[model"), ["recipe.toml", "TOML"]),
}
NO_RUNS = {
    "config missing": (lambda run: (run / "config.json").unlink(), ["config.json", "not a run folder"]),
    "config cut": (lambda run: cut(run / "config.json"), ["config.json", "damaged"]),
    "config of another program": (
        lambda run: (run / "config.json").write_text('{"model_type": "gpt2"}'),
        ["config.json", "not a run folder"],
    ),
    "newer format": (lambda run: newer(run / "config.json"), ["format 99", "update Lexigraph"]),
    "no folder": (shutil.rmtree, ["no run folder"]),
}
VERBS = {
    "generate": ("generate", "run", "the"),
    "score": ("score", "run", "the cat"),
    "eval": ("eval", "run", "--data", "good.txt"),
    "info": ("info", "run"),
    "resume": ("train", "--out", "run", "--resume"),
}


@pytest.mark.parametrize("verb", ["generate", "score", "eval"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_refused(run, refused, damage, verb):
    corrupt, words = DAMAGES[damage]
    corrupt(run)
    assert_says(refused(FAILED, *VERBS[verb]), "run", *words)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("damage", NO_RUNS)
def test_what_is_not_a_run_is_refused(run, refused, damage, verb):
    corrupt, words = NO_RUNS[damage]
    corrupt(run)
    if damage == "no folder" and verb == "resume":
        words = ["no run", "to resume"]
    assert_says(refused(FAILED, *VERBS[verb]), "run", *words)


@pytest.mark.parametrize("verb", ["info", "eval"])
def test_damaged_results_are_named(run, refused, verb):
    cut(run / "results.json")
    assert_says(refused(FAILED, *VERBS[verb]), "results.json", "damaged")


@pytest.mark.parametrize("damage", ["weights cut", "tokenizer cut", "recipe damaged", "recipe missing"])
def test_a_damaged_start_is_refused_before_training(run, refused, damage):
    corrupt, _ = DAMAGES[damage]
    corrupt(run)
    sentence = refused(
        FAILED, *("train", "gpt", "--data", "good.txt", "--out", "new", "--from", "run", "--quiet"),
        *("--set", "train.batch_tokens=64", "--set", "train.steps=1"),
    )  # fmt: skip
    assert_says(sentence, "run")


def test_a_model_of_one_system_cannot_be_the_start_of_another(run, refused):
    sentence = refused(WRONG_USAGE, "train", "lstm-lm", "--data", "good.txt", "--out", "new", "--from", "run")
    assert_says(sentence, "run", "gpt", "rnn-lm")


# ---- where a run goes ----


def test_a_folder_that_is_not_empty_is_left_alone(here, run, refused):
    (here / "full").mkdir()
    (here / "full" / "diary.txt").write_text("mine")
    usual = ("train", "gpt", "--data", "good.txt", "--out")
    assert_says(refused(FAILED, *usual, "full"), "full", "not empty", "--out")
    assert_says(refused(FAILED, *usual, "run"), "run", "holds a run", "--resume")
    assert_says(refused(FAILED, *usual, "good.txt"), "good.txt", "--out")
    assert_says(refused(FAILED, *usual, "good.txt/run"), "good.txt")


def test_a_failed_start_leaves_an_empty_folder_and_missing_parents_as_they_were(here, refused):
    (here / "ready").mkdir()
    for out in ("ready", "not/yet/there"):  # `refused` compares the disk
        refused(FAILED, "train", "gpt", "--data", "nowhere.txt", "--out", out)
    assert (here / "ready").is_dir()
    assert not (here / "not").exists()


# ---- resuming ----


def test_a_finished_run_has_nothing_to_resume(here, run, command):
    before = content(here)
    code, _, err = command("train", "--out", "run", "--resume")
    assert code == 0
    assert_says(err, "run", "finished")
    assert content(here) == before


def test_a_changed_recipe_cannot_be_resumed_and_the_change_is_named(run, refused):
    usual = ("train", "--out", "run", "--resume")
    assert_says(refused(FAILED, *usual, "--set", "train.seed=7"), "run", "train.seed: 0 became 7")
    assert_says(refused(FAILED, *usual, "--data", "good.txt"), "data.train: 'grammar' became 'good.txt'")
    sentence = refused(FAILED, "train", "run/recipe.toml", *usual[1:], "--set", "model.dim=32")
    assert_says(sentence, "model.dim: 16 became 32")
    assert sentence.count("became") == 1
    assert_says(refused(WRONG_USAGE, *usual, "--set", "train.stps=7"), "'train.steps'")


def test_an_unfinished_run_without_its_tables_cannot_be_resumed(run, refused):
    (run / "results.json").unlink()
    assert_says(refused(FAILED, "train", "--out", "run", "--resume"), "run", "incomplete", "tables")


# ---- abilities ----


def test_what_a_model_cannot_do_is_answered_with_what_it_can(tiny_run):
    model = lexigraph.load(tiny_run)
    with pytest.raises(LexigraphError) as caught:
        model.translate(["a"])
    assert_says(str(caught.value), "gpt", "translate", *model.abilities)
    assert {"generate", "score"} <= set(model.abilities)


def test_an_unknown_attribute_is_a_plain_attribute_error(tiny_run):
    model = lexigraph.load(tiny_run)
    assert not hasattr(model, "weights")
    with pytest.raises(AttributeError, match="'generate'"):
        model.genrate  # noqa: B018


def test_weights_that_are_no_numbers_are_said_so(run, refused):
    path = run / "model.safetensors"
    save_file({name: np.full_like(value, np.nan) for name, value in load_file(path).items()}, path)
    assert_says(refused(FAILED, "generate", "run", "the", "--max-new", "3"), "not numbers")
    assert_says(refused(FAILED, "generate", "run", "the", "--max-new", "3", "--beam", "2"), "not numbers")


# ---- as a program ----


def program(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "lexigraph", *arguments], capture_output=True, text=True, check=False, **options
    )


def test_as_a_program_errors_are_one_sentence_and_an_exit_code(here):
    before = content(here)
    failed = program("info", "nowhere")
    assert (failed.returncode, failed.stdout) == (FAILED, "")
    assert re.fullmatch(r"lexigraph: .*nowhere.*\n", failed.stderr)
    wrong = program("train", "gppt", "--data", "good.txt", "--out", "new")
    assert (wrong.returncode, wrong.stdout) == (WRONG_USAGE, "")
    assert re.fullmatch(r"lexigraph: .*gppt.*\n", wrong.stderr)
    assert content(here) == before


@pytest.mark.parametrize("arguments", [("--debug", "info", "nowhere"), ("info", "nowhere", "--debug")])
def test_debug_shows_the_traceback(arguments):
    failed = program(*arguments)
    assert failed.returncode == FAILED
    assert_says(failed.stderr, "Traceback (most recent call last)", "LexigraphError", "nowhere")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("train.metric=accuracy", "train.metric"),
        ("data.window=500", "context"),
        ("model.dim=6", "Rotary"),
        ("train.clip=-1", "train.clip"),
        ("train.precision=fp16", "train.precision"),
        ("train.device=meta", "'meta'"),
    ],
)
def test_settings_that_would_fail_later_are_refused_before_there_is_a_run(tmp_path, change, word):
    settings = {"model.heads": 2, "train.batch_tokens": 64, "data.unit": "stream"} | recipes.settings([change])
    before = content(tmp_path)
    with pytest.raises(LexigraphError, match=word):
        lexigraph.api.train("gpt", "grammar", tmp_path / "run", set=settings, tiny=True, quiet=True)
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["encode", "books", "", "--out", "z.npy"], "The text is empty"),
        (["encode", "books", "He slept."], "Say where the vectors go"),
        (["decode", "books", "nofile.npy"], "There is no file nofile.npy"),
        (["decode", "books", "text.npy"], "text.npy is no .npy file of numbers"),
        (["decode", "books", "short.npy"], "Vectors of this model have 256 numbers each"),
        (["decode", "books", "nan.npy"], "Vector 1 holds values that are not numbers"),
        (["read", "books", "text.npy"], "not a picture in PNG format"),
        (["read", "books", "foreign.png"], "not drawn by a Lexigraph model"),
        (["blend", "books", "Only one."], "at least two texts"),
        (["blend", "books", "He slept.", "They sang.", "--weights", "a,b"], "--weights takes numbers"),
        (["solve", "books", "He ran. - "], "There is no sentence after '-'"),
        (["sample", "books", "--component", "99"], "There is no component 99"),
        (["generate", "books", "He"], "This picture model cannot generate"),
    ],
)
def test_sentence_spaces_answer_wrong_input_with_a_sentence(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.npy").write_text("no numbers")
    np.save("short.npy", np.zeros((2, 255), np.float32))
    np.save("nan.npy", np.array([[0.0] * 256, [np.nan] * 256], np.float32))
    Image.new("RGB", (64, 64)).save("foreign.png")
    before = sorted(tmp_path.iterdir())
    monkeypatch.setattr(sys, "argv", ["lexigraph", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code in (1, 2)
    assert sentence in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before
