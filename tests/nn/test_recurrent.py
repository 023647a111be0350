"""Recurrent layers equal torch's where torch has them, their equations elsewhere, and never see padding."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from torch import nn

from lexigraph.errors import UsageError
from lexigraph.nn.cells import CELLS, Unitary
from lexigraph.nn.recurrent import Recurrent, norm_changes
from lexigraph.nn.scan import by_autograd, recur

PEERS = {
    "rnn": nn.RNN,
    "rnn-relu": lambda *sizes, **shape: nn.RNN(*sizes, nonlinearity="relu", **shape),
    "lstm": nn.LSTM,
    "gru": nn.GRU,
}
LENGTHS = torch.tensor([4, 7, 1])


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def with_weights(layers: Recurrent) -> Recurrent:
    """Large weights, so that every gate matters."""
    for number, parameter in enumerate(layers.parameters()):
        parameter.data = drawn(*parameter.shape, seed=number) * 0.5
    return layers


def like(peer: nn.RNNBase, layers: Recurrent) -> Recurrent:
    """The weights of a peer: of its two biases, ours keeps the sum, but inside a GRU's reset."""
    given = dict(peer.named_parameters())
    with torch.no_grad():
        for number, block in enumerate(layers.blocks):
            for direction, cell in enumerate(block.cells):
                end = f"_l{number}" + "_reverse" * direction
                inner, dim = given[f"bias_hh{end}"], layers.dim
                cell.weight_ih.copy_(given[f"weight_ih{end}"])
                cell.weight_hh.copy_(given[f"weight_hh{end}"])
                cell.bias.copy_(given[f"bias_ih{end}"] + inner)
                if cell.weight_hr is not None:
                    cell.weight_hr.copy_(given[f"weight_hr{end}"])
                if layers.cell == "gru":
                    cell.bias[2 * dim :] -= inner[2 * dim :]
                    cell.bias_reset.copy_(inner[2 * dim :])
    return layers


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize(("cell", "projection"), [*((cell, 0) for cell in PEERS), ("lstm", 3)])
def test_scans_equal_torch(cell, projection, layers, bidirectional):
    shape = {"num_layers": layers, "bidirectional": bidirectional, "batch_first": True}
    peer = PEERS[cell](4, 6, **shape, **({"proj_size": projection} if projection else {})).double()
    ours = Recurrent(cell, 4, 6, layers, bidirectional=bidirectional, projection=projection, fused=False).double()
    like(peer, ours)
    x = drawn(3, 7, 4)
    packed = nn.utils.rnn.pack_padded_sequence(x, LENGTHS, batch_first=True, enforce_sorted=False)
    for given, lengths in ((x, None), (packed, LENGTHS)):
        expected, end = peer(given)
        if lengths is not None:
            expected, _ = nn.utils.rnn.pad_packed_sequence(expected, batch_first=True)
        outputs, state = ours(x, lengths)
        assert torch.allclose(outputs, expected, atol=1e-12)
        for name, values in zip("hc", end if isinstance(end, tuple) else (end,), strict=False):
            assert torch.allclose(state[name].transpose(0, 1), values, atol=1e-12)


