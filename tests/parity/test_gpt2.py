"""The same weights give the same numbers: GPT against transformers' GPT-2, the LSTM against its equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lexigraph.decoding.sampling import generate
from lexigraph.exchange import gpt2, gpt_neox
from lexigraph.models import gpt, rnn_lm
from lexigraph.objectives.next_token import shifted
from lexigraph.objectives.terms import value
from tests.ids import ids as vocabulary

from .same import assert_same, assert_same_gradients

VOCABULARY = 101
ACTIVATIONS = {"gelu-tanh": "gelu_new", "gelu": "gelu"}
SIZES = [(1, 1, 16, 12), (2, 4, 32, 24), (3, 2, 48, 40)]  # layers, heads, dim, context


def pair(
    layers: int = 2,
    heads: int = 4,
    dim: int = 32,
    context: int = 24,
    activation: str = "gelu-tanh",
    tied: bool = True,
) -> tuple[gpt.GPT, Any]:
    """Our network and transformers', with one set of random weights."""
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(layers)
    ends: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0, "tie_word_embeddings": tied}
    shape = {"n_layer": layers, "n_head": heads, "n_embd": dim, "n_positions": context, "vocab_size": VOCABULARY}
    theirs = transformers.GPT2LMHeadModel(
        transformers.GPT2Config(activation_function=ACTIVATIONS[activation], **shape, **ends)
    )
    theirs.loss_type = "ForCausalLM"  # its default; unset, it warns
    for parameter in theirs.parameters():  # norms and biases too, which are born as 1 and 0
        torch.nn.init.normal_(parameter, std=0.3)
    config = gpt.Config(**gpt2.config_from(theirs.config.to_dict()))
    assert (config.activation, config.tied) == (activation, tied)
    ours = gpt.GPT(config, gpt.Objective(), vocabulary(VOCABULARY))
    ours.load_state_dict(gpt2.weights_from(theirs.state_dict(), config))
    return ours.eval(), theirs.eval()


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("activation", list(ACTIVATIONS))
@pytest.mark.parametrize(("layers", "heads", "dim", "context"), SIZES)
def test_logits_are_those_of_gpt2(
    layers: int, heads: int, dim: int, context: int, activation: str, tied: bool
) -> None:
    ours, theirs = pair(layers, heads, dim, context, activation, tied)
    ids = torch.randint(VOCABULARY, (3, context))
    with torch.no_grad():
        assert_same(ours(ids), theirs(ids).logits)
        assert_same(ours(ids[:, :1]), theirs(ids[:, :1]).logits)


@pytest.mark.parametrize("lengths", [(9, 9, 9), (9, 4, 1), (2, 9, 5)])
def test_logits_of_padded_rows_are_those_of_gpt2(lengths: tuple[int, ...]) -> None:
    ours, theirs = pair()
    ids = torch.randint(1, VOCABULARY, (3, 9))
    seen = torch.arange(9) < torch.tensor(lengths)[:, None]
    ids = ids * seen
    with torch.no_grad():
        mine, other = ours(ids, torch.tensor(lengths)), theirs(ids, attention_mask=seen.long()).logits
    assert_same(mine[seen], other[seen])


def test_loss_and_gradients_are_those_of_gpt2() -> None:
    ours, theirs = pair()
    rows = [np.random.default_rng(0).integers(0, VOCABULARY, length) for length in (12, 7, 3)]
    batch = ours.prepare({"text": rows})
    loss = value(ours.loss(batch)[0])
    loss.backward()
    seen = (torch.arange(11) < torch.tensor([11, 6, 2])[:, None]).long()
    other = theirs(batch["inputs"], attention_mask=seen, labels=batch["inputs"], shift_labels=batch["targets"]).loss
    other.backward()
    assert_same(loss, other)
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    expected = gpt2.weights_from(gradients, ours.config)
    assert_same_gradients(ours, expected)


@pytest.mark.parametrize("lengths", [(5, 5, 5), (5, 3, 1)])
def test_greedy_tokens_are_those_of_gpt2(lengths: tuple[int, ...]) -> None:
    ours, theirs = pair(context=32)
    torch.manual_seed(5)
    rows = [torch.randint(1, VOCABULARY, (length,)) for length in lengths]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    found = generate(
        ours, {"ids": ids, "lengths": torch.tensor(lengths)}, eos=0, max_new=20, min_new=20, temperature=0
    )
    for row, hypothesis in zip(rows, found, strict=True):
        theirs_new = theirs.generate(
            row[None],
            attention_mask=torch.ones_like(row[None]),
            max_new_tokens=20,
            do_sample=False,
            suppress_tokens=[0],
        )[0, len(row) :]
        assert list(hypothesis.tokens) == theirs_new.tolist()
        with torch.no_grad():  # and it says how probable they are
            logits = theirs(torch.cat([row, theirs_new])[None]).logits[0, len(row) - 1 : -1]
        log_p = logits.log_softmax(1).gather(1, theirs_new[:, None]).sum()
        assert hypothesis.log_probability == pytest.approx(float(log_p), rel=1e-5)


