"""ELECTRA's two parts under the names of transformers' ElectraForPreTraining (the discriminator) and
ElectraForMaskedLM (the generator), and back.

There each part is a model of its own, and so it comes here (Config's `part`); of a model with both, the discriminator
goes out unless the generator is asked for.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.exchange import bert
from lexigraph.exchange.bert import (
    both,
    embedding_names,
    layer_names,
    refuse_gates,
    renamed,
    shape_from,
    shape_to,
    split,
)
from lexigraph.exchange.settings import Settings
from lexigraph.models.electra import Config, generator_shape

MODEL_TYPES = ("electra",)
ARCHITECTURES = {"discriminator": "ElectraForPreTraining", "generator": "ElectraForMaskedLM"}
HEADS = {  # ours: theirs
    "discriminator": {
        "dense": ["discriminator_predictions.dense"],
        "replaced": ["discriminator_predictions.dense_prediction"],
    },
    "generator": {"head.dense": ["generator_predictions.dense"], "head.norm": ["generator_predictions.LayerNorm"]},
}

Part = Literal["discriminator", "generator"]


class Theirs(bert.Theirs, total=False):
    """The same of theirs as for BERT, and the width of the table."""

    embedding_size: int


def config_from(theirs: Theirs) -> Settings:
    """Our Config's fields."""
    named = theirs.get("architectures") or [ARCHITECTURES["discriminator"]]
    parts = [part for part, name in ARCHITECTURES.items() if name in named]
    if not parts:
        raise LexigraphError(
            f"This ELECTRA model is a {' and '.join(named)}; {' and '.join(ARCHITECTURES.values())} are read."
        )
    shape = shape_from(theirs, "ELECTRA")
    return shape | {"embedding": theirs.get("embedding_size", 128), "part": parts[0], "generator_share": 1.0}


def config_to(config: Config, vocabulary: int, part: Part | None = None) -> Settings:
    """Their config.json for one part."""
    refuse_gates(config, "ELECTRA")
    part = _part(config, part)
    dim, heads, inner = config.dim, config.heads, config.inner or 4 * config.dim
    if part == "generator":
        small = generator_shape(config)
        dim, heads, inner = small.dim, small.heads, small.inner
    return {
        "architectures": [ARCHITECTURES[part]],
        "model_type": "electra",
        "embedding_size": config.embedding,
        **shape_to(config, "ELECTRA", vocabulary, dim, heads, inner),
    }


def weights_from(theirs: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Our weights of the part that `config` names."""
    return renamed(theirs, _names(config, _part(config)), "ELECTRA")


def weights_to(ours: dict[str, Tensor], config: Config, part: Part | None = None) -> dict[str, Tensor]:
    """Their weights of one part; tied ones once."""
    return split(ours, _names(config, _part(config, part)))


def _part(config: Config, asked: Part | None = None) -> Part:
    own: Part = "generator" if config.part == "generator" else "discriminator"
    if asked is None or asked == own or config.part == "both":
        return asked or own
    raise LexigraphError(f"This ELECTRA model is a {own} alone: it has no {asked}.")


def _names(config: Config, part: Part) -> list[tuple[str, list[str]]]:
    """Each of our weights, and those of theirs that it is made of."""
    dim = config.dim if part == "discriminator" else generator_shape(config).dim
    widened = both({f"{part}.widen": ["electra.embeddings_project"]}) if dim != config.embedding else []
    output = [("head.bias", ["generator_lm_head.bias"])] if part == "generator" else []
    return (
        embedding_names("electra")
        + widened
        + layer_names("electra", part, config.layers)
        + both(HEADS[part])
        + output
    )
