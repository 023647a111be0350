"""Word vectors as runs: `train skipgram` leaves a folder as `train gpt` does, and keeps the same promises."""

import json
import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

import lexigraph
from lexigraph import cli
from lexigraph import recipe as recipes
from lexigraph.errors import AbilityError, Interrupted, LexigraphError, UsageError
from lexigraph.registry import CONTRACTS, WORD_SYSTEMS
from lexigraph.run import Run
from lexigraph.text import constructions
from lexigraph.words import counts, training
from lexigraph.words.checkpoint import Checkpoint
from lexigraph.words.vectors import WordVectors

NAMES = [name for name in recipes.names() if recipes.of_word_vectors(name)]
COUNTED = {"ppmi-svd", "lsa", "hellinger"}  # they have no epochs
SMALL = {"words.dim": 8, "words.min_count": 2, "words.threads": 1, "words.epochs": 4, "words.buckets": 500}
KEPT = ("vectors/vectors.npy", "vectors/counts.npy", "vectors/words.txt", "recipe.toml")


def content(folder):
    """Every path below a folder with its bytes."""
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run of skip-gram. Leave it as it is; copy it to change it."""
    out = tmp_path_factory.mktemp("finished") / "skipgram"
    lexigraph.train("skipgram", "grammar", out, tiny=True, quiet=True)
    return out


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.txt").write_text("\n".join(constructions.sentences(400)) + "\n")
    return tmp_path


@pytest.fixture
def command(here, monkeypatch, capsys):
    """Runs `lexigraph …` in this process: exit code, standard output, standard error."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["lexigraph", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err

    return call


def stopped(monkeypatch, name, out, how, epochs=2, **more):
    """A training that is stopped after so many epochs; counts, which have none, before they are vectors."""

    def stop(*_, **__):
        how()

    def save(checkpoint, tables, losses, save=Checkpoint.save):
        save(checkpoint, tables, losses)
        if len(losses) == epochs:
            stop()

    with monkeypatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        patch.setattr(counts, "vectors_from_counts", stop)
        with pytest.raises(Interrupted) as told:
            lexigraph.train(name, "my.txt", out, set=SMALL, quiet=True, **more)
    return str(told.value)


def interrupt():
    raise KeyboardInterrupt


# ---- what a run holds ----


@pytest.mark.parametrize("name", NAMES)
def test_every_recipe_leaves_a_complete_run_that_loads_as_it_was_trained(name, here):
    trained = lexigraph.train(name, "grammar", "runs/mine", tiny=True, quiet=True)
    run = Run.open("runs/mine")
    names = {path.name for path in run.path.iterdir()}
    expected = {"recipe.toml", "config.json", "results.json", "vectors"}
    assert names == expected if name in COUNTED else names == expected | {"log.jsonl"}
    assert run.finished
    config = run.config()
    assert (config["system"], config["lexigraph"]) == ("word-vectors", lexigraph.__version__)
    assert config["abilities"] == list(trained.abilities)
    loaded = lexigraph.load("runs/mine")
    assert loaded.words == trained.words
    assert np.array_equal(loaded.vectors, trained.vectors)
    assert np.array_equal(loaded.counts, trained.counts)
    assert loaded.nearest("she", k=3) == trained.nearest("she", k=3)
    if name == "fasttext":
        assert np.array_equal(loaded["unheardof"], trained["unheardof"])  # n-grams are kept


def test_results_say_what_is_known(finished):
    results = json.loads((finished / "results.json").read_text())
    vectors = lexigraph.load(finished)
    assert (results["words"], results["dim"]) == (len(vectors), vectors.dim)
    assert results["tokens"] == int(vectors.counts.sum())
    assert len(results["losses"]) == results["epochs"] == 2
    scores = results["scores"]["train"]
    assert scores["loss"]["value"] == results["losses"][-1]
    assert 0 < scores["coverage"]["value"] < 1  # words seen once are left out
    assert "seed:0|epochs:2|threads:1|lexigraph:" in scores["signature"]
    assert results["seconds"] > 0
    assert results["peak_memory_gb"] > 0
    lines = [json.loads(line) for line in (finished / "log.jsonl").read_text().splitlines()]
    assert [(line["kind"], line["epoch"], line["loss"]) for line in lines] == [
        ("train", epoch, loss) for epoch, loss in enumerate(results["losses"], 1)
    ]


