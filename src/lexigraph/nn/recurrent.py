"""Recurrent layers: a cell read along texts, one layer above the other, in one direction or in both.

    layers = Recurrent("gru", inputs=100, dim=128, layers=2, bidirectional=True)
    outputs, state = layers(x, lengths)            # (B, T, layers.width), {"h": (B, 4, 128)}

rnn, rnn-relu, irnn, lstm and gru run on torch's fused kernels, the others on the scans of cells.py. Padding is never
seen: outputs are those of the text alone, zero behind its end, and a state is that at the text's own end. A state is
a dictionary whose first axis is the row, as carries and steppers have it.

Shapes: B batch, T time, L layers times directions; widths: i of an input, h of a state, d of a memory, g of `given`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lexigraph.errors import UsageError
from lexigraph.nn.cells import CELLS, Cell, Unitary
from lexigraph.nn.linear import linear
from lexigraph.registry import nearest

State = dict[str, Tensor]  # "h", (B, L, h), and "c", (B, L, d), where the cell has a memory
Lengths = Int[Tensor, " B"] | None
KERNELS = ("rnn", "rnn-relu", "irnn", "lstm", "gru")  # the cells that torch has
warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN")  # it is only slower
SHUT = -1e4  # a gate whose input is that small is 0 to the last bit


class Recurrent(nn.Module):
    """Layers of one cell. Dropout falls on what goes up, between layers, never on what goes on in time."""

    def __init__(
        self,
        cell: str,
        inputs: int,
        dim: int,
        layers: int = 1,
        *,
        bidirectional: bool = False,
        merge: Literal["concatenate", "average"] = "concatenate",  # of the two directions
        dropout: float = 0.0,
        locked: bool = False,  # one mask for all times of a row, and on the inputs too (Gal & Ghahramani 2016)
        projection: int = 0,  # of an LSTM: h has so many numbers, where c has dim
        learned_start: bool = False,
        forget_bias: float = 0.0,  # of an LSTM's forget gate at the start; 0: drawn like the others
        given: int = 0,  # numbers in a vector that goes into every step, beside the input
        given_to_all: bool = False,  # to every layer, not only to the first
        residual: int = 0,  # from this layer on (1: the first), its input is added to its output; 0: never
        fused: bool = True,  # on torch's kernels, where it has the cell
    ) -> None:
        super().__init__()
        _check(cell, dim, projection, forget_bias)
        fused = fused and cell in KERNELS
        self.cell, self.dim, self.state_width = cell, dim, projection or dim
        self.given, self.given_to_all, self.residual = given, given_to_all, residual
        self.directions, self.average = 1 + bidirectional, bidirectional and merge == "average"
        self.width = self.state_width * (1 if self.average else self.directions)
        self.dropout, self.locked, self.forget_bias = dropout, locked, forget_bias
        in_between = self.average or locked or given_to_all or 0 < residual <= layers
        at_once = layers if fused and not in_between else 1  # layers of a kernel
        self.blocks = nn.ModuleList()
        for number in range(layers // at_once):
            wide = inputs if number == 0 else self.width
            wide += given if number == 0 or given_to_all else 0
            if fused:
                between = dropout if at_once > 1 else 0.0
                self.blocks.append(Fused(cell, wide, dim, at_once, between, bidirectional, projection))
            else:
                self.blocks.append(Scan(cell, wide, dim, bidirectional, projection))
        sizes = {"h": self.state_width} | ({"c": dim} if CELLS[cell].memory else {})
        rows = layers * self.directions
        learned = sizes if learned_start else {}
        self.start = nn.ParameterDict({name: nn.Parameter(torch.zeros(rows, size)) for name, size in learned.items()})
        self.own_start()

    def own_start(self) -> None:
        """Set the weights that a cell does not leave to chance; again, where all have been drawn anew."""
        forget = slice(self.dim, 2 * self.dim)
        with torch.no_grad():
            for path, weight in self.blocks.named_parameters():
                name = path.rpartition(".")[2]
                if self.cell == "irnn" and name.startswith("weight_hh"):
                    nn.init.eye_(weight)
                if self.cell == "irnn" and name.startswith("bias"):
                    nn.init.zeros_(weight)
                if self.forget_bias and name.startswith("bias"):  # torch's kernels add two
                    nn.init.constant_(weight[forget], 0.0 if name.startswith("bias_hh") else self.forget_bias)
            for start in self.start.values():
                nn.init.zeros_(start)
            for module in self.modules():
                if isinstance(module, Unitary):
                    module.own_start()

    def forward(
        self,
        x: Float[Tensor, "B T i"],
        lengths: Lengths = None,
        state: State | None = None,
        given: Float[Tensor, "B g"] | Float[Tensor, "B T g"] | None = None,
    ) -> tuple[Float[Tensor, "B T width"], State]:
        """The top layer's outputs at all times, and the states of all layers at the end of each row."""
        if given is not None and given.ndim == 2:
            given = given.unsqueeze(1).expand(-1, x.shape[1], -1)
        if state is None and self.start:
            state = {name: start.expand(len(x), -1, -1) for name, start in self.start.items()}
        ends: list[State] = []
        for number in range(len(self.blocks)):
            x, end = self.through(number, x, lengths, state, given)
            ends.append(end)
        return x, {name: torch.cat([end[name] for end in ends], 1) for name in ends[0]} if ends[1:] else ends[0]

    def through(
        self,
        number: int,
        x: Float[Tensor, "B T i"],
        lengths: Lengths = None,
        state: State | None = None,
        given: Float[Tensor, "B T g"] | None = None,
    ) -> tuple[Float[Tensor, "B T _"], State]:
        """The outputs of one block, and its states at the end of each row; `state` is that of all blocks."""
        block = cast(Fused | Scan, self.blocks[number])
        rows = slice(number * block.rows, (number + 1) * block.rows)
        begin = None if state is None else {name: value[:, rows] for name, value in state.items()}
        into = self._dropped(x, number)
        if given is not None and (number == 0 or self.given_to_all):
            into = torch.cat([into, given], 2)
        out, end = block(into, lengths, begin)
        if self.average:
            out = out.unflatten(2, (2, -1)).mean(2)
        return out + x if 0 < self.residual <= number + 1 else out, end

    def _dropped(self, x: Float[Tensor, "B T i"], number: int) -> Float[Tensor, "B T i"]:
        """What goes into a block, with some numbers set to 0."""
        if self.locked:
            return locked_dropout(x, self.dropout, self.training)
        return F.dropout(x, self.dropout, self.training) if number else x


