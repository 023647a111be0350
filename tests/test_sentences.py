"""What users do with a model of sentence vectors: encode, decode, draw, read, blend, solve, sample."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from typer.testing import CliRunner

import lexigraph
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.run import Run
from lexigraph.text import constructions

SENTENCES = ["He ran .", "They ran .", "He sings .", "They sing .", "The old man slept .", "Did she see the dog ?"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small model that knows a handful of sentences by heart."""
    folder = tmp_path_factory.mktemp("sentences")
    lines = [*SENTENCES, *constructions.sentences(60, seed=3)]
    (folder / "lines.txt").write_text("\n".join(lines * 8))
    changes = {"data.split": [1.0], "train.steps": 220, "train.batch_tokens": 768, "model.layers": 1, "model.dim": 64,
               "model.heads": 2, "model.side": 16, "model.context": 42, "tokenizer.size": 400, "train.warmup": 10,
               "train.tensorboard": False, "eval.mixture": 200, "objective.clean_fraction": 0.7}  # fmt: skip
    return lexigraph.train("picture", folder / "lines.txt", folder / "run", set=changes, quiet=True)


def test_sentences_come_back_from_vectors_and_from_pictures(model):
    z = model.encode(SENTENCES)
    assert z.shape == (len(SENTENCES), 64)
    assert z.dtype == np.float32
    assert model.decode(z) == SENTENCES
    assert model.decode(z, beam=3) == SENTENCES
    pictures = model.pictures(z)
    assert pictures.dtype == np.uint8
    assert pictures.shape == (len(SENTENCES), 16, 16, 3)
    assert model.read(pictures) == SENTENCES
    assert np.array_equal(model.pictures(SENTENCES), pictures)


def test_a_vector_does_not_depend_on_its_company(model):
    together, alone = model.encode(SENTENCES), np.stack([model.encode(text) for text in SENTENCES])
    assert np.abs(together - alone).max() < 1e-5 * np.abs(together).max()


def test_several_hypotheses_come_with_scores_best_first(model):
    found = model.decode(model.encode(SENTENCES[:2]), beam=4, n_best=3)
    for row, text in zip(found, SENTENCES, strict=False):
        assert row[0].text == text
        assert [one.score for one in row] == sorted((one.score for one in row), reverse=True)
    own = model.score(SENTENCES[:1])[0]
    assert found[0][0].log_probability == pytest.approx(own, abs=1e-3)


def test_a_blend_begins_and_ends_with_its_sentences(model):
    path = model.blend("He ran .", "They sing .", steps=5)
    assert [str(path[0]), str(path[-1])] == ["He ran .", "They sing ."]
    assert len(path) == 5
    corner = model.blend("He ran .", "They ran .", "He sings .", weights=[[0, 0, 1]], noise=0)
    assert str(corner[0]) == "He sings ."
    assert len(model.blend("He ran .", "They ran .", "He sings .", steps=3)) == 6
    assert len(model.blend("He ran .", "They ran .", weights=[[1.5, -0.5]])) == 1
    assert str(model.blend("He ran .", "They sing .", steps=2, how="spherical")[1]) == "They sing ."


def test_arithmetic_that_cancels_gives_the_sentence_that_is_left(model):
    assert str(model.solve("They ran . - He ran . + He ran .", noise=0)[0]) == "They ran ."
    assert str(model.solve("2 He sings . - He sings .", noise=0)[0]) == "He sings ."
    assert len(model.solve("He ran . + They sing .", beam=3, n_best=3)) == 3


def test_vectors_with_their_own_lengths_are_drawn_alike_and_longer_for_longer_texts():
    books = lexigraph.load("books")
    texts = ["He ran.", "He ran to the old house behind the hill, where nobody had lived for years."]
    unnormalised, unit = books.encode(texts, unnormalised=True), books.encode(texts)
    short, long = unnormalised.std(1)
    assert long > 2 * short  # z is a sum over the positions
    assert unit.std(1) == pytest.approx(1, abs=1e-3)
    assert np.array_equal(books.pictures(unnormalised), books.pictures(unit))
    with pytest.raises(UsageError, match="lossless or unnormalised"):
        books.encode(texts, unnormalised=True, lossless=True)


def test_arithmetic_warns_of_sentences_that_do_not_come_back(model):
    with pytest.warns(UserWarning, match="reads 'Zebras quarrel quietly'"):
        model.solve("Zebras quarrel quietly - He ran . + He ran .")