def test_a_run_has_the_vectors_that_the_short_way_gives(here):
    run = lexigraph.train("skipgram", "my.txt", "runs/skipgram", set=SMALL, quiet=True)
    short = WordVectors.train("my.txt", "skipgram", 8, min_count=2, threads=1, epochs=4)
    assert np.array_equal(run.vectors, short.vectors)
    assert run.losses == short.losses


def test_a_run_is_loaded_as_vectors_by_either_name(here):
    one = lexigraph.train("cbow", "my.txt", "one", set=SMALL, quiet=True)
    assert np.array_equal(one.vectors, lexigraph.load("one").vectors)
    assert np.array_equal(one.vectors, WordVectors.load("one").vectors)


def test_the_built_in_corpus_and_named_columns_are_texts_too(here):
    few, more = (
        lexigraph.train("ppmi-svd", "grammar", f"g{n}", set=SMALL | {"data.sentences": n}, quiet=True).counts.sum()
        for n in (100, 200)
    )
    assert 1.5 * few < more < 3 * few
    lines = [json.dumps({"id": n, "body": line}) for n, line in enumerate(constructions.sentences(400))]
    (here / "my.jsonl").write_text("\n".join(lines) + "\n")
    columns = {"data.columns": {"text": "body"}}
    named = lexigraph.train("cbow", "my.jsonl", "named", set=SMALL | columns, quiet=True)
    plain = lexigraph.train("cbow", "my.txt", "plain", set=SMALL, quiet=True)
    assert np.array_equal(named.vectors, plain.vectors)


# ---- stopping and going on ----


@pytest.mark.parametrize("how", [interrupt, lambda: os.kill(os.getpid(), signal.SIGTERM)], ids=["Ctrl-C", "SIGTERM"])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_that_was_stopped_ends_with_the_same_bits(name, how, here, monkeypatch):
    lexigraph.train(name, "my.txt", "calm", set=SMALL, quiet=True)
    said = stopped(monkeypatch, name, "rough", how)
    assert "lexigraph train --out rough --resume" in said
    left = {path.name for path in (here / "rough").iterdir()}
    assert left == {"recipe.toml", "config.json", "checkpoints"} | (set() if name in COUNTED else {"log.jsonl"})
    with pytest.raises(LexigraphError, match="rough is not trained yet"):
        lexigraph.load("rough")
    resumed = lexigraph.train(out="rough", resume=True, quiet=True)
    assert len(resumed.losses) == (0 if name in COUNTED else 4)
    calm, rough = here / "calm", here / "rough"
    assert content(rough).keys() == content(calm).keys()
    assert [(rough / kept).read_bytes() for kept in KEPT] == [(calm / kept).read_bytes() for kept in KEPT]
    one, other = (json.loads((run / "results.json").read_text()) for run in (calm, rough))
    assert one["losses"] == other["losses"]
    assert one["scores"] == other["scores"]
    if name not in COUNTED:
        logs = [[json.loads(line) for line in (run / "log.jsonl").read_text().splitlines()] for run in (calm, rough)]
        assert [line["loss"] for line in logs[0]] == [line["loss"] for line in logs[1]]


