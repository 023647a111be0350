"""Longformer's weights under the names of transformers' LongformerForMaskedLM, and back.

Their table of positions has rows that no token ever has: one for each id up to that of padding. They are left out
here, and written as zeros. Their model has no global positions unless it is called with a `global_attention_mask`:
with a 1 at the first position it computes what ours does.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.exchange.bert import Theirs as BertSettings
from lexigraph.exchange.bert import both, embedding_names, layer_names, renamed, shape_from, shape_to, split
from lexigraph.exchange.settings import Settings
from lexigraph.models.longformer import Config

MODEL_TYPES = ("longformer",)
POSITIONS = "embedding.positions.weight"
HEAD = {"head.dense": ["lm_head.dense"], "head.norm": ["lm_head.layer_norm"]}
GLOBAL = {  # of a layer; one matrix of ours may be several of theirs, one below the other
    "attention.global_query": ("attention.self.query_global",),
    "attention.global_key_value": ("attention.self.key_global", "attention.self.value_global"),
}


class Theirs(BertSettings, total=False):
    """Of their config.json, what is read beside BERT's."""

    attention_window: list[int] | int
    pad_token_id: int


def config_from(theirs: Theirs) -> Settings:
    """Our Config's fields."""
    if theirs.get("hidden_act", "gelu") != "gelu":
        raise LexigraphError(
            f"A Longformer with the activation {theirs['hidden_act']!r} is not supported, only gelu."
        )
    window = theirs["attention_window"]
    fields = shape_from(theirs, "Longformer")
    fields["context"] = theirs["max_position_embeddings"] - theirs.get("pad_token_id", 1) - 1
    return fields | {"window": list(window) if isinstance(window, list) else [window], "globals": "class"}


def config_to(config: Config, vocabulary: int, pad: int = 0) -> Settings:
    """Their config.json; `pad`: the id of padding."""
    if config.activation != "gelu" or config.globals != "class" or max(config.dilation) > 1:
        raise LexigraphError(
            "transformers' Longformer has the activation gelu, projections for global positions, and no dilation: a "
            'longformer with model.activation = "gelu", model.globals = "class" and model.dilation = [1] can be '
            "written for it."
        )
    window = config.window if len(config.window) > 1 else config.window * config.layers
    if min(window) < 4 or any(max(window) % each for each in window):
        raise LexigraphError(
            "transformers' Longformer has windows of 4 positions or more, the largest a multiple of all others: "
            f"model.window = {list(window)} does not fit it."
        )
    shape = shape_to(config, "Longformer", vocabulary, config.dim, config.heads, config.inner or 4 * config.dim)
    return {
        "architectures": ["LongformerForMaskedLM"],
        "model_type": "longformer",
        **shape,
        "max_position_embeddings": config.context + pad + 1,
        "attention_window": list(window),
        "attention_probs_dropout_prob": 0.0,
        "pad_token_id": pad,
    }


def weights_from(theirs: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Our weights."""
    ours = renamed(theirs, _names(config), "Longformer")
    return ours | {POSITIONS: ours[POSITIONS][-config.context :]}


def weights_to(ours: dict[str, Tensor], config: Config, pad: int = 0) -> dict[str, Tensor]:
    """Their weights; tied ones once. `pad`: the id of padding."""
    table = ours[POSITIONS]
    return split(ours | {POSITIONS: torch.cat([table.new_zeros(pad + 1, config.dim), table])}, _names(config))


def _names(config: Config) -> list[tuple[str, list[str]]]:
    """Each of our weights, and those of theirs that it is made of."""
    layers = layer_names("longformer", "encoder", config.layers) + both(
        {
            f"encoder.layers.{number}.{ours}": [f"longformer.encoder.layer.{number}.{name}" for name in theirs]
            for number in range(config.layers)
            for ours, theirs in GLOBAL.items()
        }
    )
    return embedding_names("longformer") + layers + both(HEAD) + [("head.bias", ["lm_head.bias"])]
