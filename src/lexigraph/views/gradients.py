"""How the gradient of a recurrent language model flows back through time, and what its weights say about that.

    ∂L_T/∂h_t = ∂L_T/∂h_T · Π_{k=t+1..T} ∂h_k/∂h_{k-1}        L_T: the loss of one token, T - t steps later

Each factor is a matrix. If its largest singular value stays below 1 the product vanishes, if it stays above 1 it may
explode: 1.01^1000 ≈ 20,959 and 0.99^1000 ≈ 0.00004 (Hochreiter 1991; Bengio et al. 1994; Pascanu et al. 2013).
A gate is saturated where it is below 0.1 or above 0.9: shut or open, it hardly learns (Karpathy et al. 2015).

Shapes: R windows, T steps, L layers, d width.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from lexigraph.abilities.textmodel import TextModel
from lexigraph.errors import UsageError
from lexigraph.models.rnn_lm import RecurrentLanguageModel
from lexigraph.nn.network import Decoder, LanguageNetwork
from lexigraph.views.gates import gates_along
from lexigraph.views.picture import Picture, as_svg, subplots

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHUT, OPEN = 0.1, 0.9
WINDOWS = 32  # at most
LEAST = 1e-12  # of what is drawn


@dataclass(frozen=True)
class Flow:
    """What is found about one model."""

    name: str
    norms: Mapping[str, Float[np.ndarray, " steps"]]  # of ∂L_T/∂h_t (and c), the mean over windows, by T - t from 1
    singular: Mapping[str, Float[np.ndarray, " d"]]  # values of each recurrent matrix, the largest first
    saturated: Mapping[str, tuple[float, float]]  # of each gate: the shares that are shut and open
    weights_norm: float  # of the gradient that a training step would clip
    clip: float  # the norm that the recipe clips it to; 0: it does not

    @property
    def kept(self) -> float:
        """What clipping leaves of the gradient of the weights: min(1, clip / norm)."""
        return min(1.0, self.clip / self.weights_norm) if self.clip and self.weights_norm else 1.0


def flow(model: TextModel, texts: Sequence[str], steps: int = 100, name: str = "") -> Flow:
    """The gradient's way back through windows of so many tokens, or as many as the texts have."""
    network, system = model.network, model.recipe.system
    if not isinstance(network, LanguageNetwork):
        raise UsageError(
            f"This {system} model does not go along one text: gradients are of recurrent language models."
        )
    if not isinstance(network, RecurrentLanguageModel):
        raise UsageError(f"This {system} model has no recurrent state: there is nothing to follow back.")
    ids = windows(model, texts, steps)
    return flow_through(network, ids, name or system, model.recipe.train.clip)


def flow_through(network: Decoder, ids: Int[Tensor, "R T"], name: str, clip: float = 0.0) -> Flow:
    """The same of a network, through windows of ids that are read from no state."""
    parameters = [p for p in network.parameters() if p.requires_grad]
    with torch.enable_grad(), torch.backends.cudnn.flags(enabled=False):  # cuDNN has no gradient outside training
        states, loss = unrolled(network, ids)
        norms = norms_of(states, loss)
        total = torch.stack([p.grad.norm() for p in parameters if p.grad is not None]).norm().item() / len(ids)
    network.zero_grad(set_to_none=True)
    with torch.no_grad():
        gates = {gate: saturation(values) for gate, values in gates_along(network, ids).items()}
    return Flow(name, norms, singular_values(network), gates, total, clip)