@pytest.mark.parametrize("cell", PEERS)
def test_kernels_equal_torch_and_the_scan_in_single_precision(cell):
    torch.manual_seed(0)
    fused = Recurrent(cell, 4, 6, 2, bidirectional=True)
    kernel = fused.blocks[0].kernel
    scan = like(kernel, Recurrent(cell, 4, 6, 2, bidirectional=True, fused=False))
    x = drawn(3, 7, 4).float()
    (one, first), (other, second) = fused(x, LENGTHS), scan(x, LENGTHS)
    assert torch.allclose(one, other, atol=1e-6)
    assert all(torch.allclose(first[name], second[name], atol=1e-6) for name in first)
    assert torch.equal(fused(x)[0], kernel(x)[0])


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def loop(cell: str, x: np.ndarray, W: np.ndarray, U: np.ndarray, b: np.ndarray, p: np.ndarray | None) -> np.ndarray:
    """The equations as papers write them, one vector at a time."""
    d = U.shape[1]
    h, c, outputs = np.zeros(d), np.zeros(d), []
    for x_t in x:
        a, u = (m.reshape(-1, d) for m in (W @ x_t + b, U @ h))
        if cell == "gru-before":  # Cho et al. (2014); z and 1 - z swapped, as torch has them
            r, z = sigmoid(a[0] + u[0]), sigmoid(a[1] + u[1])
            h = (1 - z) * np.tanh(a[2] + U[2 * d :] @ (r * h)) + z * h
        elif cell == "gru-simple":
            z = sigmoid(a[0] + u[0])
            h = (1 - z) * np.tanh(a[1] + u[1]) + z * h
        else:
            i, f, g, o = a + u
            new = sigmoid(f + p[1] * c) * c + sigmoid(i + p[0] * c) * np.tanh(g)
            c, h = new, sigmoid(o + p[2] * new) * np.tanh(new)
        outputs.append(h)
    return np.array(outputs)


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize(("cell", "projection"), [*((cell, 0) for cell in PEERS), ("lstm", 3)])
def test_a_single_step_without_gradients_is_the_kernels(cell, projection, layers):
    ours = Recurrent(cell, 4, 6, layers, projection=projection).eval()
    x = drawn(3, 5, 4).float()
    whole, end = ours(x)
    state, outputs = None, []
    with torch.no_grad():
        for now in x.split(1, 1):
            output, state = ours(now, state=state)
            outputs.append(output)
    assert torch.allclose(torch.cat(outputs, 1), whole, atol=1e-6)
    assert all(torch.allclose(state[name], end[name], atol=1e-6) for name in end)


@pytest.mark.parametrize("cell", ["gru-before", "gru-simple", "lstm-peephole"])
def test_cells_that_torch_lacks_follow_their_equations(cell):
    layers = with_weights(Recurrent(cell, 4, 6))
    weights = {name.rpartition(".")[2]: weight.detach().numpy() for name, weight in layers.named_parameters()}
    x = drawn(1, 7, 4)
    names = ("weight_ih", "weight_hh", "bias")
    expected = loop(cell, x[0].numpy(), *(weights[name] for name in names), weights.get("peepholes"))
    assert np.abs(layers(x)[0][0].detach().numpy() - expected).max() < 1e-12


def test_the_unitary_cell_follows_its_equations_in_complex_numbers():
    """h = modReLU(W x + b + U h') with U = (1 + A)⁻¹ (1 - A) diagonal(exp(i φ)) and A = S - Sᴴ."""
    layers = with_weights(Recurrent("unitary", 4, 6))
    weights = {name.rpartition(".")[2]: weight.detach().numpy() for name, weight in layers.named_parameters()}
    S, one = weights["skew"][0] + 1j * weights["skew"][1], np.eye(3)
    A = S - S.conj().T
    U = np.linalg.inv(one + A) @ (one - A) @ np.diag(np.exp(1j * weights["phases"]))
    W, b = (weights[name][:3] + 1j * weights[name][3:] for name in ("weight_ih", "bias"))
    x, h = drawn(1, 7, 4), np.zeros(3, complex)
    outputs = layers(x)[0][0].detach().numpy()
    for x_t, found in zip(x[0].numpy(), outputs, strict=True):
        z = W @ x_t + b + U @ h
        h = np.maximum(0, np.abs(z) + weights["threshold"]) * z / np.abs(z)
        assert np.abs(found - np.concatenate([h.real, h.imag])).max() < 1e-7  # there, |z| has a little added


# ---- what holds for every cell -------------------------------------------------------------------------------

SHAPES = {
    "two-layers": {"layers": 2},
    "both-directions": {"layers": 2, "bidirectional": True},
    "average": {"layers": 2, "bidirectional": True, "merge": "average", "learned_start": True},
    "given": {"given": 3},
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("cell", CELLS)
def test_padding_is_never_seen(cell, shape):
    layers = with_weights(Recurrent(cell, 4, 6, **SHAPES[shape]))
    x, given = drawn(3, 7, 4), drawn(3, 3) if shape == "given" else None
    outputs, state = layers(x, LENGTHS, None, given)
    assert outputs.shape == (3, 7, layers.width)
    for row, length in enumerate(LENGTHS.tolist()):
        alone, end = layers(x[[row], :length], given=None if given is None else given[[row]])
        assert torch.allclose(outputs[row, :length], alone[0], atol=1e-12)
        assert not outputs[row, length:].any()
        assert all(torch.allclose(state[name][row], end[name][0], atol=1e-12) for name in end)
    outputs.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in layers.parameters())


