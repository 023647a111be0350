"""What a training may start from: a part that another run has learned, or vectors of words."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import Reader, read_words
from lexigraph.registry import SYSTEMS
from lexigraph.run import Run
from lexigraph.starting import fill_table
from lexigraph.text.vocabularies import Labels, Vocabularies
from lexigraph.weights import run_weights
from lexigraph.words.vectors import WordVectors

from .contracts.tiny import data_of, network_of, recipe_of

READERS = [name for name, entry in SYSTEMS.items() if issubclass(entry.network_class(), Reader)]


def rows_of(system: str) -> list[np.ndarray]:
    """Two texts of unlike lengths, boundaries included."""
    eos = data_of(system)[0].tokens().eos
    return [np.array([eos, 20, 21, 22, eos]), np.array([eos, 23, eos])]


@pytest.mark.parametrize("system", READERS)
def test_a_reader_has_the_same_states_alone_and_in_a_padded_batch(system):
    network, rows = network_of(system), rows_of(system)
    reading = network.reading
    if network.reads_words:
        reading, rows = network.reading_words, [np.split(row[1:-1], len(row) - 2) for row in rows]
    with torch.no_grad():
        together, alone = network.states(reading(rows)), network.states(reading(rows[1:]))
    assert all(layer.shape[2] == network.width for layer in together.layers)
    assert together.lengths[1] == alone.lengths[0] >= 1  # the token, mostly with its boundaries
    for padded, own in zip(together.layers, alone.layers, strict=True):
        assert torch.allclose(padded[1, :2], own[0, :2], atol=1e-5 * float(own.abs().max()))


PAIR_READERS = [name for name in READERS if not SYSTEMS[name].network_class().reads_words]


@pytest.mark.parametrize("system", PAIR_READERS)
def test_a_reader_reads_pairs_the_same_alone_and_in_a_padded_batch(system):
    network, rows = network_of(system), rows_of(system)
    with torch.no_grad():
        together = network.states(network.reading(rows, rows))
        alone = network.states(network.reading(rows[1:], rows[1:]))
    assert together.lengths.tolist() == [3 + 3 + 3, 3 + 1 + 1]  # both texts and three boundaries
    for padded, own in zip(together.layers, alone.layers, strict=True):
        assert padded.shape == (2, 9, network.width)
        assert torch.allclose(padded[1, :5], own[0], atol=1e-5 * float(own.abs().max()))


@pytest.mark.parametrize("system", PAIR_READERS)
def test_the_tokens_of_a_pair_are_where_the_rule_says(system):
    network, eos = network_of(system), data_of(system)[0].tokens().eos
    first, second = [20, 21, 22], [23, 24]
    batch = network.reading([np.array([eos, *first, eos])], [np.array([eos, *second, eos])])
    inputs, segments = (batch[name][0].tolist() for name in ("inputs", "segments"))
    assert [inputs[i] for i in range(1, 4)] == first
    assert [inputs[len(first) + 1 + j] for j in range(1, 3)] == second
    assert inputs[4] == inputs[7]  # the separator is what ends the pair
    assert segments == [0, 0, 0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(("system", "boundaries"), [("bert", 3), ("electra", 3), ("gpt", 3), ("xlnet", 3)])
def test_of_a_pair_that_is_too_long_the_longer_text_is_cut(system, boundaries):
    network, eos = network_of(system, **{"model.context": 4 + boundaries}), data_of(system)[0].tokens().eos
    batch = network.reading([np.array([eos, 20, eos])], [np.array([eos, 21, 22, 23, 24, 25, eos])])
    assert batch["inputs"].shape == (1, 4 + boundaries)
    assert set(range(20, 26)) & set(batch["inputs"][0].tolist()) == {20, 21, 22, 23}
    with torch.no_grad():
        assert network.states(batch).layers[-1].isfinite().all()


@pytest.mark.parametrize("system", ["bert", "electra", "xlnet"])
def test_the_second_text_of_a_pair_is_known_by_its_segment(system):
    shape = {"model.segments": True} if system == "xlnet" else {}
    network, rows = network_of(system, **shape), rows_of(system)
    batch = network.reading(rows[:1], rows[1:])
    with torch.no_grad():
        told = network.states(batch).layers[-1]
        batch.tensors["segments"] = torch.zeros_like(batch["segments"])
        assert not torch.allclose(told, network.states(batch).layers[-1], atol=1e-4)


@pytest.mark.parametrize("system", ["bert", "electra"])
def test_the_last_states_of_an_encoder_are_what_it_predicts_from(system):
    network = network_of(system)
    batch = network.reading(rows_of(system))
    with torch.no_grad():
        states = network.states(batch)
        assert torch.equal(states.layers[-1], network.hidden(batch["inputs"], batch["lengths"]))
    assert len(states.layers) == 1 + network.config.layers


@pytest.mark.parametrize("system", ["gpt", "lstm-lm"])
def test_the_last_states_of_a_language_model_give_its_logits(system):
    network = network_of(system)
    batch = network.reading(rows_of(system))
    with torch.no_grad():
        logits = network.states(batch).layers[-1] @ network.output_table.T
        assert torch.allclose(logits, network(batch["inputs"]), atol=1e-4)


def test_words_are_found_again_in_a_reader_whose_context_is_too_short_for_them():
    network, eos = network_of("gpt", **{"model.context": 4}), data_of("gpt")[0].tokens().eos
    words = [[np.array([20, 21]), np.array([22, 23]), np.array([24])], [np.array([25])]]
    read, where = read_words(network, words, eos)
    assert read["inputs"].shape == (3, 4)  # three tokens behind the beginning, then two, then the other text
    flat = read["inputs"].flatten().tolist()
    assert [[flat[i] for i in word if i >= 0] for row in where.tolist() for word in row] == [
        [20, 21],
        [22, 23],
        [24],
        [25],
        [],
        [],
    ]


@pytest.fixture(scope="module")
def bert(tiny_runs):
    return tiny_runs("bert")


@pytest.fixture(scope="module")
def tagger(bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tagger") / "run"
    return api.train("tagger", "grammar", folder, start=bert, tiny=True, quiet=True, set={"train.lr": 1e-12})


def test_a_bert_becomes_a_part_of_a_tagger(bert, tagger):
    recipe = Run.open(tagger.path).recipe()
    assert recipe.parts["reader"].system == "bert"
    assert recipe.parts["reader"].model == Run.open(bert).recipe().model
    assert recipe.tokenizer == Run.open(bert).recipe().tokenizer
    learned = run_weights(Run.open(bert))
    own = tagger.network.reader.state_dict()
    assert own.keys() == {name for name in learned if not name.startswith("head.")}
    assert all(torch.allclose(own[name], learned[name], atol=1e-6) for name in own)  # it hardly moved
    assert tagger.network.words.embedding is None


def test_a_tagger_with_a_part_is_loaded_and_tags(tagger):
    again = api.load(tagger.path)
    (mine,), (theirs,) = (each.tag(["She sings ."]) for each in (again, tagger))
    assert [word.tag for word in mine] == [word.tag for word in theirs]
    assert isinstance(again.vocabularies.labels("tags"), Labels)


def test_a_run_with_a_part_is_the_start_of_another(tagger):
    folder = tagger.path.parent / "tuned"
    tuned = api.train("tagger", "grammar", folder, start=tagger.path, tiny=True, quiet=True)
    assert Run.open(tuned.path).recipe().parts == tagger.recipe.parts


def test_a_prepared_run_keeps_what_it_starts_from(bert, tmp_path):
    api.prepare("tagger", "grammar", tmp_path / "run", start=f"reader={bert}", tiny=True, quiet=True)
    training, _ = api.training_of(Run.open(tmp_path / "run"), api.World(torch.device("cpu")))
    learned = run_weights(Run.open(bert))["embedding.tokens.weight"]
    assert torch.equal(training.network.reader.embedding.tokens.weight, learned)


def test_a_start_that_does_not_fit_is_refused(bert, tagger, tmp_path):
    out = tmp_path / "run"
    with pytest.raises(UsageError, match="is a bert model and cannot be the start of a gpt one"):
        api.train("gpt", "grammar", out, start=bert, tiny=True, quiet=True)
    with pytest.raises(UsageError, match="is a tagger model and cannot be the start of a bert one"):
        api.train("bert", "grammar", out, start=tagger.path, tiny=True, quiet=True)
    changes = {"parts.reader.system": "bert", "parts.reader.layers": 1}
    with pytest.raises(UsageError, match=r"leave out parts\.reader\.system, parts\.reader\.layers"):
        api.train("tagger", "grammar", out, start=bert, tiny=True, quiet=True, set=changes)
    with pytest.raises(UsageError, match=r"The tokenizer of .* is taken over"):
        api.train("tagger", "grammar", out, start=bert, tiny=True, quiet=True, set={"tokenizer.size": 50})
    assert not out.exists()


def test_parts_stand_in_a_recipe_and_are_read_as_strictly(tmp_path):
    changes = {"parts.reader.system": "bert", "parts.reader.layers": 3}
    recipe = recipes.read("tagger", changes)
    assert recipe.flat()["parts.reader.layers"] == 3
    (tmp_path / "again.toml").write_text(recipe.toml())
    assert recipes.read(tmp_path / "again.toml") == recipe
    with pytest.raises(UsageError, match=r"parts\.reader\.layers must be at least 1"):
        recipes.read("tagger", changes | {"parts.reader.layers": 0})
    with pytest.raises(UsageError, match=r"did you mean 'parts\.reader\.layers'"):
        recipes.read("tagger", changes | {"parts.reader.layer": 1})
    with pytest.raises(UsageError, match=r"parts\.reader does not say which system it is"):
        recipes.read("tagger", {"parts.reader.layers": 3})
    with pytest.raises(UsageError, match="There is no system named 'brt'; did you mean 'bert'"):
        recipes.read("tagger", {"parts.reader.system": "brt"})


def test_a_part_that_a_system_does_not_have_is_refused(tmp_path):
    for system, part, why in (
        ("gpt", "bert", "has no part named 'reader': it has no parts"),
        ("tagger", "bow", "does not read for others"),
    ):
        with pytest.raises(UsageError, match=why):
            api.train(
                system,
                "grammar",
                tmp_path / "run",
                tiny=True,
                quiet=True,
                set={"parts.reader.system": part, "tokenizer.special": ["<mask>"]},
            )
    assert not (tmp_path / "run").exists()


def vectors(dim: int) -> WordVectors:
    return WordVectors(["she", "the"], np.random.default_rng(0).normal(size=(2, dim)).astype(np.float32) * 7)


def test_word_vectors_enter_a_table_by_word_and_keep_their_directions():
    vocabularies = data_of("lstm-lm")[0]
    table, given = TokenTable(len(vocabularies.tokens()), 5), vectors(5)
    before = table.weight.detach().clone()
    known = fill_table(table, vocabularies, given)
    pieces = [piece.strip() for piece in vocabularies.tokens().tokens(range(table.num_embeddings))]
    like = [i for i, piece in enumerate(pieces) if piece.lower() in ("she", "the")]
    assert known == len(like) > 0
    changed = (table.weight != before).any(1).nonzero().flatten().tolist()
    assert changed == like
    for row in like:
        word = torch.tensor(given.vectors[given.index[pieces[row].lower()]])
        assert torch.cosine_similarity(table.weight.detach()[row], word, 0) == pytest.approx(1, abs=1e-5)
        assert table.weight[row].norm() < 3 * before.norm(dim=1).mean()  # as long as rows of the table are


def test_a_training_starts_from_a_file_of_word_vectors(tmp_path):
    vectors(16).save(tmp_path / "my.vec")
    common = {"tiny": True, "quiet": True, "set": {"train.lr": 1e-12, "model.vectors": 0}}
    model = api.train("tagger", "grammar", tmp_path / "run", start=tmp_path / "my.vec", **common)
    row = model.network.words.embedding.weight[model.tokenizer.id_of("the")].detach()
    word = torch.tensor(vectors(16).vectors[1])
    assert torch.cosine_similarity(row, word, 0) > 0.999
    changes = common["set"] | {"model.embedding": 12}
    with pytest.raises(UsageError, match="have 16 numbers, and the tokens of this model"):
        api.train("tagger", "grammar", tmp_path / "b", start=tmp_path / "my.vec", **common | {"set": changes})
    with pytest.raises(UsageError, match="no table of token vectors"):
        api.train("bow", "grammar", tmp_path / "b", start=tmp_path / "my.vec", tiny=True, quiet=True)
    WordVectors(["xyzzy"], np.ones((1, 16))).save(tmp_path / "other.vec")
    with pytest.raises(LexigraphError, match="No token of this model is a word of"):
        api.train("tagger", "grammar", tmp_path / "b", start=tmp_path / "other.vec", **common)
    assert not (tmp_path / "b").exists()


@pytest.mark.parametrize("changes", [{}, {"model.joined": "summed", "model.tuned": True}])
def test_a_model_with_a_table_of_own_vectors_has_those_of_words_never_seen(tmp_path, changes):
    words, given = ["zyzzyva", "the", "she"], np.random.default_rng(0).normal(size=(3, 16))
    WordVectors(words, given).save(tmp_path / "my.vec")
    model = api.train("tagger", "grammar", tmp_path / "run", start=tmp_path / "my.vec", tiny=True, quiet=True,
                      set={"train.lr": 1e-12, **changes})  # fmt: skip
    (tmp_path / "my.vec").unlink()  # the run folder is complete
    again = api.load(tmp_path / "run")
    table, vocabulary = again.network.words.vectors.weight, again.vocabularies.tokenizer("vectors")
    rows = table[vocabulary.encode("zyzzyva The she")].detach()
    likeness = torch.cosine_similarity(rows, torch.tensor(given, dtype=torch.float32), 1)
    assert likeness.min() > 0.999  # "The": no word of the file has a capital
    assert not table[vocabulary.unk].abs().max() > 1e-6  # a word without a vector has none
    known, unknown = (each.tag(["the zyzzyva", "the xyzzyva"]) for each in (again, model))
    assert known == unknown
    assert known[0][1].probability != known[1][1].probability


def test_a_vocabulary_is_that_of_the_tables():
    recipe = recipe_of("transformer-separate")
    network = network_of("transformer-separate")
    tables = {m.vocabulary: m for m in network.modules() if isinstance(m, TokenTable)}
    vocabularies: Vocabularies = data_of("transformer-separate")[0]
    assert recipe.tokenizer.separate
    assert {name: table.num_embeddings for name, table in tables.items()} == {
        name: len(vocabularies.tokens(name)) for name in ("text", "source")
    }
