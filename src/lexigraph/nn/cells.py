"""Recurrent cells step by step: the equations, and the scan that takes them along a text.

    a_t = W x_t + b                                    for all times at once, before the scan
    rnn           h = tanh(a + U h')                                               (Elman 1990); rnn-relu: max(0, ·)
    irnn          h = max(0, a + U h'), U = 1 and b = 0 at the start               (Le et al. 2015)
    unitary       h = modReLU(a + U h'), U unitary                                 (below)
    lstm          i, f, o = σ(a + U h')   g = tanh(a_g + U_g h')
                  c = f ⊙ c' + i ⊙ g      h = o ⊙ tanh(c)                          (Gers et al. 2000)
    lstm-peephole likewise, but the gates also see the memory: i, f see p ⊙ c', o sees p ⊙ c   (Gers et al. 2002)
    gru           r, z = σ(a + U h')      n = tanh(a_n + r ⊙ (U_n h' + u))         reset after the product (cuDNN)
    gru-before    likewise                n = tanh(a_n + U_n (r ⊙ h'))             reset before it (Cho et al. 2014)
    gru-simple    z = σ(a + U h')         n = tanh(a_n + U_n h')                   without reset
                  all three:              h = (1 - z) ⊙ n + z ⊙ h'
    projection    h = P (o ⊙ tanh(c)): an LSTM's state is narrower than its memory (Sak et al. 2014)

h' and c' are those of the time before; gates stand in torch's order (i f g o; r z n).

Shapes: B batch, T time, i width of an input, d of a memory, h of a state (d, or as projected), G blocks of d rows.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from lexigraph.nn.scan import Act, recur, unitary_matrix

CellName = Literal["rnn", "rnn-relu", "irnn", "lstm", "lstm-peephole", "gru", "gru-before", "gru-simple", "unitary"]
States = tuple[Tensor, ...]  # h, and c where there is a memory


class Cell(nn.Module):
    """One layer in one direction."""

    blocks: ClassVar[int] = 1  # G
    memory: ClassVar[bool] = False  # is there a c beside h?

    def __init__(self, inputs: int, dim: int, projection: int = 0) -> None:
        super().__init__()
        self.dim, self.width = dim, projection or dim
        self.weight_ih = nn.Parameter(torch.empty(self.blocks * dim, inputs))
        self.weight_hh = nn.Parameter(torch.empty(self.blocks * dim, self.width))
        self.bias = nn.Parameter(torch.empty(self.blocks * dim))
        self.weight_hr = nn.Parameter(torch.empty(projection, dim)) if projection else None

    def reset_parameters(self) -> None:
        """As torch's: uniform in ± 1 / √d."""
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(self.dim**-0.5), self.dim**-0.5)

    def zeros(self, x: Float[Tensor, "B T i"]) -> States:
        """The state that a text begins from."""
        sizes = (self.width, self.dim) if self.memory else (self.width,)
        return tuple(x.new_zeros(len(x), size, dtype=self.weight_ih.dtype) for size in sizes)

    def products(self, x: Float[Tensor, "B T i"]) -> Float[Tensor, "T B Gd"]:
        """W x_t + b for all times."""
        return F.linear(x.transpose(0, 1), self.weight_ih, self.bias)

    def forward(self, x: Float[Tensor, "B T i"], start: States) -> list[Float[Tensor, "B T d"]]:
        """h after every step, and c where there is one."""
        state, steps = start, []
        for a in self.products(x).unbind(0):
            state = self.step(a, state)
            steps.append(state)
        return [torch.stack(values, 1) for values in zip(*steps, strict=True)]

    def step(self, a: Float[Tensor, "B Gd"], state: States) -> States:
        """One time further."""
        raise NotImplementedError


class Elman(Cell):
    """The simple recurrence, with another function in the place of tanh."""

    act: ClassVar[Act] = "tanh"

    def recurrent_matrix(self) -> Float[Tensor, "d d"]:
        return self.weight_hh

    def forward(self, x: Float[Tensor, "B T i"], start: States) -> list[Float[Tensor, "B T d"]]:
        return [recur(self.products(x), start[0], self.recurrent_matrix(), self.act).transpose(0, 1)]


class ReLU(Elman):
    act = "relu"