@pytest.mark.parametrize("cell", CELLS)
def test_a_text_read_in_two_windows_is_read_as_a_whole(cell):
    layers = with_weights(Recurrent(cell, 4, 6, 2))
    x = drawn(3, 7, 4)
    whole, end = layers(x)
    first, state = layers(x[:, :3])
    second, after = layers(x[:, 3:], None, dict(sorted(state.items())))  # as a checkpoint gives it back
    assert torch.allclose(torch.cat([first, second], 1), whole, atol=1e-12)
    assert all(torch.allclose(end[name], after[name], atol=1e-12) for name in end)


def test_what_is_given_goes_into_every_step():
    layers = with_weights(Recurrent("rnn-relu", 2, 4, given=1))
    x, given = drawn(1, 5, 2), drawn(1, 1)
    repeated = torch.cat([x, given[:, None].expand(1, 5, 1)], 2)
    assert torch.equal(layers(x, given=given)[0], layers(repeated)[0])


def test_what_is_given_may_differ_from_step_to_step_and_go_into_every_layer():
    layers = with_weights(Recurrent("rnn-relu", 2, 4, 2, given=1, given_to_all=True))
    lower, upper = (Recurrent("rnn-relu", inputs + 1, 4).double() for inputs in (2, 4))
    lower.blocks[0], upper.blocks[0] = layers.blocks
    x, given = drawn(3, 7, 2), drawn(3, 7, 1, seed=1)
    between, _ = lower(torch.cat([x, given], 2), LENGTHS)
    assert torch.equal(layers(x, LENGTHS, given=given)[0], upper(torch.cat([between, given], 2), LENGTHS)[0])


def test_from_the_residual_layer_on_what_goes_in_is_added_to_what_comes_out():
    layers = with_weights(Recurrent("rnn-relu", 4, 4, 3, residual=2))
    apart = [Recurrent("rnn-relu", 4, 4).double() for _ in range(3)]
    for layer, block in zip(apart, layers.blocks, strict=True):
        layer.blocks[0] = block
    x = drawn(3, 7, 4)
    first = apart[0](x, LENGTHS)[0]
    second = apart[1](first, LENGTHS)[0] + first
    third = apart[2](second, LENGTHS)[0] + second
    assert torch.equal(layers(x, LENGTHS)[0], third)


def test_the_two_directions_are_averaged_or_stand_side_by_side():
    apart, together = (
        with_weights(Recurrent("gru", 4, 6, bidirectional=True, merge=merge)) for merge in ("concatenate", "average")
    )
    x = drawn(3, 7, 4)
    assert torch.allclose(apart(x)[0].unflatten(2, (2, 6)).mean(2), together(x)[0])


def test_a_learned_start_is_the_state_that_texts_begin_from():
    layers = with_weights(Recurrent("lstm", 4, 6, 2, learned_start=True))
    state = {name: start.expand(3, -1, -1) for name, start in layers.start.items()}
    without = Recurrent("lstm", 4, 6, 2).double()
    without.load_state_dict({name: w for name, w in layers.state_dict().items() if "start" not in name})
    x = drawn(3, 7, 4)
    assert torch.equal(layers(x)[0], without(x, state=state)[0])
    assert not torch.allclose(layers(x)[0], without(x)[0])


def test_locked_dropout_sets_the_same_numbers_to_zero_at_all_times():
    torch.manual_seed(0)
    layers = Recurrent("rnn-relu", 50, 4, dropout=0.5, locked=True)
    seen: list[torch.Tensor] = []
    layers.blocks[0].register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    layers(torch.ones(2, 6, 50))
    (x,) = seen
    assert torch.equal(x, x[:, :1].expand_as(x))
    assert set(x.unique().tolist()) == {0.0, 2.0}
    assert not torch.equal(x[0], x[1])
    layers.eval()(torch.ones(2, 6, 50))
    assert (seen[1] == 1).all()


# ---- cells by their properties -------------------------------------------------------------------------------


def test_the_recurrent_matrix_of_a_unitary_cell_is_unitary():
    (cell,) = with_weights(Recurrent("unitary", 4, 16)).blocks[0].cells
    U = cell.recurrent_matrix()
    assert torch.allclose(torch.linalg.svdvals(U), torch.ones(16, dtype=torch.float64))
    assert torch.allclose(torch.linalg.eigvals(U).abs(), torch.ones(16, dtype=torch.float64))


