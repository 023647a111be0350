"""What Longformer sees, how it goes on from a BERT, and a language model whose memory does not grow."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.models import longformer, longformer_lm
from lexigraph.models.bert import BERT
from lexigraph.models.bert import Config as BertConfig
from lexigraph.models.bert import Objective as BertObjective
from lexigraph.objectives.terms import value
from lexigraph.run import Run
from lexigraph.weights import run_weights
from tests.ids import ids as vocabulary


def randomised(made):
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    return made.eval()


def encoder(**settings) -> longformer.Longformer:
    torch.manual_seed(0)
    shape = {"layers": 2, "heads": 2, "dim": 16, "context": 300, "window": (4,), "dropout": 0.0} | settings
    return randomised(
        longformer.Longformer(longformer.Config(**shape), longformer.Objective(), vocabulary(60, mask=3))
    )


def language_model(**settings) -> longformer_lm.LongformerLM:
    torch.manual_seed(0)
    shape = {"layers": 2, "heads": 2, "dim": 16, "context": 300, "window": (3,)} | settings
    return randomised(
        longformer_lm.LongformerLM(longformer_lm.Config(**shape), longformer_lm.Objective(), vocabulary(60))
    )


def moved(made, ids: torch.Tensor, position: int) -> list[int]:
    """The positions whose outputs move when the token at one changes."""
    other = ids.clone()
    other[0, position] += 1
    with torch.no_grad():
        return ((made(ids) - made(other)).abs().amax(2)[0] > 1e-6).nonzero().flatten().tolist()


def test_a_token_is_seen_as_far_as_the_windows_of_all_layers_reach_together():
    ids = torch.randint(4, 50, (1, 100))
    assert moved(encoder(globals="none"), ids, 50) == list(range(46, 55))  # two on each side, in two layers
    assert moved(encoder(globals="none", window=(2, 8)), ids, 50) == list(range(45, 56))
    assert moved(encoder(), ids, 50) == list(range(100))  # the class token tells it to all
    assert moved(language_model(), ids, 50) == list(range(50, 57))
    dilated = language_model(window=(1, 2), dilation=(1, 5))
    assert moved(dilated, ids, 50) == [50, 51, 55, 56, 60, 61]


def test_a_window_as_wide_as_the_text_is_berts_attention():
    torch.manual_seed(0)
    shape = {"layers": 2, "heads": 2, "dim": 16, "segments": 1, "dropout": 0.0}
    bert = randomised(BERT(BertConfig(**shape, context=24), BertObjective(), vocabulary(60, mask=3)))
    made = encoder(window=(100,), globals="none", context=24)
    made.load_state_dict(made.inherited(bert.state_dict()))
    ids, lengths = torch.randint(4, 60, (3, 20)), torch.tensor([20, 7, 1])
    seen = torch.arange(20) < lengths[:, None]
    with torch.no_grad():
        ours, theirs = made(ids, lengths), bert(ids, lengths)
    assert torch.allclose(ours[seen], theirs[seen], atol=1e-4)


def test_dilation_and_globals_do_not_go_together_and_lists_are_as_long_as_the_model_is_deep():
    for settings, message in [
        ({"dilation": (2,)}, r'model\.globals = "none"'),
        ({"window": (4, 4, 4)}, r"model\.window has 3 numbers, and model\.layers = 2"),
        ({"dilation": (1, 1, 1), "globals": "none"}, r"model\.dilation has 3"),
        ({"window": (4, 5)}, "5 is odd"),
        ({"dilated_heads": 3}, r"model\.dilated_heads = 3"),
        ({"context": 2}, "no room"),
    ]:
        with pytest.raises(UsageError, match=message):
            encoder(**settings)
    language_model(window=(4, 5))  # looks back only, and nothing is halved
    with pytest.raises(LexigraphError, match="odd"):
        language_model(heads=16)


def test_every_parameter_but_those_of_the_last_class_token_gets_a_gradient():
    made = encoder().train()
    rows = [np.array([2, *np.random.default_rng(n).integers(4, 60, 30), 2]) for n in range(4)]
    value(made.loss(made.prepare({"text": rows}))[0]).backward()
    without = {name for name, parameter in made.named_parameters() if not parameter.grad.abs().sum() > 0}
    kinds = ("weight", "bias")
    assert without <= {f"encoder.layers.1.attention.global_{a}.{b}" for a in ("query", "key_value") for b in kinds}


@pytest.mark.parametrize(
    "settings", [{}, {"window": (70, 2)}, {"window": (2, 3), "dilation": (1, 4), "dilated_heads": 1}]
)
def test_writing_is_reading_again_with_a_memory_that_does_not_grow(settings):
    """Prompts of unlike lengths, longer and shorter than the windows, far beyond where the oldest is forgotten."""
    made = language_model(**settings, context=32)
    texts = torch.randint(3, 60, (3, 90))
    lengths = torch.tensor([1, 7, 40])
    with torch.inference_mode():
        whole = made(texts)
        step = made.start({"ids": texts[:, :40], "lengths": lengths})
        sizes = {name: ring.shape for name, ring in step.state.rows.items()}
        for _ in range(50):
            expected = whole[torch.arange(3), lengths - 1]
            assert torch.allclose(step.logits, expected, atol=1e-5 * float(expected.abs().max()))
            step = made.step(step.state, texts[torch.arange(3), lengths])
            lengths = lengths + 1
        assert {name: ring.shape for name, ring in step.state.rows.items()} == sizes


@pytest.mark.parametrize(
    ("kind", "settings"),
    [(encoder, {}), (encoder, {"globals": "none", "dilation": (1, 3)}), (language_model, {"dilation": (2,)})],
)
def test_fused_and_open_attention_agree(kind, settings):
    made = kind(**settings)
    ids = torch.randint(4, 60, (2, 80))
    with torch.no_grad():
        logits, weights = made.attention_weights(ids)
        assert torch.allclose(logits, made(ids), atol=1e-4)
    assert weights.shape == (2, 2, 2, 80, 80)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 2, 2, 80))


# ---- --from ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def from_bert(tiny_runs, tmp_path_factory):
    changes = {"train.lr": 1e-12, "model.context": 100, "model.window": [8]}
    folder = tmp_path_factory.mktemp("longformer") / "run"
    return api.train("longformer", "grammar", folder, start=tiny_runs("bert"), tiny=True, quiet=True, set=changes)


def test_it_goes_on_from_a_bert(tiny_runs, from_bert):
    run = Run.open(tiny_runs("bert"))
    learned, own = run_weights(run), from_bert.network.state_dict()
    for name, weight in learned.items():
        if name != "embedding.positions.weight":
            assert torch.allclose(own[name], weight, atol=1e-6), name
    table = learned["embedding.positions.weight"]  # of 48 positions
    assert torch.allclose(own["embedding.positions.weight"], torch.cat([table, table, table[:4]]), atol=1e-6)
    for layer in range(2):
        start = f"encoder.layers.{layer}.attention."
        of_globals = torch.cat([own[f"{start}global_query.weight"], own[f"{start}global_key_value.weight"]])
        assert torch.allclose(of_globals, learned[f"{start}qkv.weight"], atol=1e-6)
    assert from_bert.tokenizer.fingerprint == api.load(run.path).tokenizer.fingerprint


def test_it_goes_on_with_larger_windows_and_a_longer_context(from_bert, tmp_path):
    changes = {"train.lr": 1e-12, "model.context": 200, "model.window": [16]}
    longer = api.train(
        "longformer", "grammar", tmp_path / "run", start=from_bert.path, tiny=True, quiet=True, set=changes
    )
    assert longer.recipe.model.window == (16,)
    table = from_bert.network.embedding.positions.weight
    assert torch.allclose(longer.network.embedding.positions.weight, torch.cat([table, table]), atol=1e-6)


def test_what_the_weights_of_a_bert_fix_cannot_be_changed(tiny_runs, tmp_path):
    with pytest.raises(UsageError, match=r"leave out model\.dim"):
        api.train(
            "longformer", "grammar", tmp_path / "run", start=tiny_runs("bert"), tiny=True, set={"model.dim": 32}
        )
    assert not (tmp_path / "run").exists()


def test_a_longformer_reads_for_a_classifier(from_bert, tmp_path):
    model = api.train("classifier", "grammar", tmp_path / "run", start=from_bert.path, tiny=True, quiet=True)
    assert model.recipe.parts["reader"].system == "longformer"
    assert model.classify(["She laughed ."])[0].label