def test_parentheses_are_multiplied_out(model):
    (sum,) = model.sums(["0.5 (They ran . - He ran .) + He sings ."])
    they, he, sings = model.encode(["They ran .", "He ran .", "He sings ."], unnormalised=True)
    assert np.allclose(sum, 0.5 * they - 0.5 * he + sings, rtol=0, atol=1e-4 * np.abs(sings).max())
    assert np.array_equal(model.sums(['2 "He ran ."']), 2 * model.sums(["He ran ."]))


def test_a_copy_is_sure_of_itself_and_a_vector_of_nothing_is_not(model):
    for found, text in zip(model.decode(model.encode(SENTENCES), confidence=True), SENTENCES, strict=True):
        assert found.text == text
        assert found.confidence.round_trip == pytest.approx(1, abs=1e-5)
        assert found.confidence.likelihood == pytest.approx(model.score(text) / found.tokens, abs=1e-4)
    nowhere = np.random.default_rng(0).standard_normal((4, 64)).astype(np.float32)
    assert all(found.confidence.doubtful for found in model.decode(nowhere, confidence=True))
    [several] = model.decode(nowhere[:1], beam=3, n_best=3)
    assert len({one.confidence.round_trip for one in several}) == len({one.text for one in several})
    assert model.solve("They ran . - He ran . + He ran .")[0].confidence.round_trip == pytest.approx(1, abs=1e-4)
    assert [one.confidence.round_trip for one in model.blend("He ran .", "They sing .", steps=2)] == pytest.approx(
        [1, 1], abs=1e-5
    )


def test_a_picture_tells_how_sure_its_sentence_is_and_where_the_decoder_looked(model):
    pictures = model.pictures(SENTENCES)
    for beam in (1, 3):
        found = model.read(pictures, beam=beam, confidence=True, attention=True)
        assert [one.text for one in found] == SENTENCES
        for one in found:
            assert one.confidence.round_trip == pytest.approx(1, abs=1e-3)
            assert one.attention.shape == (len(one.pieces), 4, 4)
            assert one.attention.sum((1, 2)) == pytest.approx(np.ones(len(one.pieces)), abs=1e-5)
            assert "".join(one.pieces).replace("Ġ", " ").removesuffix("<eos>").strip() == one.text
    plain = model.read(pictures, confidence=True)
    assert all(one.attention is None for one in plain)
    covered = np.full_like(pictures, 128)
    assert model.read(covered[0], confidence=True).confidence.doubtful
    with pytest.raises(UsageError, match="confidence=True"):
        model.read(pictures, attention=True)


def test_a_table_in_lower_case_is_replayed_in_the_spelling_of_the_model(model, tmp_path):
    (tmp_path / "sums.tsv").write_text("expression\tintended\nthey ran . - he ran . + he ran .\tthey ran .\n")
    found = lexigraph.replay(model, tmp_path / "sums.tsv")
    assert found.spelling == "spaced"
    assert str(found.answers[0].found) == "They ran ."
    assert found.met


def test_samples_repeat_with_their_seed(model):
    first = [str(one) for one in model.sample(5, seed=1)]
    assert first == [str(one) for one in model.sample(5, seed=1)]
    assert first != [str(one) for one in model.sample(5, seed=2)]
    assert len(model.sample(3, component=0)) == 3
    assert len(model.sample(3, plain=True)) == 3


def test_the_nearest_neighbour_of_a_sentence_is_itself(model):
    found = model.neighbours(["He ran ."], SENTENCES, k=2)[0]
    assert found[0].text == "He ran ."
    assert found[0].similarity == pytest.approx(1, abs=1e-5)


def test_the_lossless_mode_moves_vectors_until_the_pictures_say_it(model):
    books = lexigraph.load("books")
    hard = [
        "xk7 qj9 zz4 vb2 wp8 lm5 rt3 yh6 nd1 cf0",
        "Zebras quarrel quietly under zinc umbrellas.",
    ]
    assert books.decode(books.encode(hard[:1])) != hard[:1]
    assert books.read(books.pictures(books.encode(hard, lossless=True))) == hard
    known = model.encode(SENTENCES)
    assert np.array_equal(model.encode(SENTENCES, lossless=True), known)  # those that come back stay where they are