def test_a_run_that_was_killed_ends_with_the_same_bits(here):
    code = (
        "import os, signal\n"
        "import lexigraph\n"
        "from lexigraph.words.checkpoint import Checkpoint\n"
        "save = Checkpoint.save\n"
        "def die(self, tables, losses):\n"
        "    if len(losses) == 3: self.report(losses); os.kill(os.getpid(), signal.SIGKILL)\n"  # after its line
        "    save(self, tables, losses)\n"
        "Checkpoint.save = die\n"
        f"lexigraph.train('skipgram', 'my.txt', 'rough', set={SMALL}, quiet=True)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    assert len((here / "rough" / "log.jsonl").read_text().splitlines()) == 3
    calm = lexigraph.train("skipgram", "my.txt", "calm", set=SMALL, quiet=True)
    resumed = lexigraph.train("skipgram", "my.txt", "rough", set=SMALL, resume=True, quiet=True)
    assert np.array_equal(resumed.vectors, calm.vectors)
    assert resumed.losses == calm.losses
    assert len((here / "rough" / "log.jsonl").read_text().splitlines()) == 4


def test_a_finished_run_has_nothing_to_resume(command, here, finished):
    shutil.copytree(finished, here / "run")
    before = content(here)
    code, out, said = command("train", "--out", "run", "--resume")
    assert (code, out) == (0, "run\n")
    assert "run is finished: there is nothing to resume" in said
    assert content(here) == before


def test_other_settings_are_refused_by_name(command, here, monkeypatch):
    stopped(monkeypatch, "skipgram", "run", interrupt)
    before = content(here)
    for asked, sentence in {
        ("skipgram", "--data", "my.txt"): "words.dim: 8 became 100",
        ("--set", "words.window=3"): "words.window: 5 became 3",
        ("--data", "other.txt"): "data.train: 'my.txt' became 'other.txt'",
        ("cbow", "--data", "my.txt"): "words.method: 'skipgram' became 'cbow'",
        ("gpt", "--data", "my.txt"): "system: 'word-vectors' became 'gpt'",
    }.items():
        code, out, said = command("train", *asked, "--out", "run", "--resume")
        assert (code, out) == (1, "")
        assert "run was started with another recipe" in said
        assert sentence in said
        assert content(here) == before


def test_another_text_under_the_same_name_and_a_damaged_checkpoint_are_refused(here, monkeypatch):
    stopped(monkeypatch, "skipgram", "run", interrupt)
    text = (here / "my.txt").read_text()
    (here / "my.txt").write_text(text + "She laughed .\n")
    with pytest.raises(LexigraphError, match="of a training with other text or settings"):
        lexigraph.train(out="run", resume=True, quiet=True)
    (here / "my.txt").write_text(text)
    (here / "run" / "checkpoints" / "epoch.safetensors").write_bytes(b"half")
    before = content(here)
    with pytest.raises(LexigraphError, match="is damaged"):
        lexigraph.train(out="run", resume=True, quiet=True)
    assert content(here) == before


# ---- going on from vectors ----


@pytest.mark.parametrize("start", ["run", "old.vec"])
def test_a_training_goes_on_from_a_run_or_a_file(start, here, finished, monkeypatch):
    old = lexigraph.load(finished)
    shutil.copytree(finished, here / "run")
    old.save("old.vec")
    (here / "my.txt").write_text("the grebe dived and the grebe rose\n" * 20)
    calm = lexigraph.train("skipgram", "my.txt", "calm", start=start, set={"words.threads": 1}, quiet=True)
    assert calm.dim == old.dim  # the vectors say it, not the recipe
    assert "grebe" in calm
    assert np.array_equal(calm["she"], old["she"])  # not in the new text: as it was
    assert not np.array_equal(calm["the"], old["the"])
    assert Run.open("calm").config()["from"] == start


def test_vectors_to_go_on_from_are_kept_until_the_run_is_finished(here, finished, monkeypatch):
    lexigraph.load(finished).save("old.vec")
    calm = lexigraph.train("cbow", "my.txt", "calm", start="old.vec", set=SMALL, quiet=True)
    stopped(monkeypatch, "cbow", "rough", interrupt, start="old.vec")
    (here / "old.vec").unlink()
    assert np.array_equal(lexigraph.train(out="rough", resume=True, quiet=True).vectors, calm.vectors)
    assert not (here / "rough" / "start").exists()


def test_other_methods_and_dimensions_do_not_go_on_from_vectors(here, finished):
    before = content(here)
    with pytest.raises(UsageError, match=r"leave out --from .* for glove"):
        lexigraph.train("glove", "my.txt", "run", start=finished, quiet=True)
    with pytest.raises(UsageError, match="have 8 dimensions: set dim to that, not 9"):
        lexigraph.train("skipgram", "my.txt", "run", start=finished, set={"words.dim": 9}, quiet=True)
    with pytest.raises(UsageError, match="have 8 numbers, and the tokens of this model"):
        lexigraph.train("gpt", "my.txt", "run", start=finished, quiet=True)
    assert content(here) == before


# ---- wrong requests ----


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (["skipgram"], "There is no training text: give --data FILE"),
        (["skipgram", "--data", "nothing.txt"], "no such file"),
        (["skipgran", "--data", "my.txt"], "did you mean 'skipgram'?"),
        (
            ["skipgram", "--data", "my.txt", "--valid", "my.txt"],
            "leave out --valid: vectors are learned from one text",
        ),
        (["skipgram", "--data", "my.txt", "--test", "my.txt"], "leave out --test"),
        (["skipgram", "--data", "my.txt", "--prepare"], "leave out --prepare"),
        (
            ["skipgram", "--data", "my.txt", "--set", "train.steps=5"],
            "train.steps means nothing for word vectors; write",
        ),
        (["skipgram", "--data", "my.txt", "--set", "train.precision=bf16"], "their settings are the keys of [words]"),
        (["skipgram", "--data", "my.txt", "--set", "model.layers=2"], "model.layers means nothing for word vectors"),
        (["skipgram", "--data", "my.txt", "--set", "data.unit=stream"], "data.unit means nothing for word vectors"),
        (["skipgram", "--data", "my.txt", "--set", "dim=5"], "Unknown key dim; did you mean 'words.dim'?"),
        (["skipgram", "--data", "my.txt", "--set", "words.dimm=5"], "did you mean 'words.dim'?"),
        (["skipgram", "--data", "my.txt", "--set", "words.dim=many"], "words.dim must be a whole number, not 'many'"),
        (["skipgram", "--data", "my.txt", "--set", "words.dim=0"], "words.dim must be at least 1, not 0"),
        (["skipgram", "--data", "my.txt", "--set", "words.sample=-0.5"], "words.sample must be at least 0"),
        (
            ["skipgram", "--data", "my.txt", "--set", "words.loss=full"],
            "must be one of negative, hierarchical, softmax",
        ),
        (["skipgram", "--data", "my.txt", "--set", "words.min_count=9999"], "Lower min_count"),
        (["lsa", "--data", "my.txt", "--set", "words.dim=9999"], "ask for fewer, or give more text"),
    ],
)
def test_wrong_requests_give_a_sentence_and_leave_nothing(asked, sentence, command, here):
    (here / "empty").mkdir()
    for out in ("new/folder/run", "empty"):
        before = content(here)
        code, printed, said = command("train", *asked, "--out", out)
        assert code in (1, 2)
        assert sentence in said
        assert not printed
        assert content(here) == before


