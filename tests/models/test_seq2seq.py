"""Recurrent translators: each form computes what its head says, and hard attention gets the gradient of its draws."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from lexigraph import api
from lexigraph.errors import UsageError
from lexigraph.models import seq2seq
from lexigraph.nn.stepper import State
from tests.ids import ids

VOCABULARY, EOS = 31, 2
SOURCES = torch.tensor([[7, 8, 9, 10, EOS], [11, 12, EOS, 0, 0]])
LENGTHS = torch.tensor([5, 3])
INPUTS = torch.tensor([[EOS, 5, 6, 7], [EOS, 8, 9, 0]])


def network_of(entropy: float = 0.0, **more: Any) -> seq2seq.Seq2Seq:
    torch.manual_seed(0)
    config = seq2seq.Config(**{"cell": "gru", "layers": 1, "dim": 6, "context": 12, "dropout": 0.0} | more)
    network = seq2seq.Seq2Seq(config, seq2seq.Objective(entropy=entropy), ids(VOCABULARY)).double().eval()
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.5)
    return network


# ---- the forms, each against its equations, one step after the other -----------------------------------------


def encoded(network: seq2seq.Seq2Seq, row: int) -> tuple[torch.Tensor, torch.Tensor]:
    """m_1 … m_S and the last state of a source, read alone."""
    e = network.embedding(SOURCES[row : row + 1, : LENGTHS[row]])
    memory, end = network.encoder[0](e.flip(1) if network.config.reversed else e)
    return (memory.flip(1) if network.config.reversed else memory)[0], end["h"].flatten(1)


def stepped(network: seq2seq.Seq2Seq, row: int) -> torch.Tensor:
    """Logits of a target, by the equations at the head of the module."""
    config, (memory, end) = network.config, encoded(network, row)
    looks, state = config.attention != "none", end if config.start == "encoder" else torch.zeros_like(end)
    fed, found = torch.zeros(1, 6).double(), []

    def context(query: torch.Tensor) -> torch.Tensor:
        return (memory @ network.alignment.of_memory.weight.T @ query[0]).softmax(0)[None] @ memory

    for token in INPUTS[row]:
        parts = [] if config.blind else [network.embedding(token)[None]]
        parts += [fed] if config.feeding else []
        parts += [end] if config.every_step else []
        if looks and config.attends == "before":
            c = context(state)
            parts.append(c)
        state = network.decoder(torch.cat(parts, 1)[:, None], state={"h": state[:, None]})[0][:, 0]
        if looks and config.attends == "after":
            c = context(state)
        fed = network.readout(torch.cat([state, c], 1)).tanh() if looks else state
        found.append(fed @ network.embedding.weight.T + network.bias)
    return torch.cat(found)


FORMS: list[dict[str, Any]] = [
    {"attention": "none"},
    {"attention": "none", "every_step": True, "reversed": True, "bidirectional": "none"},
    {"attention": "general"},
    {"attention": "general", "feeding": True, "reversed": True},
    {"attention": "general", "attends": "before"},
    {"attention": "general", "attends": "before", "blind": True, "start": "zero"},
    {"attention": "general", "attends": "before", "feeding": True, "every_step": True},
]


@pytest.mark.parametrize("form", FORMS)
def test_a_form_computes_what_its_equations_say(form):
    network = network_of(**form)
    logits = network(SOURCES, INPUTS, LENGTHS)
    for row in range(2):
        assert torch.allclose(logits[row], stepped(network, row), atol=1e-10)


def test_gnmt_reads_both_ways_below_adds_inputs_above_and_looks_from_its_lowest_layer():
    network = network_of(attention="dot", attends="lowest", layers=3, bidirectional="first", residual=3)
    below, above = network.encoder
    e = network.embedding(SOURCES[:1])
    first, end_1 = below(e)
    one, three = type(above)("gru", 6, 6).double(), type(above)("gru", 6, 6).double()
    one.blocks[0], three.blocks[0] = above.blocks
    second, end_2 = one(first)
    third, end_3 = three(second)
    memory = third + second
    starts = [end_1["h"].flatten(1), end_2["h"][:, 0], end_3["h"][:, 0]]
    low, _ = network.lowest(network.embedding(INPUTS[:1]), state={"h": starts[0][:, None]})
    c = (low @ memory.transpose(1, 2)).softmax(2) @ memory
    upper = [type(above)("gru", 12, 6).double() for _ in range(2)]
    for layer, block in zip(upper, network.decoder.blocks, strict=True):
        layer.blocks[0] = block
    h_2, _ = upper[0](torch.cat([low, c], 2), state={"h": starts[1][:, None]})
    h_3, _ = upper[1](torch.cat([h_2, c], 2), state={"h": starts[2][:, None]})
    readout = network.readout(torch.cat([h_3 + h_2, c], 2)).tanh()
    expected = readout @ network.embedding.weight.T + network.bias
    assert torch.allclose(network(SOURCES[:1], INPUTS[:1]), expected, atol=1e-10)


def test_a_decoder_of_fewer_layers_begins_from_the_lower_ones():
    network = network_of(layers=3, decoder_layers=2)
    _, rows = network.read(SOURCES, LENGTHS)
    _, end = network.encoder[0](network.embedding(SOURCES), LENGTHS)
    assert torch.equal(rows["h"], end["h"].unflatten(1, (3, 2)).flatten(2)[:, :2])


def test_a_blind_decoder_writes_the_same_whatever_it_has_written():
    network = network_of(attention="dot", attends="before", blind=True)
    other = INPUTS.clone()
    other[:, 1:] = 20
    assert torch.equal(network(SOURCES, INPUTS, LENGTHS), network(SOURCES, other, LENGTHS))


# ---- hard attention ------------------------------------------------------------------------------------------


def terms_for(network: seq2seq.Seq2Seq, draws: torch.Tensor) -> dict[str, Any]:
    examples = {"source": [np.array([EOS, 7, 8, EOS])], "target": [np.array([EOS, 5, EOS])]}
    batch = network.prepare(examples, {"": np.array([1])})
    return network.loss(type(batch)(batch.tensors | {"draws": draws}, batch.counts))[0]


@pytest.mark.parametrize("attends", ["after", "before"])
def test_hard_attention_gets_the_gradient_of_what_is_expected_over_its_draws(attends):
    """Over all ways to look, each as probable as it is: Σ P(way) ∂(policy + loss) = ∂ Σ P(way) loss."""
    network = network_of(attention="general", attends=attends, hard=True, bidirectional="none", reversed=True)
    source, rows = network.read(torch.tensor([[7, 8, EOS]]), torch.tensor([3]))
    # the weights of each step depend on where the steps before it looked: find a number in the share of each position
    ways = []
    for way in product(range(3), repeat=2):
        state, place, probability, numbers = rows, [], 1.0, []
        for t, token in enumerate((EOS, 5)):
            step = torch.tensor([[token]])
            weights = network.write(step, source, state)[2].log_weights[0, 0].exp()
            number = weights.detach().cumsum(0)[way[t]] - weights.detach()[way[t]] / 2
            state = network.write(step, source, state, number[None, None])[1]
            probability = probability * weights[way[t]]
            numbers.append(number)
            place.append(way[t])
        ways.append((probability, torch.stack(numbers)[None]))
    assert sum(float(p.detach()) for p, _ in ways) == pytest.approx(1.0)

    def gradient(value: torch.Tensor) -> torch.Tensor:
        found = torch.autograd.grad(value, list(network.alignment.parameters()), allow_unused=True, retain_graph=True)
        return torch.cat([g.flatten() for g in found if g is not None])

    expected = gradient(sum(p * terms_for(network, draws)["loss"].total for p, draws in ways))
    estimated = sum(
        float(p.detach()) * gradient(terms["policy"].total + terms["loss"].total)
        for p, draws in ways
        if (terms := terms_for(network, draws))
    )
    assert expected.abs().max() > 1e-3
    assert torch.allclose(estimated, expected, atol=1e-8)


def test_hard_attention_looks_at_the_weightiest_place_outside_of_training_and_is_paid_for_doubt():
    network = network_of(attention="dot", hard=True)
    source, rows = network.read(SOURCES, LENGTHS)
    _, _, looks = network.write(INPUTS, source, rows)
    assert torch.equal(looks.chosen, looks.log_weights.amax(2))
    draws = torch.full((1, 2), 0.5).double()
    without, paid = (network_of(entropy=e, attention="dot", hard=True) for e in (0.0, 1.0))
    policies = [terms_for(each, draws)["policy"].total for each in (without, paid)]
    examples = torch.tensor([[7, 8, EOS]]), torch.tensor([[EOS, 5]])
    weights = without.write(examples[1], *without.read(examples[0]))[2].log_weights
    entropy = -(weights.exp() * weights).sum()
    assert float(policies[0] - policies[1]) == pytest.approx(float(entropy))


@pytest.mark.parametrize("window", ["none", "monotonic", "predictive"])
def test_no_draw_is_where_it_cannot_look(window):
    """Numbers are drawn from (0, 1], and weights add up to 1 but for rounding: the last are at a position, too."""
    network = network_of(attention="general", hard=True, window=window, reach=1, context=40).float()
    ids_of = torch.arange(32 * 30).reshape(32, 30) % 28 + 3
    source, rows = network.read(ids_of, torch.full((32,), 30))
    for draw in (1.0, 1 - 2**-24, 2**-25):
        looks = network.write(ids_of[:, :12], source, rows, torch.full((32, 12), draw))[2]
        assert torch.isfinite(looks.chosen).all()


# ---- searching, and wrong input ------------------------------------------------------------------------------


def test_a_step_says_where_it_looked_for_every_row():
    network = network_of(attention="additive", window="monotonic", reach=1)
    step = network.start({"ids": SOURCES, "lengths": LENGTHS}, width=2)
    assert step.attention.shape == (4, 5)
    assert torch.allclose(step.attention.sum(1), torch.ones(4).double())
    assert not step.attention[:, 2:].any()  # the first word is at most one place away from the first
    state = step.state
    assert isinstance(state, State)
    later = network.step(state, torch.tensor([5, 6, 7, 8]), attention=True).attention
    assert not later[:, 3:].any()
    assert (
        network.step(network.start({"ids": SOURCES, "lengths": LENGTHS}).state, torch.tensor([5, 6])).attention
        is None
    )


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"dim": 5}, "must be even"),
        ({"residual": 1}, "begin with 2"),
        ({"attention": "none", "attends": "before"}, "model.attends says how to attend"),
        ({"attention": "none", "hard": True}, "model.hard says how to attend"),
        ({"attends": "lowest"}, "decoder_layers must be 2"),
        ({"blind": True}, "reads nothing at all"),
        ({"blind": True, "attends": "before", "tied": False}, "set model.tied = true"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(asked, says):
    with pytest.raises(UsageError, match=says):
        network_of(**asked)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return api.train("dates", out=tmp_path_factory.mktemp("runs") / "dates", tiny=True, quiet=True)


def test_a_translation_says_where_it_looked_piece_by_piece(model):
    ((best,),) = model.translate(["5 June 2007"], alignment=True)
    assert best.alignment.shape == (len(best.target), len(best.source))
    assert "".join(best.source).replace("▁", " ").startswith("5")
    assert np.allclose(best.alignment.sum(1), 1, atol=1e-5)


def test_a_model_that_never_looks_has_no_alignment(tmp_path):
    plain = {"model.attention": "none", "model.attends": "after", "model.every_step": True}
    model = api.train("dates", out=tmp_path / "run", set=plain, tiny=True, quiet=True)
    assert isinstance(model.translate("5 June 2007"), str)
    with pytest.raises(UsageError, match="looks nowhere"):
        model.translate("5 June 2007", alignment=True)


def test_an_unknown_word_is_the_one_of_the_source_that_it_looked_at(tmp_path):
    words = {"tokenizer.kind": "word", "tokenizer.size": 40, "model.dim": 16}
    model = api.train("seq2seq", "grammar", out=tmp_path / "run", set=words, tiny=True, quiet=True)
    with torch.no_grad():
        model.network.bias[model.tokenizer.unk] = 100.0
    source = "The zebra saw a quokka ."
    written = model.translate(source)
    assert "<unk>" not in written
    ((best,),) = model.translate([source], alignment=True, copy_unknown=True)
    looked = best.alignment[: len(best.text.split()), : len(source.split())].argmax(1)
    assert best.text.split() == [source.split()[place] for place in looked]
    assert model.translate(source, copy_unknown=True) == best.text
    assert "zebra" in model.reading_tokenizer.surfaces(source)


def test_translations_are_drawn_as_often_as_they_are_probable_and_alike_in_any_company(model):
    texts = ["5 June 2007", "le 1er mars 1964"]
    drawn = model.translate(texts, temperature=1.0, n_best=4, seed=3, alignment=True)
    alone = model.translate(texts[1:], temperature=1.0, n_best=4, seed=3)
    assert [each.text for each in drawn[1]] == [each.text for each in alone[0]]
    assert drawn[0][0].alignment.shape == (len(drawn[0][0].target), len(drawn[0][0].source))
    for each in drawn[0]:
        if each.target[-1] == model.tokenizer.tokens([model.tokenizer.eos])[0]:
            assert model.score(each.text, sources=texts[0]) == pytest.approx(each.log_probability, abs=1e-3)
    sums = [each.log_probability for each in drawn[0]]
    assert sums == sorted(sums, reverse=True)
    assert len({*sums}) > 1
    cold = model.translate(texts, temperature=1e-4)
    assert cold == model.translate(texts, beam=1)
    (first,) = model.translations([model.rows(texts[:1], model.reading_tokenizer)[0][0]], beam=1)
    token, source = first[0].tokens[0], model._batch([[*model.rows(texts[:1])[0][0].tolist(), model.network.end]])
    p = model.network.start(source).logits.softmax(1)[0, token].item()
    many = [each.text[:1] for each in model.translate(texts[0], temperature=1.0, n_best=1000)]
    assert many.count(model.tokenizer.decode([token])) / 1000 == pytest.approx(p, abs=0.06)
    with pytest.raises(UsageError, match="not searched for"):
        model.translate(texts, temperature=1.0, coverage=0.2)


def test_penalties_of_gnmt_are_those_of_the_search(model):
    plain, penalised = (
        model.translate("5 June 2007", n_best=3, length=length, coverage=coverage)
        for length, coverage in (("power", 0.0), ("gnmt", 0.5))
    )
    assert {each.text for each in plain} & {each.text for each in penalised}
    for each in penalised:
        assert each.score <= each.log_probability / ((5 + each.tokens) / 6) ** 0.7 + 1e-6