class Stack(nn.ModuleList):
    """Recurrent layers one above the other that need not read in as many directions. A state has a row for each
    layer, both its directions side by side."""

    def __init__(self, parts: Iterable[Recurrent], dropout: float = 0.0) -> None:
        super().__init__(parts)
        self.dropout = dropout  # between parts; inside, each has its own

    @property
    def places(self) -> list[tuple[Recurrent, int]]:
        """All blocks from the bottom up: the part that each is in, and its number there."""
        return [(part, number) for part in cast(list[Recurrent], list(self)) for number in range(len(part.blocks))]

    def forward(self, x: Float[Tensor, "B T i"], lengths: Lengths = None) -> tuple[Float[Tensor, "B T _"], State]:
        state: State = {}
        for number in range(len(self.places)):
            x, state = self.through(number, x, lengths, state)
        return x, state

    def through(
        self, number: int, x: Float[Tensor, "B T i"], lengths: Lengths, state: State
    ) -> tuple[Float[Tensor, "B T _"], State]:
        """One block more: its outputs, and the states of all up to it."""
        part, own = self.places[number]
        x = F.dropout(x, self.dropout, self.training) if number and not own else x
        x, end = part.through(own, x, lengths)
        joined = {name: value.unflatten(1, (-1, part.directions)).flatten(2) for name, value in end.items()}
        return x, {name: torch.cat([state[name], each], 1) if state else each for name, each in joined.items()}