FORMS = [
    {"activation": "gelu-tanh"},
    {"activation": "relu", "tied": False, "bias": False},
    {"positions": "sinusoidal"},
    {"positions": "rotary"},
    {"positions": "rotary", "tied": False, "bias": False, "activation": "silu", "inner": 40},
]


@pytest.mark.parametrize("form", FORMS)
@torch.no_grad()
def test_exported_weights_give_their_model_the_same_outputs(form: dict[str, Any]) -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = gpt.Config(2, 2, 16, 20, **form)
    ours = gpt.GPT(config, gpt.Objective(), vocabulary(VOCABULARY)).eval()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    exchange = gpt_neox if config.positions == "rotary" else gpt2
    settings = transformers.AutoConfig.for_model(**exchange.config_to(config, VOCABULARY))
    theirs = transformers.AutoModelForCausalLM.from_config(settings).eval()
    weights = {
        name.replace("embed_out", "lm_head"): tensor  # as their own reader renames it
        for name, tensor in exchange.weights_to(ours.state_dict(), config).items()
    }
    missing, left = theirs.load_state_dict(weights, strict=False)
    assert (len(missing), left) == (config.tied, [])
    theirs.tie_weights()
    ids = torch.randint(VOCABULARY, (3, 20))
    assert_same(ours(ids), theirs(ids).logits)
    again = gpt.Config(**exchange.config_from(theirs.config.to_dict()))  # and back
    back = gpt.GPT(again, gpt.Objective(), vocabulary(VOCABULARY)).eval()
    back.load_state_dict(exchange.weights_from(theirs.state_dict(), again))
    assert_same(back(ids), theirs(ids).logits)


@pytest.mark.parametrize("layers", [1, 3])
def test_a_decoder_with_large_weights_agrees_with_the_plain_network(layers: int) -> None:
    """Large weights are laid out anew for decoding, and again when they change."""
    config = gpt.Config(layers, heads=4, dim=256, context=16, inner=512)
    torch.manual_seed(0)
    network = gpt.GPT(config, gpt.Objective(), vocabulary(600)).eval()
    ids = torch.randint(600, (3, 8))
    for _ in range(2):
        with torch.no_grad():
            expected = network(ids)
        with torch.inference_mode():
            step = network.start({"ids": ids[:, :5], "lengths": torch.full((3,), 5)})
            assert_same(step.logits, expected[:, 4])
            for time in (5, 6, 7):
                step = network.step(step.state, ids[:, time])
                assert_same(step.logits, expected[:, time])
        with torch.no_grad():
            for parameter in network.parameters():
                parameter.add_(0.01 * torch.randn_like(parameter))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


@pytest.mark.parametrize(("layers", "tied"), [(1, True), (2, False)])
def test_lstm_logits_follow_the_equations(layers: int, tied: bool) -> None:
    torch.manual_seed(layers)
    network = rnn_lm.RecurrentLanguageModel(
        rnn_lm.Config(layers=layers, dim=12, tied=tied, scale=0.5), rnn_lm.Objective(), vocabulary(VOCABULARY)
    ).double()
    torch.nn.init.normal_(network.bias)
    ids = torch.randint(VOCABULARY, (2, 9))
    weights = {
        name: parameter.detach().numpy() for name, parameter in network.recurrent.blocks[0].kernel.named_parameters()
    }

    x = network.embedding.weight.detach().numpy()[ids.numpy()]  # (batch, time, dim)
    for layer in range(layers):
        W, U, b, b_h = (weights[f"{name}_l{layer}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"))
        h = c = np.zeros((2, 12))
        outputs = []
        for t in range(ids.shape[1]):
            i, f, g, o = np.split(x[:, t] @ W.T + h @ U.T + b + b_h, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            outputs.append(h)
        x = np.stack(outputs, 1)
    expected = x @ network.output_table.detach().numpy().T + network.bias.detach().numpy()

    assert np.abs(network(ids).detach().numpy() - expected).max() < 1e-12
    batch = shifted([row.numpy() for row in ids], pad=0)
    log_p = torch.from_numpy(expected[:, :-1]).log_softmax(-1)
    right = log_p.gather(2, ids[:, 1:, None]).mean()
    assert value(network.loss(batch)[0]).item() == pytest.approx(-float(right), abs=1e-12)
