"""Scores of what comes back: by hand, and where nothing fits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph import recipe
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.latent.reconstruction import shard_of
from lexigraph.evaluation.reconstruction import row_scores, sentence_scores
from tests.evaluation.latent.fakes import Codec

LINES = ["She sang .", "He left the house ."]


def test_a_text_without_a_sentence_that_fits_is_refused():
    model = Codec(LINES, context=3)
    rows = model.tokenizer.encode_batch(LINES)
    with pytest.raises(LexigraphError, match="No sentence of this text fits into the model's 3 tokens"):
        row_scores(model.network, shard_of(model, rows), recipe.read("picture"), torch.device("cpu"))


def test_sentences_are_compared_character_for_character():
    found = sentence_scores(["She sang .", "he left the house ."], LINES)
    assert found["exact"]["value"] == 0.5
    assert np.isclose(sentence_scores(LINES, LINES)["bleu"]["value"], 100)