def windows(model: TextModel, texts: Sequence[str], steps: int) -> Int[Tensor, "R T"]:
    """The texts as one stream, cut into windows of `steps` inputs and the token after them."""
    eos = model.tokenizer.eos
    stream = np.concatenate([[eos], *([*row, eos] for row in model.rows(texts)[0])]).astype(np.int64)
    width = min(steps + 1, len(stream))
    if width < 3:
        raise UsageError("The texts hold no two tokens: give longer ones.")
    count = min(WINDOWS, len(stream) // width)
    return torch.from_numpy(stream[: count * width].reshape(count, width)).to(model.device)


def unrolled(network: Decoder, ids: Int[Tensor, "R T"]) -> tuple[list[dict[str, Tensor]], Float[Tensor, " R"]]:
    """The state after each token, as part of one graph, and the loss of each row's last token."""
    ones = torch.ones(len(ids), dtype=torch.long, device=ids.device)
    step, states = network.start({"ids": ids[:, :1], "lengths": ones}), []
    for column in ids[:, 1:-1].unbind(1):
        states.append(step.state.rows)
        step = network.step(step.state, column)
    return states, F.cross_entropy(step.logits, ids[:, -1], reduction="none")


def norms_of(states: Sequence[Mapping[str, Tensor]], loss: Float[Tensor, " R"]) -> dict[str, np.ndarray]:
    """Of the gradient at each state, from the last one back: the mean over rows."""
    for state in states:
        for value in state.values():
            value.retain_grad()
    loss.sum().backward()
    return {
        key: np.array([_norm(state[key]) for state in reversed(states)]) for key in ("h", "c") if key in states[0]
    }


def _norm(state: Tensor) -> float:
    """The mean over rows of the gradient's norm."""
    return 0.0 if state.grad is None else state.grad.flatten(1).norm(dim=1).mean().item()


def singular_values(network: torch.nn.Module) -> dict[str, np.ndarray]:
    """Of each matrix that a state is multiplied with from one step to the next."""
    found: dict[str, np.ndarray] = {}
    for name, module in network.named_modules():
        if callable(own := getattr(module, "recurrent_matrix", None)):
            matrices = {f"{name}.recurrent_matrix": own()}
        else:
            named = module.named_parameters(recurse=False)
            matrices = {f"{name}.{key}": weight for key, weight in named if "weight_hh" in key}
        for key, matrix in matrices.items():
            for number, block in enumerate(blocks := matrix.detach().float().split(matrix.shape[1])):
                label = f"{key}[{number}]" if len(blocks) > 1 else key
                found[label] = torch.linalg.svdvals(block).cpu().numpy()
    return found


def saturation(values: Tensor) -> tuple[float, float]:
    """Which shares of a gate's values are shut and open."""
    return (values < SHUT).float().mean().item(), (values > OPEN).float().mean().item()


# ---- the picture ------------------------------------------------------------------------------------------------


def picture(flows: Sequence[Flow], made_by: str) -> Picture:
    """Norms against steps back, singular values, and saturated gates. made_by: which runs it comes from."""
    lead = "How the gradient of one token's loss shrinks or grows on its way back, and what the weights say about it."
    parts: dict[str, Callable[[Axes, Sequence[Flow]], None]] = {
        "The gradient on its way back": _draw_norms,
        "Singular values of recurrent matrices": _draw_singular,
    }
    if any(each.saturated for each in flows):
        parts["Saturation of the gates"] = _draw_gates
    bars = sum(len(each.saturated) for each in flows)
    high = max(4.0, 1.6 + 0.25 * bars)

    def figure() -> Figure:
        drawn, axes = subplots(1, len(parts), figsize=(5 * len(parts), high))
        for axis, (name, draw) in zip(axes[0], parts.items(), strict=True):
            draw(axis, flows)
            axis.set_title(name)
        return drawn

    def sections() -> Mapping[str, str]:
        made = {}
        for name, draw in parts.items():
            drawn, axes = subplots(figsize=(4.2, high if draw is _draw_gates else 3.6))
            draw(axes[0, 0], flows)
            made[name] = as_svg(drawn)
        return made

    return Picture("How the gradient flows back", lead, made_by, figure, sections)


def _draw_norms(axis: Axes, flows: Sequence[Flow]) -> None:
    """Norms against steps back, each over that of one step."""
    longest = max(len(each.norms["h"]) for each in flows)
    back = np.arange(1, longest + 1)
    for factor in (1.01, 0.99):
        axis.plot(back, factor**back, color="0.7", linestyle="--", linewidth=1)
        upright = "bottom" if factor > 1 else "top"
        end = (back[-1], factor ** back[-1])
        axis.annotate(f"{factor}ᵏ", end, color="0.4", fontsize=9, ha="right", va=upright)
    for number, each in enumerate(flows):
        for key, norms in each.norms.items():
            shown, colour = norms / max(norms[0], 1e-38), f"C{number}"
            label = f"{each.name}, {key}" if len(each.norms) > 1 else each.name
            style = "-" if key == "h" else ":"
            seen = np.where(shown > LEAST, shown, np.nan)
            axis.plot(back[: len(shown)], seen, style, color=colour, label=label)
    axis.set(xlabel="steps back k", ylabel="‖∂L/∂h‖ k steps back over 1 step back", yscale="log")
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_formatter("")
    axis.legend(fontsize=9)


def _draw_singular(axis: Axes, flows: Sequence[Flow]) -> None:
    """All singular values of each model, the largest first."""
    for number, each in enumerate(flows):
        values = np.sort(np.concatenate(list(each.singular.values())))[::-1]
        axis.plot(np.linspace(0, 1, len(values)), values, color=f"C{number}", label=each.name)
    axis.axhline(1, color="0.7", linestyle="--", linewidth=1)
    axis.set(xlabel="share of the values, the largest first", ylabel="singular value")
    axis.legend(fontsize=9)


def _draw_gates(axis: Axes, flows: Sequence[Flow]) -> None:
    """A bar for each gate of each model: how often it is shut, and how often it is open."""
    named = "{}: {}" if len(flows) > 1 else "{1}"
    bars = [(named.format(each.name, gate), *shares) for each in flows for gate, shares in each.saturated.items()]
    positions = np.arange(len(bars))[::-1]
    shut, opened = (np.array([bar[n] for bar in bars]) for n in (1, 2))
    axis.barh(positions, shut, color="0.35", label=f"shut (< {SHUT})")
    axis.barh(positions, 1 - shut - opened, left=shut, color="0.88", label="between")
    axis.barh(positions, opened, left=1 - opened, color="tab:orange", label=f"open (> {OPEN})")
    axis.set(yticks=positions, yticklabels=[bar[0] for bar in bars], xlim=(0, 1), xlabel="share of the values")
    axis.legend(fontsize=9, loc="upper center", bbox_to_anchor=(0.4, -0.13), ncols=3, frameon=False, handlelength=1)