def test_a_unitary_state_keeps_its_norm_where_nothing_is_read():
    layers = with_weights(Recurrent("unitary", 4, 16))
    for cell in layers.modules():
        if isinstance(cell, Unitary):
            nn.init.zeros_(cell.threshold)
            nn.init.zeros_(cell.bias)
    outputs, _ = layers(torch.zeros(1, 100, 4, dtype=torch.float64), state={"h": drawn(1, 1, 16)})
    norms = outputs[0].norm(dim=1)
    assert torch.allclose(norms, drawn(1, 1, 16).norm().expand(100), rtol=1e-5)


def test_an_irnn_begins_by_adding_up_what_it_reads():
    layers = Recurrent("irnn", 6, 6)
    nn.init.eye_(layers.blocks[0].kernel.weight_ih_l0)
    x = torch.rand(2, 9, 6)
    assert torch.allclose(layers(x)[0], x.cumsum(1), atol=1e-5)


@pytest.mark.parametrize("fused", [True, False])
def test_a_forget_gate_begins_as_open_as_its_bias_says(fused):
    layers = Recurrent("lstm", 4, 6, forget_bias=1.5, fused=fused).double()
    for name, parameter in layers.named_parameters():
        if "weight" in name:
            nn.init.zeros_(parameter)  # so that g = tanh(bias of g) and i = σ(bias of i)
    c = drawn(1, 1, 6)
    nothing = torch.zeros(1, 1, 4, dtype=torch.float64)
    ends = [
        layers(nothing, state={"h": torch.zeros_like(c), "c": start})[1]["c"] for start in (c, torch.zeros_like(c))
    ]
    assert torch.allclose(ends[0] - ends[1], c * sigmoid(np.array(1.5)).item())


@pytest.mark.parametrize("act", ["tanh", "relu", "modrelu"])
def test_the_gradient_of_the_scan_is_that_of_its_equation(act):
    inputs = [drawn(7, 3, 8), drawn(3, 8, seed=1), drawn(8, 8, seed=2) * 0.4]
    if act == "modrelu":
        inputs.append(drawn(4, seed=3))
    for tensor in inputs:
        tensor.requires_grad_()
    upstream = drawn(7, 3, 8, seed=4)
    a, start, U, *threshold = inputs
    found, expected = (
        torch.autograd.grad(function(a, start, U, act, *threshold), inputs, upstream)
        for function in (recur, by_autograd)
    )
    for one, other in zip(found, expected, strict=True):
        assert torch.allclose(one, other, atol=1e-12)


COMPILED = """
import torch
from lexigraph.nn.recurrent import Recurrent

for cell in ("unitary", "gru-before"):  # the two kinds of scan: with its own gradient, and step by step
    layers, x = Recurrent(cell, 4, 6).double(), torch.randn(3, 5, 4, dtype=torch.float64)
    compiled = torch.compile(layers, backend="aot_eager", fullgraph=True)
    both = [network(x)[0] for network in (layers, compiled)]
    gradients = [torch.autograd.grad(outputs.square().sum(), list(layers.parameters())) for outputs in both]
    torch.testing.assert_close(*both, rtol=0, atol=1e-12)
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-10)
"""


def test_scans_compile_as_one_graph_to_the_same_numbers_and_gradients():
    """In a process of its own: the checks of shapes that tests run with are no part of a graph."""
    subprocess.run([sys.executable, "-c", COMPILED], check=True)


def test_the_norm_stabiliser_counts_changes_of_norm_inside_the_texts():
    outputs = torch.tensor([[[3.0, 4.0], [0.0, 1.0], [2.0, 0.0]], [[1.0, 0.0], [0.0, 2.0], [9.0, 9.0]]])
    lengths = torch.tensor([3, 2])
    assert norm_changes(outputs, lengths) == (5 - 1) ** 2 + (1 - 2) ** 2 + (1 - 2) ** 2
    before = torch.tensor([[0.0, 2.0], [1.0, 0.0]])
    assert norm_changes(outputs, lengths, before) == 18 + (5 - 2) ** 2


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"cell": "gur"}, "did you mean 'gru'"),
        ({"cell": "unitary", "dim": 7}, "two real ones each: 7 is odd"),
        ({"cell": "gru", "projection": 2}, "leave projection at 0 for gru"),
        ({"cell": "gru", "forget_bias": 1.0}, "leave forget_bias at 0 for gru"),
        ({"cell": "lstm", "projection": 6}, "must be below 6"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(asked, says):
    with pytest.raises(UsageError, match=says):
        Recurrent(**{"cell": "rnn", "inputs": 4, "dim": 6} | asked)
