"""The gates of a recurrent language model along a text, as its equations (nn/cells.py) compute them.

    LSTM    i, f, o = σ(W x_t + U h' + b)         what is written, what is kept, what is shown
    GRU     r, z    = σ(W x_t + U h' + b)         1 - z is the update gate: open, the state is written anew

A sentence whose verb stands far from its subject shows what they are for: open where the number of the noun is read
and where the verb asks for it, shut between.

Shapes: R rows, T tokens, `later` those after the first, d width of a memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int, Integer
from torch import Tensor, nn

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.models.rnn_lm import RecurrentLanguageModel
from lexigraph.nn.network import Decoder
from lexigraph.nn.recurrent import Fused, Recurrent, Scan
from lexigraph.views.picture import Picture, heat_figure, heat_table, made_by

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GATES = {  # by cell: what stands in which block of its weights
    "lstm": {"input": 0, "forget": 1, "output": 3},
    "lstm-peephole": {"input": 0, "forget": 1, "output": 3},
    "gru": {"reset": 0, "update": 1},
    "gru-before": {"reset": 0, "update": 1},
    "gru-simple": {"update": 0},
}
PEEPHOLES = ("input", "forget", "output")
Values = dict[str, Float[Tensor, "R later d"]]


@dataclass(frozen=True)
class Along:
    """A text's tokens, and of each gate its values when each of them is read."""

    tokens: list[str]
    values: dict[str, Float[np.ndarray, "T d"]]


def along(model: TextModel, text: str) -> Along:
    """The gates while a text is read."""
    row = model.rows([text])[0][0]
    if not isinstance(model.network, RecurrentLanguageModel):
        raise UsageError(
            f"This {model.recipe.system} model has no gates along a text: take a recurrent language model."
        )
    found = gates_of(model, row)
    if not found:
        raise UsageError(f"Its cell, {model.recipe.model.cell}, has no gates: those of lstm and gru have.")
    return Along(model.tokenizer.tokens(row.tolist()), found)


def gates_of(model: TextModel, row: Integer[np.ndarray, " T"]) -> dict[str, Float[np.ndarray, "T d"]]:
    """The same of tokens of a recurrent language model; nothing, if its cell has no gates."""
    assert isinstance(model.network, RecurrentLanguageModel)
    ids = torch.tensor([[model.tokenizer.eos, *row.tolist()]], device=model.device)
    with torch.no_grad():
        found = gates_along(model.network, ids)
    return {gate: values[0].cpu().numpy() for gate, values in found.items()}


def recurrent_of(network: nn.Module) -> Recurrent | None:
    """The recurrent layers of a network, if it has some."""
    return next((module for module in network.modules() if isinstance(module, Recurrent)), None)


def gates_along(network: Decoder, ids: Int[Tensor, "R T"]) -> Values:
    """Of each gate its values at every token but the first, which is read from no state."""
    recurrent = recurrent_of(network)
    if recurrent is None or recurrent.cell not in GATES:
        return {}
    ones = torch.ones(len(ids), dtype=torch.long, device=ids.device)
    step = network.start({"ids": ids[:, :1], "lengths": ones})
    states = [step.state.rows]
    for column in ids[:, 1:].unbind(1):
        step = network.step(step.state, column)
        states.append(step.state.rows)
    h = torch.stack([state["h"] for state in states], 2)  # (R, layers, T, d)
    c = torch.stack([state["c"] for state in states], 2) if "c" in states[0] else None
    x, found = network.get_submodule("embedding")(ids)[:, 1:], {}
    for layer, weights in enumerate(layers_of(recurrent)):
        inside = nn.functional.linear(x, weights.inputs, weights.bias)
        inside = inside + nn.functional.linear(h[:, layer, :-1], weights.states)
        blocks = inside.split(recurrent.dim, 2)
        for gate, block in GATES[recurrent.cell].items():
            value = blocks[block]
            if weights.peepholes is not None and c is not None:
                seen = c[:, layer, 1:] if gate == "output" else c[:, layer, :-1]
                value = value + weights.peepholes[PEEPHOLES.index(gate)] * seen
            value = value.sigmoid()
            name = f"layer {layer + 1} {gate}" if len(states[0]["h"][0]) > 1 else gate
            found[name] = 1 - value if gate == "update" else value
        x = h[:, layer, 1:]
    return found


@dataclass(frozen=True)
class Layer:
    """The weights of a layer of recurrence."""

    inputs: Float[Tensor, "Gd i"]
    states: Float[Tensor, "Gd h"]
    bias: Float[Tensor, " Gd"]
    peepholes: Float[Tensor, "3 d"] | None = None


def layers_of(recurrent: Recurrent) -> list[Layer]:
    """Layer by layer, on torch's kernels or on a scan."""
    found = []
    for block in recurrent.blocks:
        if isinstance(block, Fused):
            named = dict(block.kernel.named_parameters())
            for k in range(block.kernel.num_layers):
                bias = named[f"bias_ih_l{k}"] + named[f"bias_hh_l{k}"]
                found.append(Layer(named[f"weight_ih_l{k}"], named[f"weight_hh_l{k}"], bias))
        elif isinstance(block, Scan):
            named = dict(block.cells[0].named_parameters())
            found.append(Layer(named["weight_ih"], named["weight_hh"], named["bias"], named.get("peepholes")))
    return found


def picture(model: TextModel, found: Along) -> Picture:
    """The mean of each gate at each token, dark where it is open."""
    means = np.stack([values.mean(1) for values in found.values.values()])
    names, tokens = list(found.values), found.tokens

    def figure() -> Figure:
        return heat_figure(means, names, tokens, "mean over units")

    def sections() -> Mapping[str, str]:
        return {"": heat_table(means, names, tokens)}

    lead = "Dark where a gate is open, the mean over its units: what is written, kept and shown at each token."
    return Picture("Gates along a text", lead, made_by(model), figure, sections, {"tokens": len(tokens)})
