"""Gradients that flow back through time, and gates along a text."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

import lexigraph
from lexigraph.cli import app
from lexigraph.models.rnn_lm import Config, Objective, RecurrentLanguageModel
from lexigraph.text.vocabularies import Ids, Vocabularies
from lexigraph.views import gates, gradients

TEXT = "The cats , which already ate the fish , were hungry ."


def network(cell: str, layers: int = 1, **config) -> RecurrentLanguageModel:
    torch.manual_seed(0)
    settings = {"cell": cell, "layers": layers, "dim": 8, "scale": 0.5} | config
    return RecurrentLanguageModel(Config(**settings), Objective(), Vocabularies({"text": Ids(9)})).eval().double()


@pytest.mark.parametrize("factor", [1.01, 1.0, 0.99])
def test_the_gradient_is_multiplied_by_the_factor_of_each_step(factor):
    """The textbook line: with U = factor · 1 and units that are on, k steps back it is factor^k times as long."""
    made = network("irnn")
    with torch.no_grad():
        for name, weight in made.recurrent.named_parameters():
            weight.copy_(factor * torch.eye(8) if "weight_hh" in name else weight.abs())
        made.embedding.weight.abs_()
    ids = torch.from_numpy(np.random.default_rng(0).integers(3, 9, (3, 42)))
    norms = gradients.norms_of(*gradients.unrolled(made, ids))["h"]
    assert len(norms) == 40
    assert norms / norms[0] == pytest.approx(factor ** np.arange(40), rel=1e-6)
    assert round(1.01**1000) == 20_959
    assert round(0.99**1000, 5) == 0.00004


def test_all_singular_values_of_a_unitary_matrix_are_one():
    (values,) = gradients.singular_values(network("unitary")).values()
    assert values == pytest.approx(np.ones(8), abs=1e-5)
    assert len(gradients.singular_values(network("lstm", 2))) == 8  # of four gates in two layers


@pytest.mark.parametrize("cell", ["lstm", "lstm-peephole"])
def test_the_output_gate_is_what_stands_between_a_memory_and_its_state(cell):
    """h = o ⊙ tanh(c), at every step, whatever kernel computes it."""
    made = network(cell, 2)
    ids = torch.tensor([[2, 3, 4, 5, 6]])
    found = gates.gates_along(made, ids)
    step = made.start({"ids": ids[:, :1], "lengths": torch.tensor([1])})
    for t in range(4):
        step = made.step(step.state, ids[:, t + 1])
        for layer in range(2):
            h, c = (step.state.rows[name][0, layer] for name in "hc")
            assert torch.allclose(found[f"layer {layer + 1} output"][0, t] * c.tanh(), h)


def test_a_shut_update_gate_leaves_a_state_as_it_is():
    for cell in ("gru", "gru-before", "gru-simple"):
        made = network(cell)
        with torch.no_grad():
            for name, weight in made.recurrent.named_parameters():
                first = 0 if cell == "gru-simple" else 8
                if name.rpartition(".")[2] in ("bias", "bias_ih_l0"):
                    weight[first : first + 8] = 50.0  # z = 1
        ids = torch.tensor([[2, 3, 4]])
        update = gates.gates_along(made, ids)["update"]
        assert update.abs().max() < 1e-9
        step = made.start({"ids": ids[:, :1], "lengths": torch.tensor([1])})
        after = made.step(step.state, ids[:, 1])
        assert torch.allclose(after.state.rows["h"], step.state.rows["h"])


def test_saturation_counts_what_is_shut_and_open():
    assert gradients.saturation(torch.tensor([0.05, 0.5, 0.95, 0.99])) == (0.25, 0.5)


def test_a_run_is_looked_at_from_the_command_line(tiny_runs, tmp_path):
    run, out = str(tiny_runs("lstm-lm")), tmp_path / "flow.png"
    command = ["look", run, TEXT, "--gradients", "--steps", "10", "--beside", str(tiny_runs("rnn-lm"))]
    found = json.loads(CliRunner().invoke(app, [*command, "--out", str(out), "--json"]).stdout)
    lstm, rnn = found.values()
    assert len(lstm["norms"]["h"]) == len(lstm["norms"]["c"]) == len(rnn["norms"]["h"]) == 9
    assert set(lstm["gates"]) == {f"layer {n} {gate}" for n in (1, 2) for gate in ("input", "forget", "output")}
    assert rnn["gates"] == {}
    assert 0 < lstm["kept_by_clipping"] <= 1
    assert out.stat().st_size > 1000


def test_gates_are_listed_token_by_token(tiny_runs, tmp_path):
    run, out = tiny_runs("lstm-lm"), tmp_path / "gates.svg"
    shown = CliRunner().invoke(app, ["look", str(run), TEXT, "--gates", "--out", str(out)]).stdout.splitlines()
    tokens = lexigraph.load(run).tokenizer.encode(TEXT)
    assert len(shown) == 1 + len(tokens)
    assert out.read_text().lstrip().startswith("<?xml")