def test_a_folder_that_holds_something_is_never_written_to(command, here, finished):
    shutil.copytree(finished, here / "run")
    (here / "full").mkdir()
    (here / "full" / "letter.txt").write_text("dear")
    before = content(here)
    assert "holds a run already" in command("train", "cbow", "--data", "my.txt", "--out", "run")[2]
    assert "exists and is not empty" in command("train", "cbow", "--data", "my.txt", "--out", "full")[2]
    assert content(here) == before


def test_a_recipe_of_ones_own(here):
    (here / "mine.toml").write_text('[words]\nmethod = "cbow"\ndim = 6\nmin_count = 2\nthreads = 1\n')
    assert lexigraph.train("mine.toml", "my.txt", "run", quiet=True).dim == 6
    wrong = {
        'system = "word-vectors"\n[words]\ndimm = 6\n': r"wrong\.toml, line 3: unknown key words\.dimm",
        "[words]\ndim = 0\n": r"wrong\.toml, line 2: words\.dim must be at least 1",
        "[words]\ndim = 6\n[train]\nsteps = 5\n": r"wrong\.toml, line 4: train\.steps means nothing for word vectors",
        "[words]\ndim = 6\n[wordz]\n": r"wrong\.toml, line 3: unknown section \[wordz\]; did you mean 'words'",
    }
    for text, sentence in wrong.items():
        (here / "wrong.toml").write_text(text)
        with pytest.raises(UsageError, match=sentence):
            lexigraph.train("wrong.toml", "my.txt", "never", quiet=True)


# ---- using a run ----


def test_every_verb_for_word_vectors_takes_a_run(command, here, finished):
    shutil.copytree(finished, here / "run")
    for asked in (
        ["nearest", "run", "she", "-k", "2"],
        ["similarity", "run", "she", "he"],
        ["analogy", "run", "he", "she", "they"],
        ["outlier", "run", "she", "he", "they"],
        ["map", "run", "she", "he", "they", "--out", "map.svg"],
        ["search", "run", "she laughed", "--data", "my.txt", "-k", "2"],
        ["senses", "run", "she", "-k", "2", "--topics", "5"],
        ["align", "run", "run", "she"],
        ["debias", "run", "--pair", "he:she", "--out", "fair.vec"],
    ):
        code, _, said = command("words", *asked)
        assert code == 0, (asked, said)
    assert command("convert", "run", "my.vec")[0] == 0
    assert np.array_equal(WordVectors.load("my.vec").vectors, lexigraph.load("run").vectors)


def test_info_shows_what_was_trained_and_how_it_went(command, finished):
    code, out, _ = command("info", finished)
    rows = dict(line.split("\t")[:2] for line in out.splitlines() if "\t" in line)
    assert code == 0
    assert (rows["system"], rows["method"], rows["dim"]) == ("word-vectors", "skipgram", "8")
    assert float(rows["train loss"]) > 0
    assert float(rows["train coverage"]) <= 1
    facts = json.loads(command("info", finished, "--json")[1])
    assert facts["recipe"]["words.dim"] == 8


