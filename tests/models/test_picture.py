"""The picture autoencoder: shapes, forms, noise and what each option promises."""

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.models.picture import NOISE_LEVELS, Config, Objective, PictureAutoencoder
from lexigraph.nn.picture import Doubled
from lexigraph.objectives.terms import value
from lexigraph.recipe import Train
from lexigraph.training.schedules import optimizer as make_optimizer
from tests.ids import ids

SMALL = {"layers": 2, "heads": 2, "dim": 32, "context": 12, "side": 16}
DRAWN = np.random.default_rng(0).integers(3, 50, (8, 10))
ROWS = [np.array([2, *row[:length], 2]) for row, length in zip(DRAWN, (3, 7, 1, 10, 5, 2, 8, 4), strict=True)]


def network(objective=None, **changes):
    torch.manual_seed(0)
    return PictureAutoencoder(Config(**SMALL | changes), objective or Objective(), ids(50))


def batch(net, rows=ROWS, seeds=None, step=None):
    return net.prepare({"text": rows}, None if seeds is None else {"": seeds}, step)


def loss(net, rows=ROWS, **extra):
    return float(value(net.loss(batch(net, rows, **extra))[0]).detach())


@pytest.mark.parametrize("form", ["basis", "residual", "plain"])
@pytest.mark.parametrize("side", [16, 32, 64, 128])
def test_a_vector_is_drawn_at_every_side_and_looked_at_in_sixteen_places(form, side):
    net = network(form=form, side=side)
    drawn = net.draw(torch.randn(2, 32))
    assert drawn.shape == (2, 3, side, side)
    assert drawn.abs().max() <= 1
    assert net.picture_encoder(drawn).shape == (2, 16, 32)


def test_the_plain_form_has_the_channels_of_its_description():
    net = PictureAutoencoder(Config(form="plain", layers=1, dim=256), Objective(), ids(50))
    shapes = [tuple(p.shape[:2]) for name, p in net.painter.named_parameters() if p.dim() == 4]
    assert net.painter.start.out_features == 2 * 256
    assert shapes == [(512, 32), (256, 512), (128, 256), (64, 128), (32, 64), (3, 32)]
    looks = [tuple(p.shape) for p in net.picture_encoder.parameters() if p.dim() == 4]
    assert looks[0] == (16, 3, 3, 3)  # d / 16
    assert looks[1::2] == [(32, 16, 2, 2), (64, 32, 2, 2), (128, 64, 2, 2), (256, 128, 2, 2)]


@pytest.mark.parametrize("k", [2, 4])
def test_the_general_pooling_gives_a_map(k):
    net = network(k=k)
    assert net.latent == 32 * k**2
    assert net.draw(torch.randn(2, net.latent)).shape == (2, 3, 16, 16)
    value(net.loss(batch(net))[0]).backward()
    assert net.pool.weight.grad.abs().sum() > 0


def test_a_vector_lies_on_the_sphere_and_its_length_does_not_matter_for_the_picture():
    net = network()
    z = net.encode(torch.tensor([[5, 6, 7, 2]]), torch.tensor([4]))
    assert torch.allclose(z.mean(1), torch.zeros(1), atol=1e-5)
    assert torch.allclose(z.std(1, correction=0), torch.ones(1), atol=1e-4)
    assert torch.allclose(net.draw(3 * z), net.draw(z), atol=1e-4)


def test_a_boundary_before_the_sentence_takes_none_of_its_room():
    ids, lengths = torch.tensor([[*range(5, 5 + SMALL["context"] - 1), 2]]), torch.tensor([SMALL["context"]])
    with_start = network(start=True)
    assert with_start.encode(ids, lengths).shape == (1, 32)
    assert not torch.allclose(with_start.encode(ids, lengths), network().encode(ids, lengths), atol=1e-2)


def test_jittered_positions_are_learned_from_and_never_read_with():
    net, jittered = network(), network(Objective(position_jitter=0.9))
    jittered.load_state_dict(net.state_dict())
    seeds = torch.tensor([3, 4])
    ids, seen = torch.tensor([[5, 6, 7, 2]] * 2), torch.ones(2, 4, dtype=torch.bool)
    plain, moved = jittered._read(ids, seen), jittered._read(ids, seen, seeds)
    assert torch.equal(plain, net._read(ids, seen, seeds))
    assert not torch.allclose(moved[0], moved[1], atol=1e-3)  # the same sentence, other gaps
    wider = torch.cat([ids, torch.zeros(2, 3, dtype=torch.long)], 1)
    padded = jittered._read(wider, F.pad(seen, (0, 3)), seeds)
    assert torch.allclose(moved, padded, atol=1e-5)  # whatever the company


