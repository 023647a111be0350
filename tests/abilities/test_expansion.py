"""Words from own vectors: an encoder reads them where a linear map puts them, and nothing else moves."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

import lexigraph
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.words.vectors import WordVectors


@pytest.fixture(scope="module")
def encoder(tiny_runs):
    return lexigraph.load(tiny_runs("skip-thought"))


@pytest.fixture(scope="module")
def own(encoder):
    """Vectors of all words but the special tokens that are twice the encoder's, turned; and of three new words.

    `zyx` is the mean of two known words, `Zyx` is no word of a model in small letters.
    """
    table = encoder.network.embedding.weight.detach().numpy()
    words = encoder.tokenizer.tokens(range(3, len(encoder.tokenizer)))
    turned = 2 * table[3:] @ np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    first, second = words.index("she"), words.index("the")
    new = [(turned[first] + turned[second]) / 2, turned[first], turned[second]]
    return WordVectors([*words, "zyx", "zyxed", "Zyx"], np.concatenate([turned, new]).astype(np.float32))


def test_new_words_stand_where_the_map_of_the_shared_ones_puts_them(encoder, own):
    wide, known = encoder.expanded(own), encoder.tokenizer.encode("she the")
    assert len(wide.tokenizer) == len(encoder.tokenizer) + 2
    table = wide.network.embedding.weight.detach()
    assert np.allclose(table[wide.tokenizer.encode("zyx")[0]], table[known].mean(0), atol=1e-5)
    assert np.allclose(wide.encode("Zyxed sings ."), encoder.encode("she sings ."), atol=1e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # an unknown word
        assert not np.allclose(wide.encode("zyx sings ."), encoder.encode("zyx sings ."), atol=1e-4)


def test_texts_of_known_words_keep_their_vectors(encoder, own):
    texts = ["She sings .", "The old man slept in the garden ."]
    assert np.array_equal(encoder.expanded(own).encode(texts), encoder.encode(texts))


def test_an_expanded_run_is_a_run_beside_the_old_one(encoder, own, tmp_path):
    own.save(tmp_path / "own.vec")
    asked = ["expand", str(encoder.path), str(tmp_path / "own.vec"), "--out", str(tmp_path / "wide")]
    done = CliRunner().invoke(app, asked)
    assert (done.exit_code, done.stdout) == (0, f"{tmp_path / 'wide'}\n")
    assert "2 words more" in done.stderr
    wide = lexigraph.load(tmp_path / "wide")
    assert np.allclose(wide.encode("zyxed sings ."), encoder.encode("she sings ."), atol=1e-4)
    assert isinstance(CliRunner().invoke(app, asked).exception, LexigraphError)  # it is there
    assert CliRunner().invoke(app, [*asked, "--force"]).exit_code == 0
    over = ["expand", str(encoder.path), str(tmp_path / "own.vec"), "--out", str(encoder.path), "--force"]
    assert "--force replaces only" in str(CliRunner().invoke(app, over).exception)  # a trained run stays
    scores = lexigraph.evaluate(tmp_path / "wide", "grammar")
    assert scores["written"]["value"] < 2 * scores["unigram_baseline"]["written"]


def test_what_cannot_be_expanded_is_refused(encoder, own, tiny_runs):
    pieces = lexigraph.load(tiny_runs("sentence-encoder"))
    with pytest.raises(UsageError, match="nothing to expand"):
        pieces.expanded(own)
    few = WordVectors(["she", "zyx"], np.eye(2, 8, dtype=np.float32))
    with pytest.raises(LexigraphError, match="share 1 words, and a map of 8 numbers"):
        encoder.expanded(few)
    with pytest.raises(LexigraphError, match="knows all these words"):
        encoder.expanded(WordVectors(["she"], np.ones((1, 8), np.float32)))