class Fused(nn.Module):
    """Layers on one of torch's kernels."""

    def __init__(
        self, cell: str, inputs: int, dim: int, layers: int, dropout: float, bidirectional: bool, projection: int
    ) -> None:
        super().__init__()
        self.rows = layers * (1 + bidirectional)
        self.widths = {"h": projection or dim} | ({"c": dim} if cell == "lstm" else {})
        shape = {"num_layers": layers, "dropout": dropout, "bidirectional": bidirectional, "batch_first": True}
        self.kernel: nn.RNNBase
        if cell == "lstm":
            self.kernel = nn.LSTM(inputs, dim, proj_size=projection, **shape)
        elif cell == "gru":
            self.kernel = nn.GRU(inputs, dim, **shape)
        else:
            self.kernel = nn.RNN(inputs, dim, nonlinearity="tanh" if cell == "rnn" else "relu", **shape)

    def forward(
        self, x: Float[Tensor, "B T i"], lengths: Lengths, state: State | None
    ) -> tuple[Float[Tensor, "B T _"], State]:
        if lengths is not None and bool((lengths == x.shape[1]).all()):
            lengths = None
        if self._steps(x, lengths):
            return self._step(x, state)
        if lengths is not None and x.device.type == "cpu":
            return self._over_padding(x, lengths, state)
        parts = None if state is None else [part.transpose(0, 1).contiguous() for part in _in_order(state)]
        start = parts if parts is None or parts[1:] else parts[0]
        if lengths is None:
            outputs, end = self.kernel(x, start)
        else:
            packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
            outputs, end = self.kernel(packed, start)
            outputs, _ = pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])
        ends = end if isinstance(end, tuple) else (end,)
        return outputs, {name: value.transpose(0, 1) for name, value in zip("hc", ends, strict=False)}

    def _steps(self, x: Float[Tensor, "B T i"], lengths: Lengths) -> bool:
        """Whether this is one step of a search on a CPU: kernels made for whole texts take twice as long for it."""
        if x.shape[1] > 1 or lengths is not None or torch.is_grad_enabled():
            return False
        return x.is_cpu and x.dtype == torch.float32 and not self.kernel.bidirectional

    def _step(self, x: Float[Tensor, "B 1 i"], state: State | None) -> tuple[Float[Tensor, "B 1 h"], State]:
        """One step, from weights that are laid out for it (nn/linear.py)."""
        weights = cast(list[Tensor], self.kernel._flat_weights)
        now, own = x[:, 0], len(weights) // self.rows
        start = {name: x.new_zeros(len(x), self.rows, width) for name, width in self.widths.items()}
        before, ends = state or start, list[tuple[Tensor, ...]]()
        for layer in range(self.rows):
            w_x, w_h, b_x, b_h, *project = weights[layer * own : (layer + 1) * own]
            h, inside = before["h"][:, layer], linear(now, w_x, b_x)
            gates = linear(h, w_h, b_h)
            if self.kernel.mode == "LSTM":
                i, f, g, o = (inside + gates).chunk(4, 1)
                c = f.sigmoid() * before["c"][:, layer] + i.sigmoid() * g.tanh()
                now = o.sigmoid() * c.tanh()
                now = linear(now, project[0]) if project else now
                ends.append((now, c))
                continue
            if self.kernel.mode == "GRU":
                (r_x, z_x, n_x), (r_h, z_h, n_h) = inside.chunk(3, 1), gates.chunk(3, 1)
                z, new = (z_x + z_h).sigmoid(), (n_x + (r_x + r_h).sigmoid() * n_h).tanh()
                now = new + z * (h - new)
            else:
                now = (inside + gates).tanh() if self.kernel.mode == "RNN_TANH" else (inside + gates).relu()
            ends.append((now,))
        return now[:, None], {
            name: torch.stack(each, 1) for name, each in zip(self.widths, zip(*ends, strict=True), strict=True)
        }

    def _over_padding(
        self, x: Float[Tensor, "B T i"], lengths: Int[Tensor, " B"], state: State | None
    ) -> tuple[Float[Tensor, "B T _"], State]:
        """Rows of different lengths on a CPU, where packing costs two to three times what steps over padding do.

        Padding stands behind a row in both directions, and what is read there is cut off.
        """
        kernel, directions = self.kernel, 1 + self.kernel.bidirectional
        outside = (torch.arange(x.shape[1]) >= lengths[:, None])[:, :, None]
        start = {name: x.new_zeros(len(x), self.rows, width) for name, width in self.widths.items()}
        begin = _in_order(state or start)
        ends: list[list[Tensor]] = []
        for layer in range(kernel.num_layers):
            x = F.dropout(x, kernel.dropout, self.training) if layer else x
            outputs = []
            for direction in range(directions):
                row = layer * directions + direction
                at = [part[:, row].unsqueeze(0).contiguous() for part in begin]
                found, memory = self._direction(backwards(x, lengths) if direction else x, outside, row, at)
                ends.append([at_end(found, lengths), *memory])
                found = found.masked_fill(outside, 0.0)
                outputs.append(backwards(found, lengths) if direction else found)
            x = torch.cat(outputs, 2)
        return x, {
            name: torch.stack(each, 1) for name, each in zip(self.widths, zip(*ends, strict=True), strict=True)
        }

    def _direction(
        self, x: Float[Tensor, "B T i"], outside: Bool[Tensor, "B T 1"], row: int, start: list[Tensor]
    ) -> tuple[Float[Tensor, "B T h"], list[Float[Tensor, "B d"]]]:
        """One direction of one layer; and an LSTM's memory c at the end of each row, which outputs do not show.

        To be still there behind the padding, c must not change in it: an input that is 1 in padding alone shuts the
        input gate (σ is 0) and opens the forget gate (σ is 1).
        """
        kernel = self.kernel
        own = len(kernel._flat_weights) // self.rows
        weights = [cast(Tensor, weight) for weight in kernel._flat_weights[row * own : (row + 1) * own]]
        options = (True, 1, 0.0, self.training, False, True)  # biases, a layer, no dropout, one direction, rows first
        if kernel.mode != "LSTM":
            run = {"GRU": torch.gru, "RNN_TANH": torch.rnn_tanh, "RNN_RELU": torch.rnn_relu}[kernel.mode]
            return run(x, start[0], weights, *options)[0], []
        gate = weights[0].new_full((kernel.hidden_size, 1), SHUT)
        weights[0] = torch.cat([weights[0], torch.cat([gate, -gate, 0 * gate, 0 * gate])], 1)
        outputs, _, c = torch.lstm(torch.cat([x, outside.to(x)], 2), start, weights, *options)
        return outputs, [c[0]]


