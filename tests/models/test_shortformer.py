"""Shortformer: positions decide where to look and are in nothing that is looked at; short windows come first."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph.errors import UsageError
from lexigraph.models.shortformer import Config, Objective, Shortformer
from lexigraph.text.batches import Staged, Streams
from tests.ids import ids

VOCABULARY = 30


def network(**settings) -> Shortformer:
    torch.manual_seed(0)
    config = Config(**{"layers": 2, "heads": 2, "dim": 16, "context": 6, "memory": 8} | settings)
    made = Shortformer(config, Objective(), ids(VOCABULARY))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    return made.double().eval()


def random_ids(rows: int, length: int) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_a_window_is_what_the_papers_equations_say():
    """Press et al. 2021, section 5, score by score: positions count from the oldest that is remembered."""
    made = network()
    tokens = random_ids(1, 11)
    _, carry = made.hidden(tokens[:, :5])
    found, _ = made.hidden(tokens[:, 5:], carry)
    omega = np.array([10000 ** (-2 * m / 16) for m in range(8)])
    p = torch.tensor(np.stack([np.stack([np.sin(t * omega), np.cos(t * omega)], 1).ravel() for t in range(11)]))
    h = made.embedding.weight[tokens[0, 5:]]
    for number, layer in enumerate(made.blocks):
        a, n = layer.attention, layer.norm_attention(torch.cat([carry["memory"][0, number], h]))
        w_q, w_k, w_v = (part.weight.view(2, 8, 16) for part in (a.query, a.key, a.value))
        rows = []
        for i in range(5, 11):
            heads = []
            for head in range(2):
                q = w_q[head] @ (n[i] + p[i])
                scores = torch.stack([q @ (w_k[head] @ (n[j] + p[j])) / 8**0.5 for j in range(i + 1)])
                heads.append(sum(weight * (w_v[head] @ n[j]) for j, weight in enumerate(scores.softmax(0))))
            rows.append(a.out.weight @ torch.cat(heads))
        h = h + torch.stack(rows)
        h = h + layer.feed_forward(layer.norm_feed_forward(h))
    assert torch.allclose(found[0], made.norm(h), atol=1e-6)


@torch.no_grad()
def test_positions_are_in_scores_and_in_nothing_else():
    """Where all scores are equal, the last state of a window does not depend on the order of what is before it."""
    made, tokens = network(layers=3), random_ids(1, 6)
    turned = tokens[:, [3, 1, 4, 0, 2, 5]]
    assert not torch.allclose(made.hidden(tokens)[0][:, -1], made.hidden(turned)[0][:, -1], atol=1e-3)
    for layer in made.blocks:
        layer.attention.key.weight.zero_()
    made.blocks = made.blocks[:1]  # deeper, states before the last one have seen other beginnings
    assert torch.allclose(made.hidden(tokens)[0][:, -1], made.hidden(turned)[0][:, -1], atol=1e-12)


@pytest.mark.parametrize("layers", [1, 3])
@torch.no_grad()
def test_a_memory_that_reaches_the_beginning_is_full_attention_however_deep(layers):
    made, tokens = network(layers=layers, memory=40), random_ids(2, 22)
    whole, parts, carry = made.hidden(tokens)[0], [], None
    for window in tokens.split(6, 1):
        hidden, carry = made.hidden(window, carry)
        parts.append(hidden)
    assert torch.allclose(torch.cat(parts, 1), whole, atol=1e-10)


def test_the_first_steps_read_short_windows_and_the_others_are_those_of_a_run_of_long_ones():
    short, long = Streams(1001, 4, 8, 3), Streams(1001, 16, 2, 3)
    plan = Staged(short, 300, long)  # more than an epoch of short windows
    for step in range(300):
        assert plan.batch(step).starts.tolist() == short.batch(step).starts.tolist()
        assert plan.fresh(step) == short.fresh(step)
    assert plan.fresh(300)
    for step in range(100):
        assert plan.batch(300 + step).starts.tolist() == long.batch(step).starts.tolist()
        assert plan.fresh(300 + step) == long.fresh(step)
    assert plan.batch(5).lengths.sum() == plan.batch(305).lengths.sum()


CHANGES = {"train.steps": 6, "train.short_steps": 3, "train.short_window": 8, "train.batch_tokens": 64}


def test_a_run_in_two_stages_goes_on_where_it_was(tmp_path):
    weights = []
    for name, stops in (("calm", ()), ("rough", (2, 5))):  # in the first stage, and in the second
        api.prepare("shortformer", "grammar", tmp_path / name, set=CHANGES, tiny=True, quiet=True)
        run = api.Run.open(tmp_path / name)
        training, _ = api.training_of(run, api.World(torch.device("cpu")))
        shapes = []
        for step in range(6):
            if step in stops:
                training.save(run)
                training, _ = api.training_of(run, api.World(torch.device("cpu")))
                assert training.restore(run)
            shapes.append(training.plan.batch(step)[""].lengths.tolist())
            training.step()
        assert shapes == [[8] * 8] * 3 + [[32] * 2] * 3
        weights.append(training.network.state_dict())
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_a_first_window_that_is_not_shorter_is_refused(tmp_path):
    with pytest.raises(UsageError, match=r"train\.short_window = 32 .* window of 32"):
        api.train("shortformer", "grammar", tmp_path / "run", set={"train.short_window": 32}, tiny=True, quiet=True)
    assert not (tmp_path / "run").exists()