def test_sized_vectors_are_the_same_on_the_sphere_and_add_up_before_it():
    net = network()
    ids, lengths = torch.tensor([[5, 6, 7, 2], [5, 6, 2, 0]]), torch.tensor([4, 3])
    unit, unnormalised = net.encode(ids, lengths), net.encode(ids, lengths, unnormalised=True)
    assert torch.allclose(F.layer_norm(unnormalised, unnormalised.shape[1:]), unit, atol=1e-5)
    assert torch.allclose(net.draw(unnormalised), net.draw(unit), atol=1e-4)
    assert not torch.allclose(unnormalised.std(1), torch.ones(2), atol=1e-2)


def test_a_vector_as_pooled_keeps_its_length_and_the_picture_shows_it():
    net = network(sphere=False)
    ids, lengths = torch.tensor([[5, 6, 7, 2], [5, 6, 2, 0]]), torch.tensor([4, 3])
    z = net.encode(ids, lengths)
    assert torch.equal(z, net.encode(ids, lengths, unnormalised=True))
    assert torch.equal(z, network().encode(ids, lengths, unnormalised=True))  # one pooling, whatever comes after
    assert not torch.allclose(net.draw(3 * z), net.draw(z), atol=1e-2)


def test_an_output_table_of_its_own_has_a_bias_and_is_the_only_difference_to_a_tied_one():
    tied, untied = network(), network(tied=False)
    shapes = {name: value.shape for name, value in untied.state_dict().items() if name not in tied.state_dict()}
    assert shapes == {"unembedding.weight": (50, 32), "unembedding.bias": (50,)}
    untied.load_state_dict(tied.state_dict(), strict=False)
    bias = torch.randn(50)
    with torch.no_grad():
        untied.unembedding.weight.copy_(tied.embedding.weight)
        untied.unembedding.bias.copy_(bias)
    inputs = batch(tied)["inputs"]
    assert torch.allclose(untied(inputs), tied(inputs) + bias, atol=1e-5)
    targets = batch(tied)["targets"]
    log_p = untied(inputs, (targets >= 0).sum(1)).log_softmax(2)[targets >= 0]
    nll = F.nll_loss(log_p, targets[targets >= 0], reduction="sum")
    assert float(untied.loss(batch(untied))[0]["nll"].total) == pytest.approx(float(nll.detach()), rel=1e-5)


def test_doubling_in_a_compiler_is_bilinear_interpolation(monkeypatch):
    x = torch.randn(2, 3, 5, 5)
    monkeypatch.setattr("torch.compiler.is_compiling", lambda: True)
    assert torch.allclose(Doubled()(x), F.interpolate(x, scale_factor=2, mode="bilinear"), atol=1e-6)


def test_noise_needs_seeds_and_belongs_to_the_example():
    net = network(Objective(noise_level=2.0, clean_fraction=0.0, mask_rate=0.3, drop=0.3))
    assert loss(net) == loss(net)  # evaluation: no noise
    seeds = np.arange(8) + 100
    assert loss(net, seeds=seeds, step=0) != pytest.approx(loss(net))
    whole = float(net.loss(batch(net, seeds=seeds, step=0))[0]["loss"].total.detach())
    halves = [net.loss(batch(net, ROWS[half], seeds=seeds[half], step=0))[0] for half in (slice(4), slice(4, 8))]
    assert whole == pytest.approx(sum(float(terms["loss"].total.detach()) for terms in halves), rel=1e-5)


def test_hidden_and_dropped_tokens_do_not_reach_the_encoder():
    for objective in (Objective(mask_rate=1.0), Objective(drop=1.0)):
        net = network(objective)
        rows = [np.array([2, 5, 6, 7, 2]), np.array([2, 15, 16, 17, 2])]
        read = []
        net.painter.register_forward_pre_hook(lambda module, inputs, read=read: read.append(inputs[0].detach()))
        net.loss(batch(net, rows, seeds=np.arange(2), step=0))
        z = read[0]
        if objective.mask_rate:  # every token is <unk>: the sentences cannot be told apart
            assert torch.allclose(z[0], z[1], atol=1e-5)
        else:  # nothing would be left, so that the sentence is shown after all
            assert not torch.allclose(z[0], z[1], atol=1e-2)


