"""BART's weights under the names of transformers' BartForConditionalGeneration, and back.

Their tables of positions begin with two rows that nothing uses; ours have none. Ids of special tokens stand in the
vocabulary.
"""

from __future__ import annotations

from typing import TypedDict

import torch
from torch import Tensor
from torch.nn import functional as F

from lexigraph.errors import LexigraphError
from lexigraph.exchange.settings import Settings
from lexigraph.models.bart import Config
from lexigraph.nn.feedforward import Activation

MODEL_TYPES = ("bart",)
ACTIVATIONS: dict[str, Activation] = {"gelu": "gelu", "relu": "relu", "gelu_new": "gelu-tanh", "silu": "silu"}
UNUSED = 2  # rows before the first position

TABLES = {  # ours: theirs
    "embedding": "model.shared",
    "positions": "model.encoder.embed_positions",
    "decoder_positions": "model.decoder.embed_positions",
}
NORMS = {
    "norm_embedding": "model.encoder.layernorm_embedding",
    "norm_decoder_embedding": "model.decoder.layernorm_embedding",
}
LAYER = {  # one matrix of ours may be several of theirs, one below the other
    "attention.qkv": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
    "attention.out": ("self_attn.out_proj",),
    "norm_attention": ("self_attn_layer_norm",),
    "feed_forward.widen": ("fc1",),
    "feed_forward.narrow": ("fc2",),
    "norm_feed_forward": ("final_layer_norm",),
}
MEMORY = {
    "memory.query": ("encoder_attn.q_proj",),
    "memory.key_value": ("encoder_attn.k_proj", "encoder_attn.v_proj"),
    "memory.out": ("encoder_attn.out_proj",),
    "norm_memory": ("encoder_attn_layer_norm",),
}


class Theirs(TypedDict, total=False):
    """Of their config.json, what is read."""

    encoder_layers: int
    decoder_layers: int
    encoder_attention_heads: int
    decoder_attention_heads: int
    d_model: int
    encoder_ffn_dim: int
    decoder_ffn_dim: int
    max_position_embeddings: int
    activation_function: str
    dropout: float
    scale_embedding: bool
    tie_word_embeddings: bool


def config_from(theirs: Theirs) -> Settings:
    """Our Config's fields."""
    activation = theirs.get("activation_function", "gelu")
    if activation not in ACTIVATIONS:
        raise LexigraphError(f"This BART model has the activation {activation!r}; known: {', '.join(ACTIVATIONS)}.")
    if theirs.get("tie_word_embeddings", True) is False:
        raise LexigraphError("This BART model has several tables of words; only those with one for all are read.")
    return {
        "layers": theirs["encoder_layers"],
        "decoder_layers": theirs["decoder_layers"],
        "heads": theirs["encoder_attention_heads"],
        "decoder_heads": theirs["decoder_attention_heads"],
        "dim": theirs["d_model"],
        "inner": theirs["encoder_ffn_dim"],
        "decoder_inner": theirs["decoder_ffn_dim"],
        "context": theirs["max_position_embeddings"],
        "activation": ACTIVATIONS[activation],
        "dropout": float(theirs.get("dropout", 0.1)),
        "scaled": bool(theirs.get("scale_embedding", False)),
    }


def config_to(config: Config, vocabulary: int) -> Settings:
    """Their config.json."""
    names = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    if config.activation not in names:
        raise LexigraphError(f"transformers' BART has no activation {config.activation!r}.")
    inner = config.inner or 4 * config.dim
    return {
        "architectures": ["BartForConditionalGeneration"],
        "model_type": "bart",
        "vocab_size": vocabulary,
        "encoder_layers": config.layers,
        "decoder_layers": config.decoder_layers or config.layers,
        "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.decoder_heads or config.heads,
        "d_model": config.dim,
        "encoder_ffn_dim": inner,
        "decoder_ffn_dim": config.decoder_inner or inner,
        "max_position_embeddings": config.context,
        "activation_function": names[config.activation],
        "dropout": config.dropout,
        "attention_dropout": config.dropout,
        "scale_embedding": config.scaled,
        "tie_word_embeddings": True,
        "decoder_start_token_id": 2,
        "is_encoder_decoder": True,
        "bos_token_id": 2,
        "eos_token_id": 2,
        "forced_eos_token_id": None,
        "pad_token_id": 0,
    }


def weights_from(theirs: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Our weights."""
    shared = theirs["model.shared.weight"]
    theirs = {"final_logits_bias": shared.new_zeros(1, len(shared))} | theirs
    ours = {name: torch.cat([theirs[other] for other in others]) for name, others in _names(config)}
    positions = {name: ours[name][UNUSED:] for name in ("positions.weight", "decoder_positions.weight")}
    return ours | positions | {"bias": theirs["final_logits_bias"][0]}


def weights_to(ours: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Their weights; tied ones once."""
    theirs: dict[str, Tensor] = {}
    for name, others in _names(config):
        theirs |= dict(zip(others, ours[name].chunk(len(others)), strict=True))
    for name in ("positions", "decoder_positions"):
        theirs[f"{TABLES[name]}.weight"] = F.pad(ours[f"{name}.weight"], (0, 0, UNUSED, 0))
    theirs["final_logits_bias"] = ours["bias"][None]
    return {name: weight.contiguous() for name, weight in theirs.items()}


def _names(config: Config) -> list[tuple[str, list[str]]]:
    """Each of our weights, and those of theirs that it is made of."""
    found = [(f"{ours}.weight", [f"{theirs}.weight"]) for ours, theirs in TABLES.items()]
    parts = [(ours, [theirs]) for ours, theirs in NORMS.items()]
    depths = {"encoder": config.layers, "decoder": config.decoder_layers or config.layers}
    for stack, number in [(stack, n) for stack, depth in depths.items() for n in range(depth)]:
        for ours, theirs in (LAYER | MEMORY if stack == "decoder" else LAYER).items():
            parts.append((f"{stack}.{number}.{ours}", [f"model.{stack}.layers.{number}.{name}" for name in theirs]))
    for kind in ("weight", "bias"):
        found += [(f"{ours}.{kind}", [f"{name}.{kind}" for name in theirs]) for ours, theirs in parts]
    return found
