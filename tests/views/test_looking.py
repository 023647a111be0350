"""What is seen inside models is what they compute, and every picture says which run made it."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import lexigraph
from lexigraph.cli import app
from lexigraph.errors import UsageError
from lexigraph.nn.attention import attend, watched
from lexigraph.views import attention, gates, neurons, probabilities, properties, states
from lexigraph.views.picture import save

TEXT = "She is singing in the garden ."
PAIR = f"{TEXT}\tIs she singing ?"


def looked(*arguments: object) -> str:
    """What `lexigraph look` prints."""
    found = CliRunner().invoke(app, ["look", *map(str, arguments)])
    if found.exception and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.stdout


@pytest.fixture(scope="module")
def characters(tiny_runs):
    return lexigraph.load(tiny_runs("lstm-shakespeare"))


# ---- attention -----------------------------------------------------------------------------------------------


def test_watching_changes_nothing_and_ends(tiny_runs):
    network = lexigraph.load(tiny_runs("gpt")).network
    ids = torch.tensor([[2, 5, 6, 7]])
    with torch.no_grad():
        plain = network(ids)
        with watched(network) as watcher:
            seen = network(ids)
        count = len(watcher.found)
        assert torch.allclose(plain, seen, atol=1e-5)
        assert torch.equal(network(ids), plain)
        attend(*torch.zeros(3, 1, 1, 2, 4))
    assert count == len(watcher.found) == network.config.layers


@pytest.mark.parametrize("system", ["gpt", "bert", "electra", "xlnet"])
def test_the_heads_of_every_family_are_shown_and_add_up_to_one(tiny_runs, system):
    heads = attention.heads(lexigraph.load(tiny_runs(system)), TEXT)
    for head in heads:
        assert head.weights.shape == (len(head.rows), len(head.columns))
        assert np.allclose(head.weights.sum(1), 1, atol=1e-4)
    assert "".join(heads[0].columns).count("sing")
    if system == "gpt":
        assert not np.triu(heads[0].weights, 1).any()


@pytest.mark.parametrize("system", ["transformer", "t5", "bart"])
def test_translators_look_at_themselves_and_at_their_source(tiny_runs, system):
    heads = {head.name: head for head in attention.heads(lexigraph.load(tiny_runs(system)), *PAIR.split("\t"))}
    source, target = heads["encoder.0.attention"].columns, heads["decoder.0.attention"].columns
    assert len(source) > len(target) > 2
    assert heads["decoder.0.memory"].weights.shape == (len(target), len(source))
    assert not np.triu(heads["decoder.0.attention"].weights, 1).any()


def test_heads_of_a_part_and_of_a_sentence_encoder_are_those_that_read(tiny_runs, tmp_path):
    run = tmp_path / "classifier"
    lexigraph.train("classifier", "grammar", out=run, start=tiny_runs("bert"), tiny=True, quiet=True)
    for model in map(lexigraph.load, (run, tiny_runs("sentence-encoder"), tiny_runs("picture"))):
        heads = attention.heads(model, TEXT)
        assert len(heads[0].rows) > len(TEXT.split())
        assert heads[0].weights.shape == (len(heads[0].rows), len(heads[0].columns))
        assert all(np.allclose(head.weights.sum(1), 1, atol=1e-4) for head in heads)


def test_heads_look_at_the_direction_that_is_asked_for(tmp_path):
    (tmp_path / "a").write_text("a b c\nb c a\nc a b\n" * 20)
    (tmp_path / "b").write_text("c b a\na c b\nb a c\n" * 20)
    pairs = [f"down={tmp_path}/a+{tmp_path}/b", f"up={tmp_path}/b+{tmp_path}/a"]
    keys = {"data.split": [1.0], "tokenizer.kind": "word"}
    model = lexigraph.train("transformer", pairs, out=tmp_path / "run", tiny=True, quiet=True, set=keys)
    (head, *_) = attention.heads(model, "a b", "b a", to="down")
    assert head.columns[:2] == ["<2down>", "a"]
    (mixed, *_) = attention.heads(model, "a b", "b a", to={"down": 0.5, "up": 0.5})
    assert mixed.columns[0] == "<mixture>"
    with pytest.raises(UsageError, match="several directions"):
        attention.heads(model, "a b", "b a")


def test_a_head_is_named_by_the_place_that_it_favours():
    def head(weights):
        return attention.Head("layer", 1, ["a"] * 6, ["a"] * 6, np.asarray(weights, np.float64))

    assert head(np.eye(6, k=-1) + np.eye(6)[[0]] * (np.arange(6) == 0)[:, None]).kind == "previous"
    assert head(np.eye(6)).kind == "itself"
    even = head(np.full((6, 6), 1 / 6))
    assert even.kind == ""
    assert even.entropy == pytest.approx(np.log2(6))
    assert head(np.eye(6)).distance == 0


def test_places_that_most_rows_cannot_see_and_rows_without_a_choice_name_no_head():
    """Read from left to right, the first token can look at itself alone, and only the last sees the last."""
    T = 8
    previous = np.eye(T, k=-1) * 0.9 + np.tril(np.full((T, T), 0.1))
    previous[0] = np.eye(T)[0]
    weights = previous / previous.sum(1, keepdims=True)
    head = attention.Head("layer", 1, ["a"] * T, ["a"] * T, weights)
    assert set(head.shares) == {"previous", "itself", "first"}
    assert head.kind == "previous"
    assert head.shares["itself"] == pytest.approx(np.diag(weights)[1:].mean())
    even = np.tril(np.ones((T, T))) / np.arange(1, T + 1)[:, None]
    assert attention.Head("layer", 1, ["a"] * T, ["a"] * T, even).entropy == pytest.approx(
        np.log2(np.arange(2, T + 1)).mean()
    )
    across = attention.Head("memory", 1, list("abcdefgh"), list("hgfedcba"), np.eye(T))
    assert set(across.shares) <= {"first", "last"}  # place 3 of a source is not place 3 of its translation


def test_one_head_or_one_layer_is_chosen_by_its_name(tiny_runs):
    every = attention.heads(lexigraph.load(tiny_runs("gpt")), TEXT)
    assert attention.chosen(every, []) == every
    assert [(head.layer, head.number) for head in attention.chosen(every, ["blocks.1 2"])] == [("blocks.1", 2)]
    assert attention.chosen(every, ["blocks.0", "blocks.0.attention 1"]) == every[:2]


# ---- probabilities -------------------------------------------------------------------------------------------


def test_probabilities_are_those_of_the_score(tiny_runs):
    model = lexigraph.load(tiny_runs("lstm-lm"))
    found = probabilities.along(model, TEXT)
    assert sum(np.log(each.probability) for each in found) == pytest.approx(model.score(TEXT), rel=1e-3)
    for each in found:
        shares = [share for _, share in each.alternatives]
        assert shares == sorted(shares, reverse=True)
        assert each.probability <= shares[0] + 1e-6


# ---- cells ---------------------------------------------------------------------------------------------------


def test_properties_follow_the_text():
    text = 'ab (c "d e"\n\n  if X:  # no\n'
    found = {name: make(text) for name, make in properties.PROPERTIES.items()}
    assert found["position in the line"][:4].tolist() == [1, 2, 3, 4]
    assert found["position in the word"][:4].tolist() == [1, 2, 0, 0]
    assert found["open brackets"][:6].tolist() == [0, 0, 0, 1, 1, 1]
    assert found["between quotation marks"][5:12].tolist() == [0, 1, 1, 1, 1, 0, 0]
    assert found["lines since a blank one"][[0, 11, 12, 13]].tolist() == [0, 1, 0, 0]
    assert found["first line after a blank one"][13] == 1
    assert found["indentation"][13:16].tolist() == [1, 2, 2]
    assert found["in an if-statement"][15:19].tolist() == [0, 0, 1, 1]
    assert found["in a comment"][-6:].tolist() == [0, 1, 1, 1, 1, 1]
    assert all(len(values) == len(text) for values in found.values())


def test_no_property_looks_ahead():
    text = 'He said "no" (twice).\n\n  if x:  # a comment\nABC d'
    for name, make in properties.PROPERTIES.items():
        for end in range(1, len(text)):
            assert np.array_equal(make(text)[:end], make(text[:end])), (name, text[:end])


def test_cells_along_a_text_are_the_states_of_the_network(characters):
    text = "She is here .\nHe is not ."
    found = neurons.along(characters, text)
    assert "".join(found.tokens) == text
    ids = torch.tensor([[characters.tokenizer.eos, *characters.tokenizer.encode(text)]])
    with torch.no_grad():
        outputs, _ = characters.network.hidden(ids)
    h = np.stack([found.cell(f"h {unit + 1}") for unit in range(outputs.shape[2])], 1)
    assert np.allclose(h, outputs[0, 1:].numpy(), atol=1e-5)
    with pytest.raises(UsageError, match="no cell 'c 9999'"):
        found.cell("c 9999")


def test_a_cell_with_a_job_is_found_and_chance_is_not():
    random = np.random.default_rng(0)
    text = "".join("x" * int(random.integers(5, 40)) + "\n" for _ in range(100))
    job = properties.PROPERTIES["position in the line"](text)
    values = random.normal(size=(len(text), 30))
    values[:, 7] += -0.5 * job
    (best, *_) = neurons.jobs(neurons.Along(list(text), [f"c {n}" for n in range(30)], values))
    assert (best.property, best.cell) == ("position in the line", "c 7")
    assert best.held_out < -0.9
    assert best.by_chance < 0.9
    noise = neurons.jobs(neurons.Along(list(text), [f"c {n}" for n in range(29)], np.delete(values, 7, 1)))
    assert all(abs(found.held_out) < 0.15 for found in noise)


def test_slow_cells_that_know_nothing_are_not_above_chance():
    """Two slow walks go together by chance: characters in any order would call that a job, moves along the text do
    not. A cell that follows the property stays above what moves give, though a short move changes little."""
    random = np.random.default_rng(1)
    text = "\n".join("x" * int(random.integers(20, 60)) + "\n" * int(random.random() < 0.1) for _ in range(200))
    walks = np.cumsum(random.normal(size=(len(text), 10)), 0)
    found = {
        job.property: job for job in neurons.jobs(neurons.Along(list(text), [f"c {n}" for n in range(10)], walks))
    }
    slow = found["lines since a blank one"]
    shuffled = max(
        abs(
            np.corrcoef(random.permutation(walks[:, 0]), properties.properties(text)["lines since a blank one"])[0, 1]
        )
        for _ in range(100)
    )
    assert slow.by_chance > 3 * shuffled
    assert abs(slow.held_out) < slow.by_chance
    job = properties.PROPERTIES["lines since a blank one"](text)
    follows = 0.6 * job[:, None] + random.normal(size=(len(text), 1))
    (real,) = [j for j in neurons.jobs(neurons.Along(list(text), ["c 1"], follows)) if j.property == slow.property]
    assert real.held_out > 1.5 * real.by_chance


def test_a_gate_is_coloured_like_a_cell(tiny_runs, tmp_path):
    model = lexigraph.load(tiny_runs("lstm-shakespeare"))
    found, opened = neurons.along(model, TEXT, gates=True), gates.along(model, TEXT)
    assert np.array_equal(found.cell("forget 3"), opened.values["forget"][:, 2])
    assert ((found.cell("output 1") > 0) & (found.cell("output 1") < 1)).all()
    assert not {*found.gates} & {*found.names}
    page = tmp_path / "gate.html"
    rows = looked(tiny_runs("lstm-shakespeare"), TEXT, "--neurons", "--cell", "input 2", "--out", page)
    assert "input 2" in rows
    assert "<h2>input 2</h2>" in page.read_text("utf-8")
    with pytest.raises(UsageError, match=r"no cell 'forget 99': they are named as 'h 1' and 'c 16' and 'output 16'"):
        found.cell("forget 99")


def test_what_is_too_long_to_draw_can_be_read_as_numbers(tiny_runs, tmp_path):
    long = " ".join([TEXT] * 20)
    numbers = json.loads(looked(tiny_runs("lstm-lm"), long, "--gates", "--json"))
    assert len(numbers["tokens"]) > 60
    for out in (tmp_path / "gates.html", tmp_path / "gates.png"):
        with pytest.raises(UsageError, match=r"tokens, and a picture shows at most 60: give a shorter text"):
            looked(tiny_runs("lstm-lm"), long, "--gates", "--out", out)
        assert not out.exists()


def test_any_language_model_has_cells(tiny_runs):
    model = lexigraph.load(tiny_runs("gpt"))
    long = " ".join([TEXT] * 8)
    found = neurons.along(model, long)
    assert found.values.shape == (len(model.tokenizer.encode(long)), len(found.names))
    with pytest.raises(UsageError, match="tokens are longer"):
        neurons.jobs(found)


# ---- maps ----------------------------------------------------------------------------------------------------


def test_a_map_shows_the_directions_in_which_states_differ_most(tiny_runs):
    found = states.places(lexigraph.load(tiny_runs("bert")), [TEXT, "He ran ."])
    count = sum(map(len, found.texts))
    assert found.places.shape == (count, 2)
    assert np.allclose(found.places.mean(0), 0, atol=1e-4)
    assert abs(float(found.places[:, 0] @ found.places[:, 1])) < 1e-2
    assert 1 >= found.explained[0] >= found.explained[1] >= 0
    with pytest.raises(UsageError, match="no layer 99"):
        states.places(lexigraph.load(tiny_runs("bert")), [TEXT], layer=99)


@pytest.mark.parametrize("system", ["bert", "elmo"])
def test_a_word_stands_where_its_sentences_put_it(tiny_runs, system):
    model = lexigraph.load(tiny_runs(system))
    texts = ["He sings and she sings .", "The dog sings .", "The dog sings .", "He ran ."]
    found = states.senses(model, "sings", texts)
    first = ["He sings and she sings", "sings and she sings ."]
    assert [label for (label,) in found.texts] == [*first, "The dog sings .", "The dog sings ."]
    assert np.allclose(found.places[2], found.places[3], atol=1e-4)
    assert not np.allclose(found.places[0], found.places[2], atol=1e-4)
    with pytest.raises(UsageError, match="'ran' stands 1 times"):
        states.senses(model, "ran", texts)


def test_a_word_is_found_in_what_cleaning_leaves(tmp_path):
    keys = {"data.clean": ["lower", "drop_symbols", "whitespace"]}
    model = lexigraph.train("gpt", "grammar", out=tmp_path / "run", set=keys, tiny=True, quiet=True)
    found = states.senses(model, "sings", ["She (now) sings - he sings .", "she now sings he sings ."])
    assert found.texts[0] == ["she now sings he sings ."]
    assert np.allclose(found.places[:2], found.places[2:], atol=1e-4)


def test_what_a_task_takes_of_each_layer_is_shown(tiny_runs, tmp_path):
    keys = {"model.reader_layers": [0, 2]}
    run = tmp_path / "tagger"
    lexigraph.train("tagger", "grammar", out=run, start=tiny_runs("elmo"), set=keys, tiny=True, quiet=True)
    found = json.loads(looked(run, "--layers", "--json", "--out", tmp_path / "layers.html"))
    assert set(found["weights"]) == {"0", "2"}
    assert sum(found["weights"].values()) == pytest.approx(1.0, abs=0.05)
    both = json.loads(looked(run, "--layers", "--file", "grammar", "--json"))
    assert both["weights"] == found["weights"]
    assert set(both["accuracy"]) == {"0", "1", "2"}  # of all layers of its part
    with pytest.raises(UsageError, match="mixes no layers"):
        looked(tiny_runs("tagger"), "--layers")


# ---- the command line ----------------------------------------------------------------------------------------


WAYS = {
    "alignment": ("transformer", TEXT),
    "attention": ("bert", TEXT),
    "probabilities": ("lstm-lm", TEXT),
    "states": ("bert", TEXT),
    "gates": ("lstm-lm", TEXT),
    "samples": ("snapshots", "She"),
    "neurons": ("lstm-shakespeare", "She is singing in the garden .\n" * 40),
}


@pytest.mark.parametrize("suffix", [".html", ".png", ".svg"])
@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_looking_is_drawn_and_says_which_run_made_it(tiny_runs, tmp_path, way, suffix):
    system, text = WAYS[way]
    kept = {"train.snapshots": [0.001, 0.002]}
    run = tiny_runs("gpt", kept) if system == "snapshots" else tiny_runs(system)
    out, model = tmp_path / f"seen{suffix}", lexigraph.load(run)
    if way == "alignment":  # untrained, it writes more than can be drawn
        run = shutil.copytree(run, tmp_path / "short")
        from lexigraph.views import alignment

        (found,) = model.translate([TEXT], alignment=True)[0]
        picture = alignment.picture(model, type(found)("short", 0.0, 2, 0.0, found.source, found.target[:2],
                                                       found.alignment[:2]))  # fmt: skip
        save(picture, out)
    else:
        looked(run, text, f"--{way}", "--out", out)
    if suffix == ".png":
        assert out.read_bytes()[:4] == b"\x89PNG"
        return
    page = out.read_text("utf-8")
    assert model.fingerprint in page
    for asked in ('src="http', 'href="http', "@import", "fetch("):
        assert asked not in page
    if suffix == ".html":
        assert page.startswith("<!doctype html>")
        assert page.count("<h1>") == 1


def test_numbers_come_as_json(tiny_runs):
    heads = json.loads(looked(tiny_runs("bert"), TEXT, "--attention", "--json"))
    assert {"layer", "head", "weights", "entropy"} - {"entropy"} <= heads[0].keys()
    tokens = json.loads(looked(tiny_runs("lstm-lm"), TEXT, "--probabilities", "--json"))
    assert {"token", "probability", "alternatives"} <= tokens[0].keys()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["gpt", TEXT], "one thing at a time"),
        (["gpt", TEXT, "--alignment"], "translates nothing"),
        (["lstm-lm", TEXT, "--attention"], "no heads of attention"),
        (["elmo", TEXT, "--attention"], "no heads of attention"),
        (["skip-thought", TEXT, "--attention"], "no heads of attention"),
        (["seq2seq", TEXT, "--gates"], "no gates along a text"),
        (["seq2seq", TEXT, "--gradients"], "does not go along one text"),
        (["lstm-autoencoder", TEXT, "--gradients"], "does not go along one text"),
        (["bert", TEXT, "--probabilities"], "does not predict"),
        (["gpt", "a", "b", "--attention"], "follows one text"),
        (["gpt", " ".join([TEXT] * 20), "--attention"], "shows at most 60"),
        (["gpt", "She", "--samples"], "kept its best weights alone"),
        (["lstm-shakespeare", "short", "--neurons"], "shows no cell's job"),
        (["gpt", TEXT, "--attention", "--cell", "c 1"], "--cell is an option of --neurons"),
        (["bert", "word " * 500, "--states"], "map holds 2 to 400"),
        (
            ["gpt", TEXT, "--attention", "--head", "blocks.9 1"],
            "no head 'blocks.9 1': they are named as 'blocks.0 1'",
        ),
        (["gpt", TEXT, "--gates", "--head", "blocks.0 1"], "--head is an option of --attention"),
        (["gpt", TEXT, "--gates", "--layer", "1"], "--layer is an option of --states"),
        (["bert", TEXT, "--layers"], "reads no texts but those of a file with tags"),
        (["bert", "--layers", "--word", "she"], "--word needs texts with tags"),
        (["bert", "--layers", "--file", "grammar", "--word", "zebra"], "has 'zebra' 0 times"),
        (["bow", "--layers", "--file", "grammar"], "shows no layers to a probe"),
    ],
)
def test_what_cannot_be_seen_is_refused_with_a_sentence(tiny_runs, arguments, says):
    with pytest.raises(UsageError, match=says):
        looked(tiny_runs(arguments[0]), *arguments[1:])
