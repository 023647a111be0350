"""GPT whose queries and keys are turned (rotary), under the names of transformers' GPTNeoXForCausalLM, and back.

Of what GPT-NeoX can be, this is the plain form: layers one part after the other, whole heads turned. Their q, k and v
stand side by side head by head, ours all q first.
"""

from __future__ import annotations

from typing import TypedDict

import torch
from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.exchange.gpt2 import refuse_newer_layers
from lexigraph.exchange.settings import Settings
from lexigraph.models.gpt import Config

MODEL_TYPES = ("gpt_neox",)
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu-tanh", "relu": "relu", "silu": "silu"}
SUPPORTED: dict[
    str, tuple[float | str, float | str]
] = {  # what is supported, and what their library takes when nothing is said
    "use_parallel_residual": (False, True),
    "attention_bias": (True, True),
    "layer_norm_eps": (1e-5, 1e-5),
    "rotary_pct": (1.0, 0.25),
    "rotary_emb_base": (10000, 10000),
    "rope_type": ("default", "default"),
}
ENDS = {
    "gpt_neox.embed_in.weight": "embedding.weight",
    "gpt_neox.final_layer_norm.weight": "norm.weight",
    "gpt_neox.final_layer_norm.bias": "norm.bias",
}
OUTPUT, NEWER = "embed_out.weight", "lm_head.weight"  # in files, and in the memory of newer versions
LAYER = {
    "input_layernorm": "norm_attention",
    "post_attention_layernorm": "norm_feed_forward",
    "attention.query_key_value": "attention.qkv",
    "attention.dense": "attention.out",
    "mlp.dense_h_to_4h": "feed_forward.widen",
    "mlp.dense_4h_to_h": "feed_forward.narrow",
}


class Theirs(TypedDict, total=False):
    """Of their config.json, what is read."""

    num_hidden_layers: int
    num_attention_heads: int
    hidden_size: int
    max_position_embeddings: int
    intermediate_size: int
    hidden_act: str
    hidden_dropout: float
    tie_word_embeddings: bool
    rope_parameters: Settings | None
    rope_scaling: Settings | None  # what older versions call it


def config_from(theirs: Theirs) -> Settings:
    """The fields of our Config."""
    turned = theirs.get("rope_parameters") or theirs.get("rope_scaling") or {}
    newer = {"rotary_pct": "partial_rotary_factor", "rotary_emb_base": "rope_theta", "rope_type": "rope_type"}
    said = {**theirs, **{old: turned[new] for old, new in newer.items() if new in turned}}
    for key, (wanted, usual) in SUPPORTED.items():
        if said.get(key, usual) != wanted:
            raise LexigraphError(
                f"A GPT-NeoX with {key} = {said.get(key, usual)!r} is not supported, only with {wanted!r}."
            )
    activation = theirs.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise LexigraphError(f"The activation {activation!r} is not supported, only {', '.join(ACTIVATIONS)}.")
    return {
        "layers": theirs["num_hidden_layers"],
        "heads": theirs["num_attention_heads"],
        "dim": theirs["hidden_size"],
        "context": theirs["max_position_embeddings"],
        "inner": theirs["intermediate_size"],
        "positions": "rotary",
        "norm": "pre",
        "activation": ACTIVATIONS[activation],
        "dropout": float(theirs.get("hidden_dropout", 0.0)),
        "tied": theirs.get("tie_word_embeddings", False),
        "bias": True,
    }


def config_to(config: Config, vocabulary: int) -> Settings:
    """Their config.json."""
    names = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    refuse_newer_layers(config, "GPT-NeoX")
    if config.positions != "rotary" or config.norm != "pre" or config.activation not in names:
        raise LexigraphError(
            "transformers' GPT-NeoX has rotary positions, norms before each part and no swish: a GPT with "
            f"model.positions = {config.positions!r}, model.norm = {config.norm!r} and model.activation = "
            f"{config.activation!r} has no place there."
        )
    return {
        "architectures": ["GPTNeoXForCausalLM"],
        "model_type": "gpt_neox",
        "vocab_size": vocabulary,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "hidden_size": config.dim,
        "max_position_embeddings": config.context,
        "intermediate_size": config.inner or 4 * config.dim,
        "hidden_act": names[config.activation],
        "hidden_dropout": config.dropout,
        "attention_dropout": config.dropout,
        "tie_word_embeddings": config.tied,
        **{key: wanted for key, (wanted, _) in SUPPORTED.items() if key != "rope_type"},
    }


def weights_from(theirs: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Our weights."""
    ours = {mine: theirs[name] for name, mine in ENDS.items()}
    for old, new in _names(config):
        tensor = theirs[old]
        if "query_key_value" in old:  # (H, 3, D, …) there, (3, H, D, …) here
            tensor = tensor.unflatten(0, (config.heads, 3, -1)).transpose(0, 1).flatten(0, 2)
        ours[new] = tensor
    return ours if config.tied else ours | {"output.weight": theirs[NEWER if NEWER in theirs else OUTPUT]}


def weights_to(ours: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Their weights; tied ones once, and biases that are not learned here are 0."""
    theirs = {name: ours[mine] for name, mine in ENDS.items() if mine in ours}
    theirs.setdefault("gpt_neox.final_layer_norm.bias", torch.zeros(config.dim))
    for old, new in _names(config):
        tensor = ours[new] if new in ours else torch.zeros(len(ours[new.replace(".bias", ".weight")]))
        if "query_key_value" in old:
            tensor = tensor.unflatten(0, (3, config.heads, -1)).transpose(0, 1).flatten(0, 2)
        theirs[old] = tensor
    return theirs if config.tied else theirs | {OUTPUT: ours["output.weight"]}


def _names(config: Config) -> list[tuple[str, str]]:
    """Theirs and ours in every layer."""
    return [
        (f"gpt_neox.layers.{number}.{name}.{kind}", f"blocks.{number}.{mine}.{kind}")
        for number in range(config.layers)
        for name, mine in LAYER.items()
        for kind in ("weight", "bias")
    ]
