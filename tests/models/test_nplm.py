"""The neural probabilistic language model: its formula, its window, its options."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph.errors import LexigraphError
from lexigraph.models.nplm import NPLM, Config, Objective
from lexigraph.objectives.next_token import token_nll
from tests.ids import ids

FORMS = [(direct, tied) for direct in (True, False) for tied in (True, False)]
BOUNDARY = 2


def network(**settings) -> NPLM:
    torch.manual_seed(0)
    made = NPLM(Config(**{"context": 3, "dim": 5, "hidden": 7} | settings), Objective(), ids(20)).double()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.5)
    return made.eval()


def text(length: int, rows: int = 1) -> torch.Tensor:
    ids = torch.randint(3, 20, (rows, length), generator=torch.Generator().manual_seed(1))
    ids[:, 0] = BOUNDARY
    return ids


def test_two_words_by_hand():
    made = NPLM(Config(context=2, dim=1, hidden=1, direct=True, tied=False), Objective(), ids(3)).double()
    with torch.no_grad():
        made.embedding.weight.copy_(torch.tensor([[0.5], [-1.0], [2.0]]))  # C
        made.inner.weight.copy_(torch.tensor([[1.0, 0.5]]))  # H
        made.inner.bias.copy_(torch.tensor([0.1]))  # d
        made.table.copy_(torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.5, 0.5]]))  # U, then W
        made.bias.copy_(torch.tensor([0.0, 0.2, -0.1]))  # b
    logits = made(torch.tensor([[1, 2]]))[0].tolist()
    # word 1 after itself: x = (-1, -1), a = tanh(0.1 - 1 - 0.5) = -0.885352, W x = (-1, -1, -1)
    assert logits[0] == pytest.approx([-1.885352, -0.8, -0.214648], abs=1e-6)
    # word 2 after word 1: x = (2, -1), a = tanh(0.1 + 2 - 0.5) = 0.921669, W x = (-1, 2, 0.5)
    assert logits[1] == pytest.approx([-0.078331, 2.2, -0.521669], abs=1e-6)


@pytest.mark.parametrize(("direct", "tied"), FORMS)
def test_logits_follow_the_formula(direct, tied):
    made = network(direct=direct, tied=tied)
    C, H, d, b = (p.detach().numpy() for p in (made.embedding.weight, *made.inner.parameters(), made.bias))
    both = C @ made.narrow.weight.detach().numpy() if tied else made.table.detach().numpy()
    U, W = both[:, :7], both[:, 7:]
    ids = text(9)
    words = [BOUNDARY, BOUNDARY, *ids[0].tolist()]  # as many boundaries as an n-gram model puts before a text
    for t, logits in enumerate(made(ids)[0]):
        x = np.concatenate([C[words[t + 2]], C[words[t + 1]], C[words[t]]])
        y = b + U @ np.tanh(d + H @ x) + (W @ x if direct else 0)
        assert np.abs(logits.detach().numpy() - y).max() < 1e-12


@pytest.mark.parametrize("context", [1, 2, 5])
def test_a_word_is_seen_by_the_next_predictions_and_by_no_others(context):
    made = network(context=context)
    ids = text(12)
    before = made(ids)[0]
    for position in range(12):
        changed = ids.clone()
        changed[0, position] = 0
        moved = (made(changed)[0] - before).abs().amax(-1) > 1e-9
        assert moved.nonzero().flatten().tolist() == list(range(position, min(position + context, 12)))


@pytest.mark.parametrize("tied", [True, False])
def test_without_direct_connections_the_words_reach_the_output_through_hidden_units_only(tied):
    full, bare = network(tied=tied), network(tied=tied, direct=False)
    weights = dict(full.state_dict())
    last = "narrow.weight" if tied else "table"
    weights[last] = weights[last][:, :7]
    bare.load_state_dict(weights)
    assert not torch.allclose(full(text(6)), bare(text(6)))
    with torch.no_grad():
        (full.narrow.weight if tied else full.table)[:, 7:] = 0  # W = 0
    assert torch.allclose(full(text(6)), bare(text(6)), rtol=0, atol=1e-12)
    with torch.no_grad():
        bare.inner.weight.zero_()  # H = 0: nothing is left of the words
    assert bare(text(6)).std(1).max() < 1e-12


@pytest.mark.parametrize("context", [1, 4])
def test_windows_of_a_stream_are_predicted_as_the_stream_in_one_piece(context):
    made = network(context=context)
    ids = text(25, rows=2).numpy()
    whole = token_nll(made.loss(made.prepare({"text": list(ids)}))[0])
    carry, parts = None, []
    for first, last in ((0, 2), (2, 3), (3, 13), (13, 24)):  # shorter and longer than the context
        terms, carry = made.loss(made.prepare({"text": list(ids[:, first : last + 1])}), carry)
        parts.append(token_nll(terms))
    assert torch.allclose(torch.cat(parts, 1), whole, rtol=0, atol=1e-12)


def test_a_short_prompt_begins_with_boundaries_and_of_a_long_one_the_end_counts():
    made = network()
    with torch.inference_mode():
        ids = torch.tensor([[2, 5, 0, 0, 0], [2, 2, 5, 0, 0], [9, 8, 2, 2, 5]])
        one, two, three = made.start({"ids": ids, "lengths": torch.tensor([2, 3, 5])}).logits
        assert torch.allclose(one, two)
        assert torch.allclose(one, three)


def test_decoding_remembers_as_many_tokens_as_the_context_has():
    made = network()
    with torch.inference_mode():
        step = made.start({"ids": text(6), "lengths": torch.tensor([6])}, width=2)
        for token in (4, 5, 6, 7):
            step = made.step(step.state, torch.tensor([token, 9]))
    assert step.state.rows["ids"].tolist() == [[7, 6, 5], [9, 9, 9]]


def test_dropout_falls_in_training_only():
    made = network(dropout=0.5)
    assert torch.equal(made(text(6)), network()(text(6)))
    made.train()
    assert not torch.equal(made(text(6)), made(text(6)))


@pytest.mark.parametrize("wrong", [{"hidden": 0}, {"context": 0}])
def test_a_network_needs_words_and_hidden_units(wrong):
    with pytest.raises(LexigraphError, match=rf"model\.{next(iter(wrong))} = 0"):
        network(**wrong)