def test_pictures_are_files_that_know_their_model(model, tmp_path):
    files = model.save_pictures(SENTENCES, tmp_path / "pictures")
    assert model.read(files) == SENTENCES
    assert model.read(files[0]) == SENTENCES[0]
    foreign = tmp_path / "foreign.png"
    Image.new("RGB", (16, 16)).save(foreign)
    with pytest.raises(LexigraphError, match="Lexigraph"):
        model.read(foreign)
    other = lexigraph.load(model.path)
    with torch.no_grad():
        next(other.network.parameters()).add_(1)
    assert other.fingerprint != model.fingerprint
    with pytest.raises(LexigraphError, match=model.fingerprint):
        other.read(files[0])


def test_pictures_that_were_saved_again_are_read_if_asked_for_and_warned_of(model, tmp_path):
    (file,) = model.save_pictures(SENTENCES[:1], tmp_path)
    pixels = Image.open(file).convert("RGB")
    for name, image in {"bare.png": pixels, "large.png": pixels.resize((64, 64), Image.Resampling.NEAREST)}.items():
        image.save(tmp_path / name)
        with pytest.raises(LexigraphError, match="--any"):
            model.read(tmp_path / name)
        with pytest.warns(UserWarning, match=f"{name} .*may be another one"):
            assert model.read(tmp_path / name, any=True) == SENTENCES[0]
    pixels.save(tmp_path / "small.jpg", quality=95)
    with pytest.warns(UserWarning, match="is no PNG file"):
        model.read([tmp_path / "small.jpg"], any=True)
    assert model.read(file, any=True) == SENTENCES[0]  # its own: no warning


def test_texts_whose_pictures_say_something_else_are_named(model):
    texts = [SENTENCES[0], "Zebras quarrel quietly under zinc"]
    pictures = model.pictures(texts)
    lost = model.lost(texts, pictures)
    assert lost == {1: model.read(pictures[1])}


def test_a_sum_that_cancels_to_nothing_is_refused(model):
    for expression in ("He ran . - He ran .", "2 He ran . - He ran . - He ran ."):
        with pytest.raises(LexigraphError, match="cancels to nothing"):
            model.solve(expression)


def test_of_several_sums_the_one_is_named_that_cannot_be_made(model):
    long = "dog " * 60
    for expression, words in {
        "He ran . - (They ran .": "parenthesis at character 12 is never closed",
        f"He ran . - {long}": "sentence at character 12 has .* at most 41",
        "He ran . - He ran .": "cancels to nothing",
    }.items():
        with pytest.raises(LexigraphError, match=f"^(?!Text).*{words}"):
            model.solve(expression)
        with pytest.raises(LexigraphError, match=f"(?s)Text 2 of 3 cannot be added up.*{words}"):
            model.solve(["He ran .", expression, "They ran ."])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("word " * 10_000, "at most 41"),
        (["He ran .", ""], "Text 2 of 2 is empty"),
    ],
)
def test_texts_that_cannot_be_encoded_are_refused(model, text, sentence):
    with pytest.raises(LexigraphError, match=sentence):
        model.encode(text)


def test_any_text_can_be_encoded(model):
    z = model.encode(["naïve 🙂", "\x00\x07", "Ω", " "])  # white space is text to a byte-level tokenizer
    assert np.isfinite(z).all()
    assert len(model.decode(z)) == 4


def test_nothing_in_gives_nothing_out(model):
    none = np.zeros((0, 64), np.float32)
    assert model.decode(none) == model.read(model.pictures(none)) == []
    for ask in (model.encode, model.read, model.score, model.solve):
        with pytest.raises(UsageError, match="the list is empty"):
            ask([])


@pytest.mark.parametrize(
    ("z", "sentence"),
    [
        (np.zeros((1, 63)), "64 numbers each"),
        (np.full((2, 64), np.nan), "Vector 0 holds values that are not numbers"),
        (np.zeros((1, 2, 64)), "64 numbers each"),
        (np.array([["a"] * 64]), "Vectors are numbers"),
    ],
)
def test_vectors_of_another_space_are_refused(model, z, sentence):
    with pytest.raises(LexigraphError, match=sentence):
        model.decode(z)


