"""GPT's options, its cache beyond the context, and attention in the open."""

from __future__ import annotations

import itertools

import pytest
import torch

from lexigraph.errors import LexigraphError
from lexigraph.exchange import gpt2, gpt_neox
from lexigraph.models.gpt import GPT, Config, Objective
from lexigraph.nn.positions import rotary, sinusoidal, turn
from tests.ids import ids

FORMS = list(itertools.product(["learned", "sinusoidal", "rotary"], ["pre", "post"], ["gelu", "relu", "silu"]))


def network(**settings) -> GPT:
    torch.manual_seed(0)
    made = GPT(Config(**{"layers": 2, "heads": 2, "dim": 16, "context": 12} | settings), Objective(), ids(30))
    with torch.no_grad():
        for parameter in made.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
    return made.eval()


def test_a_gated_layer_with_rms_norms_is_what_shazeer_and_zhang_wrote():
    """Shazeer (2020): FFN(x) = (GELU(x W) * x V) U; Zhang & Sennrich (2019): x / root mean square of x, times g."""
    block = network(gated=True, normed_by="rms", bias=False).blocks[0].double()
    x = torch.randn(5, 16, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    norm, feed = block.norm_feed_forward, block.feed_forward
    assert torch.allclose(norm(x), x / (x.square().mean(1, keepdim=True) + 1e-5).sqrt() * norm.weight)
    wide, gate = x @ feed.widen.weight.T, x @ feed.gate.weight.T
    gelu = wide * (1 + torch.erf(wide / 2**0.5)) / 2
    assert torch.allclose(feed(x), (gelu * gate) @ feed.narrow.weight.T)
    for exchange in (gpt2, gpt_neox):
        with pytest.raises(LexigraphError, match=r"model\.gated = true"):
            exchange.config_to(Config(gated=True, positions="rotary"), 30)


@pytest.mark.parametrize(("positions", "norm", "activation"), FORMS)
def test_fused_and_open_attention_agree_in_every_form(positions, norm, activation):
    made = network(positions=positions, norm=norm, activation=activation)
    ids = torch.randint(3, 30, (3, 9), generator=torch.Generator().manual_seed(1))
    logits, weights = made.attention_weights(ids)
    assert torch.allclose(logits, made(ids), atol=1e-4)
    assert weights.shape == (2, 3, 2, 9, 9)
    assert torch.allclose(weights.sum(-1), torch.ones(2, 3, 2, 9))
    assert weights.triu(1).abs().max() == 0  # nobody looks ahead


@pytest.mark.parametrize(("positions", "norm"), [("learned", "post"), ("rotary", "pre"), ("sinusoidal", "pre")])
def test_order_matters_in_every_kind_of_position(positions, norm):
    made = network(positions=positions, norm=norm)
    one, other = made(torch.tensor([[3, 4, 5]]))[0, -1], made(torch.tensor([[4, 3, 5]]))[0, -1]
    assert not torch.allclose(one, other, atol=1e-3)


def test_tied_tables_are_one_parameter():
    tied = sum(p.numel() for p in network().parameters())
    assert sum(p.numel() for p in network(tied=False).parameters()) == tied + 30 * 16


def test_generation_goes_on_beyond_the_context():
    made = network()
    with torch.inference_mode():
        step = made.start({"ids": torch.tensor([[2, 5, 6], [2, 7, 0]]), "lengths": torch.tensor([3, 2])})
        history = [[2, 5, 6], [2, 7]]
        for token in range(3, 25):
            step = made.step(step.state, torch.tensor([token, token + 1]))
            history = [[*history[0], token], [*history[1], token + 1]]
            assert step.logits.isfinite().all()
        # a full cache is read anew from its later half, so what is seen now is the end of the text
        seen = step.state.time
        for row, tokens in enumerate(history):
            full = made(torch.tensor([tokens[-seen:]]))[0, -1]
            assert torch.allclose(step.logits[row], full, atol=1e-4)


def test_a_prompt_longer_than_the_context_is_cut_at_its_beginning():
    made = network()
    long = torch.arange(20)[None] % 27 + 3
    with torch.inference_mode():
        step = made.start({"ids": long, "lengths": torch.tensor([20])})
        assert torch.allclose(step.logits[0], made(long[:, -12:])[0, -1], atol=1e-4)


def test_more_tokens_than_the_context_are_refused():
    with pytest.raises(LexigraphError, match="context of 12"):
        network()(torch.zeros(1, 13, dtype=torch.long))


def test_heads_must_divide_the_width():
    with pytest.raises(LexigraphError, match=r"model\.dim = 16 must be a multiple of model\.heads = 3"):
        network(heads=3)


def test_rotary_products_depend_on_distance_only():
    q, k = torch.randn(2, 1, 1, 1, 8, generator=torch.Generator().manual_seed(0))
    table = rotary(50, 8)

    def product(place_q: int, place_k: int) -> float:
        turned = (turn(x, table[:, position : position + 1]) for x, position in ((q, place_q), (k, place_k)))
        one, other = turned
        return float((one * other).sum())

    assert product(7, 3) == pytest.approx(product(41, 37), abs=1e-4)
    assert product(7, 3) != pytest.approx(product(7, 5), abs=1e-3)


def test_sinusoidal_table_by_hand():
    table = sinusoidal(3, 4)
    assert table[2].tolist() == pytest.approx([0.9092974, -0.4161468, 0.0199987, 0.9998000], abs=1e-6)
