"""BERT's weights under the names of transformers' BertForMaskedLM (with a pooler: BertForPreTraining), and back.

Which tokens begin and end a text and mask others stands in the vocabulary.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypedDict

import torch
from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.exchange.settings import Settings
from lexigraph.models.bert import Config
from lexigraph.models.electra import Config as ElectraConfig
from lexigraph.models.longformer import Config as LongformerConfig
from lexigraph.nn.feedforward import Activation

MODEL_TYPES = ("bert",)
ACTIVATIONS: dict[str, Activation] = {"gelu": "gelu", "gelu_new": "gelu-tanh", "relu": "relu", "silu": "silu"}

EMBEDDING = {  # ours: theirs
    "tokens": "word_embeddings",
    "positions": "position_embeddings",
    "segments": "token_type_embeddings",
}
LAYER = {  # one matrix of ours may be several of theirs, one below the other
    "attention.qkv": ("attention.self.query", "attention.self.key", "attention.self.value"),
    "attention.out": ("attention.output.dense",),
    "norm_attention": ("attention.output.LayerNorm",),
    "feed_forward.widen": ("intermediate.dense",),
    "feed_forward.narrow": ("output.dense",),
    "norm_feed_forward": ("output.LayerNorm",),
}
HEAD = {"head.dense": "cls.predictions.transform.dense", "head.norm": "cls.predictions.transform.LayerNorm"}
POOLER = {"pool": "bert.pooler.dense", "order": "cls.seq_relationship"}


class Theirs(TypedDict, total=False):
    """Of their config.json, what is read."""

    architectures: list[str] | None
    num_hidden_layers: int
    num_attention_heads: int
    hidden_size: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float
    hidden_act: str
    hidden_dropout_prob: float
    position_embedding_type: str
    is_decoder: bool
    add_cross_attention: bool
    tie_word_embeddings: bool


def config_from(theirs: Theirs, weights: Collection[str] = ()) -> Settings:
    """Our Config's fields.

    weights: the names in the file; the oldest models have a pooler that their config does not speak of.
    """
    pooler = "BertForPreTraining" in (theirs.get("architectures") or ()) or "cls.seq_relationship.weight" in weights
    return shape_from(theirs, "BERT") | {"pooler": pooler}


def config_to(config: Config, vocabulary: int) -> Settings:
    """Their config.json."""
    refuse_gates(config, "BERT")
    inner = config.inner or 4 * config.dim
    return {
        "architectures": ["BertForPreTraining" if config.pooler else "BertForMaskedLM"],
        "model_type": "bert",
        **shape_to(config, "BERT", vocabulary, config.dim, config.heads, inner),
    }


def weights_from(theirs: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Our weights."""
    return renamed(theirs, _names(config), "BERT")