class LSTM(Cell):
    blocks, memory = 4, True

    def step(self, a: Float[Tensor, "B Gd"], state: States) -> States:
        h, c = state
        i, f, g, o = (a + F.linear(h, self.weight_hh)).chunk(4, 1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        return self.projected(o.sigmoid() * c.tanh()), c

    def projected(self, h: Float[Tensor, "B d"]) -> Float[Tensor, "B h"]:
        return h if self.weight_hr is None else F.linear(h, self.weight_hr)


class PeepholeLSTM(LSTM):
    def __init__(self, inputs: int, dim: int, projection: int = 0) -> None:
        super().__init__(inputs, dim, projection)
        self.peepholes = nn.Parameter(torch.empty(3, dim))  # of i, f and o

    def step(self, a: Float[Tensor, "B Gd"], state: States) -> States:
        h, c = state
        i, f, g, o = (a + F.linear(h, self.weight_hh)).chunk(4, 1)
        to_i, to_f, to_o = self.peepholes
        c = (f + to_f * c).sigmoid() * c + (i + to_i * c).sigmoid() * g.tanh()
        return self.projected((o + to_o * c).sigmoid() * c.tanh()), c


class GRU(Cell):
    blocks = 3

    def __init__(self, inputs: int, dim: int, projection: int = 0) -> None:
        super().__init__(inputs, dim, projection)
        self.bias_reset = nn.Parameter(torch.empty(dim))  # u: inside what r multiplies

    def step(self, a: Float[Tensor, "B Gd"], state: States) -> States:
        (h,) = state
        (a_r, a_z, a_n), (u_r, u_z, u_n) = a.chunk(3, 1), F.linear(h, self.weight_hh).chunk(3, 1)
        r, z = (a_r + u_r).sigmoid(), (a_z + u_z).sigmoid()
        n = (a_n + r * (u_n + self.bias_reset)).tanh()
        return (n + z * (h - n),)


class GRUBefore(Cell):
    blocks = 3

    def step(self, a: Float[Tensor, "B Gd"], state: States) -> States:
        (h,), d = state, self.dim
        r, z = (a[:, : 2 * d] + F.linear(h, self.weight_hh[: 2 * d])).sigmoid().chunk(2, 1)
        n = (a[:, 2 * d :] + F.linear(r * h, self.weight_hh[2 * d :])).tanh()
        return (n + z * (h - n),)


class SimpleGRU(Cell):
    blocks = 2

    def step(self, a: Float[Tensor, "B Gd"], state: States) -> States:
        (h,) = state
        z, n = (a + F.linear(h, self.weight_hh)).chunk(2, 1)
        z, n = z.sigmoid(), n.tanh()
        return (n + z * (h - n),)


class Unitary(Elman):
    """States are n = d / 2 complex numbers (all real parts, then all imaginary ones), U is a unitary n × n matrix:

        A = S - Sᴴ        U = (1 + A)⁻¹ (1 - A) diagonal(exp(i φ))          (scaled Cayley transform)

    A is skew-Hermitian whatever S holds, so that every |λ| of U is 1 at every step of a training, and the gradient
    neither grows nor vanishes on its way through U. Arjovsky et al. (2016) make U of seven easy factors with O(n)
    weights, which reach few of the unitary matrices; this form reaches all but a set of measure zero, for one n × n
    solution in each pass (Helfrich et al. 2018; Maduranga et al. 2019). It begins as n rotations, U = exp(i φ).
    modReLU(z) = max(0, |z| + m) z / |z|: the phase stays (Arjovsky et al. 2016).
    """

    act = "modrelu"

    def __init__(self, inputs: int, dim: int, projection: int = 0) -> None:
        nn.Module.__init__(self)
        self.dim = self.width = dim
        self.weight_ih = nn.Parameter(torch.empty(dim, inputs))
        self.bias = nn.Parameter(torch.empty(dim))
        self.skew = nn.Parameter(torch.empty(2, dim // 2, dim // 2))  # S
        self.phases = nn.Parameter(torch.empty(dim // 2))
        self.threshold = nn.Parameter(torch.empty(dim // 2))  # m

    def own_start(self) -> None:
        nn.init.uniform_(self.phases, -math.pi, math.pi)
        for parameter in (self.skew, self.bias, self.threshold):
            nn.init.zeros_(parameter)

    def recurrent_matrix(self) -> Float[Tensor, "d d"]:
        """U as a real matrix: it turns real and imaginary parts into those of the product."""
        return unitary_matrix(self.skew, self.phases)

    def forward(self, x: Float[Tensor, "B T i"], start: States) -> list[Float[Tensor, "B T d"]]:
        h = recur(self.products(x), start[0], self.recurrent_matrix(), self.act, self.threshold)
        return [h.transpose(0, 1)]


CELLS: dict[str, type[Cell]] = {
    "rnn": Elman,
    "rnn-relu": ReLU,
    "irnn": ReLU,
    "lstm": LSTM,
    "lstm-peephole": PeepholeLSTM,
    "gru": GRU,
    "gru-before": GRUBefore,
    "gru-simple": SimpleGRU,
    "unitary": Unitary,
}
