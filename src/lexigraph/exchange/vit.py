"""ViT's weights under the names of transformers' ViTForImageClassification, and back.

Their config.json names the classes, and preprocessor_config.json says how the dots of a picture become numbers.
"""

from __future__ import annotations

from typing import TypedDict

from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.exchange.bert import ACTIVATIONS, both, renamed, split
from lexigraph.exchange.settings import Settings
from lexigraph.models.vit import Config
from lexigraph.nn.classifier import LABEL
from lexigraph.text.images import IMAGE
from lexigraph.text.vocabularies import Labels, Numbers, Vocabularies, Vocabulary

TOKEN, POSITIONS, PATCHES = (f"encoder.{name}" for name in ("token", "positions.weight", "embed.weight"))
ROOT = "vit.embeddings"
LAYER = {  # one matrix of ours may be several of theirs, one below the other
    "attention.qkv": ("attention.attention.query", "attention.attention.key", "attention.attention.value"),
    "attention.out": ("attention.output.dense",),
    "norm_attention": ("layernorm_before",),
    "norm_feed_forward": ("layernorm_after",),
    "feed_forward.widen": ("intermediate.dense",),
    "feed_forward.narrow": ("output.dense",),
}


class Theirs(TypedDict, total=False):
    """Of their config.json, what is read."""

    num_hidden_layers: int
    num_attention_heads: int
    hidden_size: int
    intermediate_size: int
    image_size: int
    patch_size: int
    num_channels: int
    layer_norm_eps: float
    hidden_act: str
    hidden_dropout_prob: float
    qkv_bias: bool
    id2label: dict[str, str]


class Processor(TypedDict, total=False):
    """Of their preprocessor_config.json."""

    do_rescale: bool
    rescale_factor: float
    do_normalize: bool
    image_mean: list[float]
    image_std: list[float]


def config_from(theirs: Theirs) -> Settings:
    """Our Config's fields."""
    activation = theirs.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise LexigraphError(f"This ViT model has the activation {activation!r}; known: {', '.join(ACTIVATIONS)}.")
    if not theirs.get("qkv_bias", True):
        raise LexigraphError("This ViT model has queries and keys without biases; only those with biases are read.")
    return {
        "patch": theirs["patch_size"],
        "layers": theirs["num_hidden_layers"],
        "heads": theirs["num_attention_heads"],
        "dim": theirs["hidden_size"],
        "inner": theirs["intermediate_size"],
        "activation": ACTIVATIONS[activation],
        "eps": float(theirs.get("layer_norm_eps", 1e-12)),
        "dropout": float(theirs.get("hidden_dropout_prob", 0.0)),
    }


def vocabularies_from(theirs: Theirs, processor: Processor) -> dict[str, Vocabulary]:
    """The classes, and what is subtracted from the dots of each channel and what they are divided by."""
    side, channels = theirs["image_size"], theirs.get("num_channels", 3)
    names = theirs["id2label"]
    labels = Labels(tuple(names[str(number)] for number in range(len(names))))
    factor = processor.get("rescale_factor", 1 / 255) if processor.get("do_rescale", True) else 1.0
    normalised = processor.get("do_normalize", True)
    mean = processor.get("image_mean", [0.5] * channels) if normalised else [0.0] * channels
    std = processor.get("image_std", [0.5] * channels) if normalised else [1.0] * channels
    means, deviations = (tuple(float(value) / factor for value in values) for values in (mean, std))
    numbers = Numbers((side, side, channels), sum(means) / channels, sum(deviations) / channels, means, deviations)
    return {IMAGE: numbers, LABEL: labels}


def config_to(config: Config, vocabularies: Vocabularies) -> Settings:
    """Their config.json."""
    height, width, channels = vocabularies.numbers(IMAGE).shape
    named = {ours: theirs for theirs, ours in ACTIVATIONS.items()}
    asked = {
        "model.stem = true": config.stem,
        f'model.positions = "{config.positions}"': config.positions != "1d",
        'model.pooling = "mean"': config.pooling == "mean",
        f'model.activation = "{config.activation}"': config.activation not in named,
        f"pictures of {height} × {width} dots": height != width,
    }
    if wrong := next((name for name, is_set in asked.items() if is_set), None):
        raise LexigraphError(f"transformers' ViT has no place for {wrong}.")
    names = vocabularies.labels(LABEL).names
    return {
        "architectures": ["ViTForImageClassification"],
        "model_type": "vit",
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "hidden_size": config.dim,
        "intermediate_size": config.inner or 4 * config.dim,
        "image_size": height,
        "patch_size": config.patch,
        "num_channels": channels,
        "layer_norm_eps": config.eps,
        "hidden_act": named[config.activation],
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
        "qkv_bias": True,
        "id2label": {str(number): name for number, name in enumerate(names)},
        "label2id": {name: number for number, name in enumerate(names)},
    }


def processor_to(vocabularies: Vocabularies) -> Settings:
    """Their preprocessor_config.json."""
    numbers = vocabularies.numbers(IMAGE)
    height, width, channels = numbers.shape
    means, deviations = (
        numbers.means or (numbers.mean,) * channels,
        numbers.deviations or (numbers.deviation,) * channels,
    )
    return {
        "image_processor_type": "ViTImageProcessor",
        "size": {"height": height, "width": width},
        "do_resize": True,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": True,
        "image_mean": [mean / 255 for mean in means],
        "image_std": [deviation / 255 for deviation in deviations],
    }


def weights_from(theirs: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Our weights: a patch is a row of numbers here, and a convolution sees it there."""
    ours = renamed(theirs, _names(config), "ViT")
    return ours | {
        TOKEN: ours[TOKEN].flatten(),
        POSITIONS: ours[POSITIONS].flatten(0, 1),
        PATCHES: ours[PATCHES].flatten(1),
    }


def weights_to(ours: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Their weights."""
    shaped = ours | {
        TOKEN: ours[TOKEN][None, None],
        POSITIONS: ours[POSITIONS][None],
        PATCHES: ours[PATCHES].unflatten(1, (-1, config.patch, config.patch)),
    }
    return split(shaped, _names(config))


def _names(config: Config) -> list[tuple[str, list[str]]]:
    """Each of our weights, and those of theirs that it is made of."""
    layers = {
        f"encoder.layers.{number}.{ours}": [f"vit.encoder.layer.{number}.{name}" for name in theirs]
        for number in range(config.layers)
        for ours, theirs in LAYER.items()
    }
    parts = {"encoder.embed": [f"{ROOT}.patch_embeddings.projection"], "encoder.norm": ["vit.layernorm"]}
    tables = [(TOKEN, [f"{ROOT}.cls_token"]), (POSITIONS, [f"{ROOT}.position_embeddings"])]
    return tables + both(parts | layers | {"output": ["classifier"]})
