"""T5's weights under the names of transformers' T5ForConditionalGeneration, and back.

Their first layer of each stack holds the bias of distances that all its layers share.
"""

from __future__ import annotations

from typing import TypedDict

import torch
from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.exchange.settings import Settings
from lexigraph.models.t5 import Config
from lexigraph.nn.feedforward import Activation

MODEL_TYPES = ("t5",)
ACTIVATIONS: dict[str, tuple[Activation, bool]] = {  # theirs: ours, and whether it is gated
    "relu": ("relu", False),
    "gelu": ("gelu", False),
    "silu": ("silu", False),
    "gated-gelu": ("gelu-tanh", True),
    "gated-silu": ("silu", True),
}

ENDS = {  # ours: theirs
    "embedding": "shared",
    "output": "lm_head",
    "norm_encoder": "encoder.final_layer_norm",
    "norm_decoder": "decoder.final_layer_norm",
    "distances.table": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
    "decoder_distances.table": "decoder.block.0.layer.0.SelfAttention.relative_attention_bias",
}


class Theirs(TypedDict, total=False):
    """Of their config.json, what is read."""

    num_layers: int
    num_decoder_layers: int | None
    num_heads: int
    d_kv: int
    d_model: int
    d_ff: int
    feed_forward_proj: str
    dropout_rate: float
    scale_decoder_outputs: bool
    tie_word_embeddings: bool
    relative_attention_num_buckets: int
    relative_attention_max_distance: int
    layer_norm_epsilon: float


def config_from(theirs: Theirs) -> Settings:
    """Our Config's fields."""
    kind = theirs.get("feed_forward_proj", "relu")
    if kind not in ACTIVATIONS:
        raise LexigraphError(f"This T5 model has feed_forward_proj = {kind!r}; known: {', '.join(ACTIVATIONS)}.")
    activation, gated = ACTIVATIONS[kind]
    return {
        "layers": theirs["num_layers"],
        "decoder_layers": theirs.get("num_decoder_layers") or theirs["num_layers"],
        "heads": theirs["num_heads"],
        "head": theirs["d_kv"],
        "dim": theirs["d_model"],
        "inner": theirs["d_ff"],
        "activation": activation,
        "gated": gated,
        "dropout": float(theirs.get("dropout_rate", 0.1)),
        # newer files call everything tied, and say by another key whether the output is scaled
        "tied": bool(theirs.get("scale_decoder_outputs", theirs.get("tie_word_embeddings", True))),
        "buckets": theirs.get("relative_attention_num_buckets", 32),
        "farthest": theirs.get("relative_attention_max_distance", 128),
        "eps": theirs.get("layer_norm_epsilon", 1e-6),
    }


def config_to(config: Config, vocabulary: int) -> Settings:
    """Their config.json."""
    names = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    kind = names.get((config.activation, config.gated))
    if kind is None:
        gated = "a gated " if config.gated else ""
        raise LexigraphError(f"transformers' T5 has no {gated}activation {config.activation!r}.")
    return {
        "architectures": ["T5ForConditionalGeneration"],
        "model_type": "t5",
        "vocab_size": vocabulary,
        "num_layers": config.layers,
        "num_decoder_layers": config.decoder_layers or config.layers,
        "num_heads": config.heads,
        "d_kv": config.head or config.dim // config.heads,
        "d_model": config.dim,
        "d_ff": config.inner or 4 * config.dim,
        "feed_forward_proj": kind,
        "dropout_rate": config.dropout,
        "tie_word_embeddings": config.tied,
        "relative_attention_num_buckets": config.buckets,
        "relative_attention_max_distance": config.farthest,
        "layer_norm_epsilon": config.eps,
        "decoder_start_token_id": 0,
        "is_encoder_decoder": True,
        "eos_token_id": 2,
        "pad_token_id": 0,
    }


def weights_from(theirs: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Our weights."""
    theirs = {"lm_head.weight": theirs["shared.weight"]} | theirs
    return {ours: torch.cat([theirs[name] for name in names]) for ours, names in _names(config)}


def weights_to(ours: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Their weights; tied ones once."""
    theirs: dict[str, Tensor] = {}
    for name, others in _names(config):
        theirs |= dict(zip(others, ours[name].chunk(len(others)), strict=True))
    return {name: weight.contiguous() for name, weight in theirs.items()}


def _names(config: Config) -> list[tuple[str, list[str]]]:
    """Each of our weights, and those of theirs that it is made of, one below the other."""
    found = [(ours, [theirs]) for ours, theirs in ENDS.items() if ours != "output" or not config.tied]
    depths = {"encoder": config.layers, "decoder": config.decoder_layers or config.layers}
    for stack, number in [(stack, n) for stack, depth in depths.items() for n in range(depth)]:
        here, there = f"{stack}.{number}", f"{stack}.block.{number}.layer"
        found += _part(f"{here}.attention", f"{there}.0.SelfAttention", {"qkv": "qkv", "out": "o"})
        found += [(f"{here}.norm_attention", [f"{there}.0.layer_norm"])]
        if stack == "decoder":
            looking = {"query": "q", "key_value": "kv", "out": "o"}
            found += _part(f"{here}.memory", f"{there}.1.EncDecAttention", looking)
            found += [(f"{here}.norm_memory", [f"{there}.1.layer_norm"])]
        last = f"{there}.{2 if stack == 'decoder' else 1}"
        wide = {"widen": "wi_0", "gate": "wi_1"} if config.gated else {"widen": "wi"}
        for ours, theirs in (wide | {"narrow": "wo"}).items():
            found += [(f"{here}.feed_forward.{ours}", [f"{last}.DenseReluDense.{theirs}"])]
        found += [(f"{here}.norm_feed_forward", [f"{last}.layer_norm"])]
    return [(f"{ours}.weight", [f"{name}.weight" for name in names]) for ours, names in found]


def _part(here: str, there: str, parts: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Matrices whose names are single letters there; "qkv" stands for three of them."""
    return [(f"{here}.{ours}", [f"{there}.{letter}" for letter in letters]) for ours, letters in parts.items()]