def weights_to(ours: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Their weights; tied ones once."""
    return split(ours, _names(config))


def _names(config: Config) -> list[tuple[str, list[str]]]:
    """Each of our weights, and those of theirs that it is made of."""
    parts = {ours: [theirs] for ours, theirs in (HEAD | (POOLER if config.pooler else {})).items()}
    found = [("head.bias", ["cls.predictions.bias"]), *both(parts)]
    return embedding_names("bert") + layer_names("bert", "encoder", config.layers) + found


# ---- what others have in common with them --------------------------------------------------------------------------


def shape_from(theirs: Theirs, family: str) -> Settings:
    """The fields that all of this kind have."""
    activation = theirs.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise LexigraphError(
            f"This {family} model has the activation {activation!r}; known: {', '.join(ACTIVATIONS)}."
        )
    if theirs.get("position_embedding_type", "absolute") != "absolute":
        raise LexigraphError(
            f"This {family} model has relative positions; only those with a table of positions are read."
        )
    if theirs.get("is_decoder") or theirs.get("add_cross_attention"):
        raise LexigraphError(f"This {family} model is a decoder; only encoders are read.")
    if theirs.get("tie_word_embeddings", True) is False:
        raise LexigraphError(f"This {family} model has an output table of its own; only tied ones are read.")
    return {
        "layers": theirs["num_hidden_layers"],
        "heads": theirs["num_attention_heads"],
        "dim": theirs["hidden_size"],
        "inner": theirs["intermediate_size"],
        "context": theirs["max_position_embeddings"],
        "segments": theirs.get("type_vocab_size", 2),
        "norm": "post",
        "eps": float(theirs.get("layer_norm_eps", 1e-12)),
        "activation": ACTIVATIONS[activation],
        "dropout": float(theirs.get("hidden_dropout_prob", 0.1)),
    }


def refuse_gates(config: Config | ElectraConfig, family: str) -> None:
    """Refuse forms of layers that transformers does not have."""
    if config.gated or config.normed_by != "layer":
        raise LexigraphError(
            f"transformers' {family} has no gated feed-forward part and no RMS norms (model.gated = "
            f"{str(config.gated).lower()}, model.normed_by = {config.normed_by!r})."
        )


def shape_to(
    config: Config | ElectraConfig | LongformerConfig, family: str, vocabulary: int, dim: int, heads: int, inner: int
) -> Settings:
    """The same fields under their names."""
    names = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    if config.activation not in names:
        raise LexigraphError(f"transformers' {family} has no activation {config.activation!r}.")
    if config.norm != "post":
        raise LexigraphError(f'transformers\' {family} has its norms behind the layers (model.norm = "post").')
    return {
        "vocab_size": vocabulary,
        "num_hidden_layers": config.layers,
        "num_attention_heads": heads,
        "hidden_size": dim,
        "intermediate_size": inner,
        "max_position_embeddings": config.context,
        "type_vocab_size": config.segments,
        "layer_norm_eps": config.eps,
        "hidden_act": names[config.activation],
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
        "tie_word_embeddings": True,
        "pad_token_id": 0,
    }


def embedding_names(root: str) -> list[tuple[str, list[str]]]:
    """The embedding's weights."""
    tables = [(f"embedding.{a}.weight", [f"{root}.embeddings.{b}.weight"]) for a, b in EMBEDDING.items()]
    return tables + both({"embedding.norm": [f"{root}.embeddings.LayerNorm"]})


def layer_names(root: str, encoder: str, layers: int) -> list[tuple[str, list[str]]]:
    """Those of all layers."""
    return both(
        {
            f"{encoder}.layers.{number}.{ours}": [f"{root}.encoder.layer.{number}.{name}" for name in theirs]
            for number in range(layers)
            for ours, theirs in LAYER.items()
        }
    )


def both(parts: dict[str, list[str]]) -> list[tuple[str, list[str]]]:
    """Weights and biases of parts that have both."""
    kinds = ("weight", "bias")
    return [(f"{a}.{kind}", [f"{name}.{kind}" for name in b]) for kind in kinds for a, b in parts.items()]


def renamed(theirs: dict[str, Tensor], names: list[tuple[str, list[str]]], family: str) -> dict[str, Tensor]:
    """Our weights from theirs."""
    theirs = {_modern(name): weight for name, weight in theirs.items()}
    if missing := [name for _, others in names for name in others if name not in theirs]:
        raise LexigraphError(
            f"These {family} weights lack {missing[0]} and {len(missing) - 1} more: they are of another class than "
            "their config says, or of a layer that was left out."
        )
    return {ours: torch.cat([theirs[other] for other in others]) for ours, others in names}


def split(ours: dict[str, Tensor], names: list[tuple[str, list[str]]]) -> dict[str, Tensor]:
    """Their weights from ours."""
    theirs: dict[str, Tensor] = {}
    for name, others in names:
        theirs |= dict(zip(others, ours[name].chunk(len(others)), strict=True))
    return {name: weight.contiguous() for name, weight in theirs.items()}


def _modern(name: str) -> str:
    """Files of 2019 call a norm's weight gamma and its bias beta."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