class Scan(nn.Module):
    """One layer, in one direction or both, step by step."""

    def __init__(self, cell: str, inputs: int, dim: int, bidirectional: bool, projection: int) -> None:
        super().__init__()
        self.rows = 1 + bidirectional
        self.cells = nn.ModuleList(CELLS[cell](inputs, dim, projection) for _ in range(self.rows))
        for module in self.cells:
            cast(Cell, module).reset_parameters()

    def forward(
        self, x: Float[Tensor, "B T i"], lengths: Lengths, state: State | None
    ) -> tuple[Float[Tensor, "B T _"], State]:
        outputs, ends = [], []
        for direction, cell in enumerate(self.cells):
            cell = cast(Cell, cell)
            start = cell.zeros(x) if state is None else tuple(value[:, direction] for value in _in_order(state))
            steps = cell(backwards(x, lengths) if direction else x, start)
            ends.append([at_end(values, lengths) for values in steps])
            outputs.append(backwards(steps[0], lengths) if direction else steps[0])
        together = torch.cat(outputs, 2)
        if lengths is not None:
            inside = torch.arange(x.shape[1], device=x.device) < lengths.unsqueeze(1)
            together = together * inside.unsqueeze(2)
        return together, {name: torch.stack(values, 1) for name, *values in zip("hc", *ends, strict=False)}


def _in_order(state: State) -> list[Tensor]:
    return [state[name] for name in "hc" if name in state]


def backwards(x: Float[Tensor, "B T d"], lengths: Lengths) -> Float[Tensor, "B T d"]:
    """Every row from its end to its beginning; padding stays where it is."""
    if lengths is None:
        return x.flip(1)
    times = torch.arange(x.shape[1], device=x.device)
    turned = lengths.unsqueeze(1) - 1 - times
    return x.gather(1, turned.where(turned >= 0, times).unsqueeze(2).expand_as(x))


def at_end(values: Float[Tensor, "B T d"], lengths: Lengths) -> Float[Tensor, "B d"]:
    """The last values of every row."""
    return values[:, -1] if lengths is None else values[torch.arange(len(values), device=values.device), lengths - 1]


def locked_dropout(x: Float[Tensor, "B T d"], share: float, training: bool) -> Float[Tensor, "B T d"]:
    """Dropout with one mask for all times of a row."""
    return x * F.dropout(x.new_ones(len(x), 1, x.shape[2]), share) if training and share else x


def norm_changes(
    outputs: Float[Tensor, "B T d"], lengths: Lengths = None, before: Float[Tensor, "B d"] | None = None
) -> Float[Tensor, ""]:
    """The norm stabiliser Σ (‖h_t‖ - ‖h_{t-1}‖)² (Krueger & Memisevic 2016), over times that are no padding.

    before: the state that the first outputs follow on; without it, changes are counted from the second on.
    """
    first = outputs[:, :1] if before is None else before.unsqueeze(1)
    norms = torch.cat([first, outputs], 1).norm(dim=2)
    changes = norms.diff(dim=1).square()
    if lengths is not None:
        changes = changes * (torch.arange(outputs.shape[1], device=outputs.device) < lengths.unsqueeze(1))
    return changes.sum()


def _check(cell: str, dim: int, projection: int, forget_bias: float) -> None:
    if cell not in CELLS:
        raise UsageError(f"There is no recurrent cell named {cell!r}{nearest(cell, CELLS)}")
    if projection and not CELLS[cell].memory:
        raise UsageError(f"Only an LSTM's state can be projected: leave projection at 0 for {cell}.")
    if forget_bias and not CELLS[cell].memory:
        raise UsageError(f"Only an LSTM has a forget gate: leave forget_bias at 0 for {cell}.")
    if projection >= dim:
        raise UsageError(f"A projection to {projection} numbers makes nothing narrower: it must be below {dim}.")
    if cell == "unitary" and dim % 2:
        raise UsageError(f"A unitary cell's state is of complex numbers, two real ones each: {dim} is odd.")