@pytest.mark.parametrize(
    "verb",
    [["generate"], ["encode", "--out", "v.npy"], ["diagnose"], ["eval", "--data", "my.txt"]],
    ids=lambda v: v[0],
)
def test_verbs_of_networks_say_what_word_vectors_can_do(verb, command, finished):
    code, out, said = command(verb[0], finished, *verb[1:], *([] if verb[0] == "eval" else ["She laughed ."]))
    assert (code, out) == (1, "")
    assert "holds word vectors; they can: nearest, similarity, analogy, outlier, map" in said


def test_abilities_of_networks_say_what_word_vectors_can_do(finished):
    vectors = lexigraph.load(finished)
    with pytest.raises(AbilityError, match="Word vectors cannot generate; they can: nearest, similarity"):
        vectors.generate(["She"])
    assert not hasattr(vectors, "encode")
    assert not hasattr(vectors, "nonsense")
    with pytest.raises(UsageError, match="leave out device and int8"):
        lexigraph.load(finished, int8=True)


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda run: (run / "vectors" / "vectors.npy").write_bytes(b"half"), "vectors"),
        (lambda run: (run / "vectors" / "words.txt").unlink(), "words.txt"),
        (lambda run: shutil.rmtree(run / "vectors"), "is incomplete: vectors is missing"),
        (lambda run: (run / "results.json").unlink(), "is not trained yet"),
        (
            lambda run: (run / "config.json").write_text('{"format": 99, "system": "word-vectors"}'),
            "update Lexigraph to use it",
        ),
    ],
)
def test_a_damaged_run_gives_a_sentence_and_stays_as_it_is(damage, sentence, command, here, finished):
    shutil.copytree(finished, here / "run")
    damage(here / "run")
    before = content(here)
    for asked in (["words", "nearest", "run", "she"], ["convert", "run", "my.vec"]):
        code, out, said = command(*asked)
        assert (code, out) == (1, "")
        assert sentence in said
        assert content(here) == before


# ---- recipes, comparison, the registry ----


def test_recipes_are_one_table(command):
    rows = [line.split("\t") for line in command("recipes")[1].splitlines()]
    assert [row[0] for row in rows[1:]] == recipes.names()
    assert {row[0]: row[2] for row in rows}["glove"] == "words: nearest similarity analogy outlier map"
    assert command("recipes", "glove")[1] == recipes.source("glove").text


def test_compared_vectors_are_runs(command, here):
    changes = [part for key, value in SMALL.items() for part in ("--set", f"{key}={value}")]
    code, _, said = command("compare", "cbow", "lsa", "--data", "my.txt", "--out", "c", *changes)
    assert code == 0, said
    rows = json.loads((here / "c" / "compare.json").read_text())
    for row in rows:
        results = json.loads((here / "c" / row["recipe"] / "results.json").read_text())
        assert (row["words"], row["dim"], row["seconds"]) == (results["words"], 8, results["seconds"])


def test_abilities_in_the_registry_are_methods_and_verbs():
    for system in WORD_SYSTEMS.values():
        assert all(callable(getattr(WordVectors, ability)) for ability in system.abilities)
        assert set(system.abilities) <= cli.WORDS.keys()
        assert set(CONTRACTS) - system.exempt.keys() == {"resume", "save-load"}  # tested above


@pytest.mark.parametrize(
    "code",
    [
        "lexigraph.train('skipgram', 'my.txt', 'run', quiet=True); lexigraph.load('run').nearest('she')",
        "sys.argv = 'lexigraph train lsa --data my.txt --out run'.split(); from lexigraph.cli import main; main()",
    ],
    ids=["Python", "command line"],
)
def test_training_word_vectors_loads_no_torch(code, here):
    report = "import atexit, sys, lexigraph; atexit.register(lambda: print('torch' in sys.modules))\n"
    done = subprocess.run([sys.executable, "-c", report + code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "False"
    assert (here / "run" / "results.json").exists()


def test_threads_are_counted_when_training_begins_not_in_the_recipe(here):
    """So a run can go on where there are fewer cores."""
    assert recipes.read("skipgram").flat()["words.threads"] == 0
    lexigraph.train("skipgram", "my.txt", "run", set={"words.min_count": 2}, quiet=True)
    assert Run.open("run").recipe().flat()["words.threads"] == 0
    signature = Run.open("run").json("results.json")["scores"]["train"]["signature"]
    assert f"threads:{training.Settings().with_threads().threads}" in signature
