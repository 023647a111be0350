"""GPT with positions in a table, under the names of transformers' GPT2LMHeadModel, and back.

Their linear layers hold their weights transposed. What is not learned here is written as what it amounts to there:
missing biases are 0, and sinusoidal positions are a table like any other.
"""

from __future__ import annotations

from typing import TypedDict

import torch
from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.exchange.settings import Settings
from lexigraph.models.gpt import Config
from lexigraph.nn.positions import sinusoidal

MODEL_TYPES = ("gpt2",)
ACTIVATIONS = {"gelu_new": "gelu-tanh", "gelu": "gelu", "relu": "relu", "silu": "silu"}
SUPPORTED = {  # what other values would ask for is not here
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "add_cross_attention": False,
    "layer_norm_epsilon": 1e-5,
}
LAYER = {
    "ln_1": "norm_attention",
    "ln_2": "norm_feed_forward",
    "attn.c_attn": "attention.qkv",
    "attn.c_proj": "attention.out",
    "mlp.c_fc": "feed_forward.widen",
    "mlp.c_proj": "feed_forward.narrow",
}


class Theirs(TypedDict, total=False):
    """Of their config.json, what is read."""

    n_layer: int
    n_head: int
    n_embd: int
    n_positions: int
    n_inner: int | None
    activation_function: str
    resid_pdrop: float
    tie_word_embeddings: bool


def config_from(theirs: Theirs) -> Settings:
    """The fields of our Config."""
    for key, wanted in SUPPORTED.items():
        if theirs.get(key, wanted) != wanted:
            raise LexigraphError(f"A GPT-2 with {key} = {theirs.get(key)!r} is not supported, only with {wanted!r}.")
    activation = theirs.get("activation_function", "gelu_new")
    if activation not in ACTIVATIONS:
        raise LexigraphError(f"The activation {activation!r} is not supported, only {', '.join(ACTIVATIONS)}.")
    dim = theirs.get("n_embd", 768)
    return {
        "layers": theirs.get("n_layer", 12),
        "heads": theirs.get("n_head", 12),
        "dim": dim,
        "context": theirs.get("n_positions", 1024),
        "inner": theirs.get("n_inner") or 4 * dim,
        "positions": "learned",
        "norm": "pre",
        "activation": ACTIVATIONS[activation],
        "dropout": float(theirs.get("resid_pdrop", 0.1)),
        "tied": theirs.get("tie_word_embeddings", True),
        "bias": True,
    }


def config_to(config: Config, vocabulary: int) -> Settings:
    """Their config.json."""
    names = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    refuse_newer_layers(config, "GPT-2")
    if config.positions == "rotary" or config.norm != "pre" or config.activation not in names:
        raise LexigraphError(
            "transformers' GPT-2 has learned positions, norms before each part and no swish: a GPT with "
            f"model.positions = {config.positions!r}, model.norm = {config.norm!r} and model.activation = "
            f"{config.activation!r} has no place there."
        )
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": vocabulary,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_embd": config.dim,
        "n_positions": config.context,
        "n_inner": config.inner or 4 * config.dim,
        "activation_function": names[config.activation],
        **{f"{part}_pdrop": config.dropout for part in ("resid", "embd", "attn")},
        "tie_word_embeddings": config.tied,
        **SUPPORTED,
    }


def refuse_newer_layers(config: Config, family: str) -> None:
    """Refuse layers that are not GPT-2's, nor GPT-NeoX's."""
    if config.gated or config.normed_by != "layer":
        raise LexigraphError(
            f"transformers' {family} has no gated feed-forward part and no RMS norms: a GPT with model.gated = "
            f"{str(config.gated).lower()} and model.normed_by = {config.normed_by!r} has no place there."
        )


def weights_from(theirs: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Our weights."""
    if "wte.weight" in theirs:  # as the published files have them: the model without its head
        theirs = {f"transformer.{name}": tensor for name, tensor in theirs.items()}
    ours = {ours: theirs[name] for name, ours in _ends().items()}
    for number, (name, mine) in _parts(config):
        ours |= {f"blocks.{number}.{mine}.bias": theirs[f"transformer.h.{number}.{name}.bias"]}
        weight = theirs[f"transformer.h.{number}.{name}.weight"]
        ours |= {f"blocks.{number}.{mine}.weight": weight.T if weight.dim() > 1 else weight}
    return ours if config.tied else ours | {"output.weight": theirs["lm_head.weight"]}


def weights_to(ours: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Their weights; tied ones once."""
    ours = {"norm.bias": torch.zeros(config.dim), "positions.weight": sinusoidal(config.context, config.dim)} | ours
    theirs = {name: ours[mine] for name, mine in _ends().items()}
    for number, (name, mine) in _parts(config):
        weight = ours[f"blocks.{number}.{mine}.weight"]
        bias = ours.get(f"blocks.{number}.{mine}.bias", weight.new_zeros(len(weight)))
        theirs[f"transformer.h.{number}.{name}.weight"] = weight.T if weight.dim() > 1 else weight
        theirs[f"transformer.h.{number}.{name}.bias"] = bias
    return theirs if config.tied else theirs | {"lm_head.weight": ours["output.weight"]}


def _ends() -> dict[str, str]:
    """What stands before and behind the layers: theirs, ours."""
    tables = {"transformer.wte.weight": "embedding.weight", "transformer.wpe.weight": "positions.weight"}
    return tables | {f"transformer.ln_f.{kind}": f"norm.{kind}" for kind in ("weight", "bias")}


def _parts(config: Config) -> list[tuple[int, tuple[str, str]]]:
    return [(number, names) for number in range(config.layers) for names in LAYER.items()]