def test_wrong_requests_get_a_sentence(model):
    with pytest.raises(UsageError, match="at least two"):
        model.blend("He ran .")
    with pytest.raises(UsageError, match="rows of 2 numbers"):
        model.blend("He ran .", "They ran .", weights=[[1, 2, 3]])
    with pytest.raises(LexigraphError, match="noise"):
        model.decode(model.encode("He ran ."), noise=-1)
    with pytest.raises(LexigraphError, match="trained with noise up to 2: decode with noise = 2 or less"):
        model.decode(model.encode("He ran ."), noise=3)
    with pytest.raises(LexigraphError, match="one noise for all, or 1"):
        model.decode(model.encode("He ran ."), noise=np.ones(2))
    with pytest.raises(UsageError, match="whole sentences only"):
        model.score("He ran", ended=False)
    with pytest.raises(LexigraphError, match="not pictures of this model"):
        model.read(np.zeros((1, 8, 8, 3), np.uint8))
    with pytest.raises(LexigraphError, match="cannot generate"):
        model.generate(["He"])


def test_words_that_were_rare_in_training_leave_a_text_without_the_training_text(tmp_path):
    """A run folder is complete: whoever uses it needs no other file, also where cleaning has counted words."""
    file, held_out = tmp_path / "lines.txt", tmp_path / "other.txt"
    file.write_text("\n".join([*(["She saw the dog .", "He saw the cat ."] * 40), "He saw the zebra ."]))
    held_out.write_text("She saw the zebra .\n")
    changes = {"data.split": [1.0], "data.rare": [1], "data.max_words": [10], "tokenizer.kind": "word"}
    made = lexigraph.train("picture", file, tmp_path / "run", set=changes, tiny=True, quiet=True)
    file.unlink()
    assert lexigraph.evaluate(tmp_path / "run", held_out)["tokens"] == 5  # She saw the . and the end
    with pytest.warns(UserWarning, match="1 words are not in the vocabulary"):
        assert np.array_equal(made.encode("She saw the zebra ."), made.encode("She saw the ."))


def test_a_dictionary_chooses_the_lines_to_learn_from_and_is_not_needed_afterwards(tmp_path):
    file, held_out, words = tmp_path / "lines.txt", tmp_path / "other.txt", tmp_path / "words.txt"
    file.write_text("\n".join([*(["She saw the dog .", "He didn't see the cat ."] * 40), "He kicked the zebra ."]))
    held_out.write_text("She saw the zebra .\n")
    words.write_text("She\nHe\nsee\nsaw\ndidn't\nkicked\nthe\ndog\ncat\n")
    recipe = tmp_path / "mine.toml"
    recipe.write_text(
        'system = "picture"\n[data]\nsplit = [1.0]\nclean = ["contractions", "lower", "dictionary"]\n'
        f'dictionary = "{words}"\n[tokenizer]\nkind = "word"\n[train]\nsteps = 2\nbatch_tokens = 128\n'
        '[model]\ncontext = 12\ndim = 32\nheads = 2\nlayers = 1\nside = 16\nform = "basis"\n'
    )
    lexigraph.train(recipe, file, tmp_path / "run", quiet=True)
    for gone in (file, words):
        gone.unlink()
    model = lexigraph.load(tmp_path / "run")
    vocabulary = {model.tokenizer.token_of(i) for i in range(len(model.tokenizer))}
    assert {"she", "did", "nt", "cat"} <= vocabulary
    assert not {"kicked", "zebra"} & vocabulary  # the whole line went, with a word that the dictionary has
    with pytest.warns(UserWarning, match="1 words are not in the vocabulary"):
        assert model.encode("She saw the zebra .").shape == model.encode("She saw the dog .").shape
    assert lexigraph.evaluate(tmp_path / "run", held_out)["tokens"] == 6


def test_a_validation_text_of_which_nothing_fits_is_refused_at_once(tmp_path):
    (tmp_path / "long.txt").write_text("word " * 500 + "\n")
    with pytest.raises(LexigraphError, match="No sentence of the validation text fits into the model's 42 tokens"):
        lexigraph.train("picture", "grammar", tmp_path / "run", valid=tmp_path / "long.txt", tiny=True, quiet=True)
    assert not (tmp_path / "run").exists()


def test_a_bundled_model_is_measured_but_never_written_to(tmp_path):
    folder = Run.open("books").path
    before = {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == ".json"}
    (tmp_path / "lines.txt").write_text("He slept.\nShe is here.\n")
    scores = lexigraph.evaluate("books", tmp_path / "lines.txt")
    assert scores["exact"]["value"] == 1
    assert f"steps:{Run.open('books').json('results.json')['best_step']}|" in scores["signature"]
    assert {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix == ".json"} == before
    done = CliRunner().invoke(app, ["eval", "books", "--data", str(tmp_path / "lines.txt"), "--suite", "latent"])
    assert isinstance(done.exception, UsageError)
    assert "not written to" in str(done.exception)
