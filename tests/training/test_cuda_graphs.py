"""Recorded passes: the same steps as without, on a card where there is one, else with a stand-in for its graphs."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest
import torch

from lexigraph.errors import UsageError
from lexigraph.models.picture import Config, Objective, PictureAutoencoder
from lexigraph.recipe import Train
from lexigraph.text.batches import Rows
from lexigraph.training.cuda_graphs import Recorder
from lexigraph.training.distribution import World
from lexigraph.training.step import Training
from tests.ids import ids

ROWS = [np.array([2, *np.random.default_rng(i).integers(3, 40, 3 + i % 4), 2]) for i in range(16)]


class Plan:
    """Batches of two shapes in turn."""

    epoch_steps, tokens, many_shapes = 8, 0, True

    def batch(self, step):
        rows = np.arange(4 * (step % 2), 4 * (step % 2) + 4 + 2 * (step % 2))
        return {"": Rows(rows, np.array([len(ROWS[i]) - 1 for i in rows]))}

    def fresh(self, step):
        return True


def training(device="cpu", **settings):
    torch.manual_seed(0)
    config = Config(layers=1, heads=2, dim=16, side=16, context=12)
    network = PictureAutoencoder(config, Objective(noise_level=1.0), ids(40))
    train = Train(optimizer="muon", lr=1e-2, warmup=1, precision="fp32", device=device, **settings)
    return Training(network, Plan(), lambda rows, _: {"text": [ROWS[i] for i in rows[""].starts]}, train, 20,
                    World(torch.device(device)))  # fmt: skip


class StandIn:
    """What the recorder knows of a CUDA graph: `replay` runs the recorded pass again, at the same addresses."""

    def __init__(self, recorder):
        self.recorder = recorder

    def replay(self):
        recording = next(r for r in self.recorder.recordings.values() if r.graph is self)
        recording.loss.copy_(self.recorder._pass(recording.tensors, recording.counts))


def weights_after(run, steps=9):
    losses = [float(run.step()["loss"]) for _ in range(steps)]
    return losses, {name: value.clone() for name, value in run.network.state_dict().items()}


def test_replayed_steps_are_the_steps_themselves(monkeypatch):
    @contextmanager
    def graph(*_, **__):
        yield

    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(torch.cuda, "graph", graph)
    monkeypatch.setattr(torch.cuda, "Stream", lambda: None)
    monkeypatch.setattr(Recorder, "_aside", lambda self: graph())
    recorded = training()

    def run(tensors, counts):
        terms, _ = recorded.compiled(tensors, list(counts), None)
        loss = terms["loss"].total / counts["loss"]
        loss.backward()
        return loss.detach()

    recorded.recorder = Recorder(run, list(recorded.network.parameters()))
    monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: StandIn(recorded.recorder))
    losses, weights = weights_after(recorded)
    wanted_losses, wanted = weights_after(training())
    assert len(recorded.recorder.recordings) == 2  # one for each shape
    assert losses == pytest.approx(wanted_losses, rel=1e-6)
    for name, value in wanted.items():
        assert torch.allclose(weights[name], value, atol=1e-6), name


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_replayed_steps_are_the_steps_themselves_on_a_card():
    losses, weights = weights_after(training("cuda", cuda_graphs=True))
    wanted_losses, wanted = weights_after(training("cuda"))
    assert losses == pytest.approx(wanted_losses, rel=1e-3)
    for name, value in wanted.items():
        assert torch.allclose(weights[name], value, atol=1e-3), name


def test_they_are_refused_where_they_cannot_be():
    with pytest.raises(UsageError, match="one process on CUDA"):
        training(cuda_graphs=True)