def test_the_decoder_is_given_the_noise_level_and_blends_between_levels():
    net = network(Objective(noise_level=4.0))
    with torch.no_grad():
        net.noise_embedding.copy_(torch.arange(len(NOISE_LEVELS))[:, None].expand(-1, 32))
    told = net._level(torch.tensor([0.0, 0.25, 0.375, 4.0, 9.0]), 5)[:, 0]
    assert torch.allclose(told, torch.tensor([0.0, 1.0, 1.5, 5.0, 5.0]), atol=1e-4)
    assert torch.equal(net._level(None, 2)[:, 0], torch.zeros(2))


def test_the_variational_term_is_the_kl_of_normal_distributions():
    net = network(Objective(variational=True, anneal=10, kl_weight=0.5, free_bits=0.1))
    terms, _ = net.loss(batch(net))
    read = net._read(batch(net)["targets"].clamp(min=0), batch(net)["targets"] >= 0)
    posterior = torch.distributions.Normal(read[:, 0], (0.5 * read[:, 1]).exp())
    wanted = torch.distributions.kl_divergence(posterior, torch.distributions.Normal(0.0, 1.0))
    assert float(terms["kl"].total.detach()) == pytest.approx(
        float(0.5 * wanted.clamp(min=0.1).sum().detach()), rel=1e-4
    )
    half, _ = net.loss(batch(net, seeds=np.arange(8), step=5))
    assert float(half["kl"].total.detach()) == pytest.approx(0.5 * float(terms["kl"].total.detach()), rel=1e-4)


@pytest.mark.parametrize(
    "changes", [{"pooling": "attention"}, {"pooling": "slots"}, {"head": "linear"}, {"form": "residual"}]
)
def test_the_ablations_learn_eight_sentences_by_heart(changes):
    net = network(**{"dim": 64, "layers": 1} | changes)
    optimizer = make_optimizer(net, Train(optimizer="muon", lr=1e-2), fused=False)
    for _ in range(150):
        optimizer.zero_grad()
        current = value(net.loss(batch(net))[0])
        current.backward()
        optimizer.step()
    logits = net(batch(net)["inputs"], (batch(net)["targets"] >= 0).sum(1))
    targets = batch(net)["targets"]
    assert (logits.argmax(2) == targets)[targets >= 0].float().mean() == 1


def test_a_linear_head_draws_nothing():
    with pytest.raises(LexigraphError, match="no pictures"):
        network(head="linear").draw(torch.randn(1, 32))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"side": 48}, "model.side = 48 must be one of 16, 32, 64, 128"),
        ({"dim": 24}, "multiple of 16"),
        ({"heads": 5}, "multiple of model.heads"),
        ({"k": 3}, "model.k = 3"),
        ({"sphere": False, "objective": Objective(noise_level=1.0)}, "needs model.sphere = true"),
    ],
)
def test_settings_that_cannot_be_are_refused(changes, sentence):
    with pytest.raises(LexigraphError, match=sentence):
        network(**changes)


def test_a_sentence_longer_than_the_context_is_refused():
    with pytest.raises(LexigraphError, match="13 tokens are more than the model's context of 12"):
        network()(torch.zeros(1, 13, dtype=torch.long))


def test_the_decoder_shows_where_in_the_picture_it_looks():
    net = network()
    z, tokens = torch.randn(3, 32), torch.full((6,), 7)
    with torch.inference_mode():
        first = net.start({"z": z, "attention": torch.ones(1)}, width=2)
        second, plain = net.step(first.state, tokens, attention=True), net.step(net.start({"z": z}, 2).state, tokens)
        assert first.attention.shape == second.attention.shape == (6, 16)
        assert torch.allclose(second.attention.sum(1), torch.ones(6))
        assert plain.attention is None
        assert torch.allclose(second.logits, plain.logits, atol=1e-5)
        for layer in net.decoder:  # keys that are all alike attract alike
            layer.memory.key_value.weight.zero_()
        even = net.start({"z": z, "attention": torch.ones(1)}).attention
    assert torch.allclose(even, torch.full((3, 16), 1 / 16))
