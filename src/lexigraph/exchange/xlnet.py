"""XLNet's weights and settings under transformers' names (XLNetLMHeadModel), and back.

transformers keeps q, k, v, r and o as (d, H, D), and its segment vectors whether they are used or not.
"""

from __future__ import annotations

from typing import TypedDict

import torch
from torch import Tensor

from lexigraph.errors import LexigraphError
from lexigraph.exchange.settings import Settings
from lexigraph.models.xlnet import Config

MODEL_TYPES = ("xlnet",)
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu-tanh", "relu": "relu", "silu": "silu", "swish": "silu"}
SUPPORTED: dict[str, bool | str] = {  # what other values would ask for is not here
    "attn_type": "bi",
    "bi_data": False,
    "same_length": False,
    "untie_r": True,
    "tie_word_embeddings": True,
}
CONTEXT = 512  # of the published models; nothing in the weights depends on it
LAYER = {  # what has the same form on both sides
    "rel_attn.layer_norm.weight": "norm_attention.weight",
    "rel_attn.layer_norm.bias": "norm_attention.bias",
    "ff.layer_norm.weight": "norm_feed_forward.weight",
    "ff.layer_norm.bias": "norm_feed_forward.bias",
    "ff.layer_1.weight": "feed_forward.widen.weight",
    "ff.layer_1.bias": "feed_forward.widen.bias",
    "ff.layer_2.weight": "feed_forward.narrow.weight",
    "ff.layer_2.bias": "feed_forward.narrow.bias",
}
BIASES = {"r_w_bias": "by_content", "r_r_bias": "by_distance", "r_s_bias": "by_segment"}  # (H, D), (H, 1, D)


class Theirs(TypedDict, total=False):
    """Of their config.json, what is read."""

    n_layer: int
    n_head: int
    d_model: int
    d_head: int
    d_inner: int
    ff_activation: str
    dropout: float
    layer_norm_eps: float
    mem_len: int | None
    clamp_len: int | None


def config_from(theirs: Theirs) -> Settings:
    """The fields of our Config."""
    for key, wanted in SUPPORTED.items():
        if theirs.get(key, wanted) != wanted:
            raise LexigraphError(f"An XLNet with {key} = {theirs.get(key)!r} is not supported, only with {wanted!r}.")
    if (theirs.get("clamp_len") or -1) > 0:
        raise LexigraphError("An XLNet whose distances are clamped (clamp_len) is not supported.")
    activation = theirs.get("ff_activation", "gelu")
    if activation not in ACTIVATIONS:
        raise LexigraphError(f"The activation {activation!r} is not supported, only {', '.join(ACTIVATIONS)}.")
    dim, heads = theirs.get("d_model", 1024), theirs.get("n_head", 16)
    if theirs.get("d_head") not in (None, dim // heads):
        raise LexigraphError(f"Heads of width {theirs['d_head']} are not supported: {heads} of them must fill {dim}.")
    return {
        "layers": theirs.get("n_layer", 24),
        "heads": heads,
        "dim": dim,
        "context": CONTEXT,
        "memory": theirs.get("mem_len") or 0,
        "inner": theirs.get("d_inner", 4096),
        "activation": ACTIVATIONS[activation],
        "dropout": float(theirs.get("dropout", 0.1)),
        "segments": True,
        "eps": theirs.get("layer_norm_eps", 1e-12),
    }


def config_to(config: Config, vocabulary: int) -> Settings:
    """Their config.json."""
    if config.activation == "swish":
        raise LexigraphError("transformers has no swish with a learned factor: this model cannot be exported.")
    return {
        "architectures": ["XLNetLMHeadModel"],
        "model_type": "xlnet",
        "vocab_size": vocabulary,
        "n_layer": config.layers,
        "n_head": config.heads,
        "d_model": config.dim,
        "d_head": config.dim // config.heads,
        "d_inner": config.inner or 4 * config.dim,
        "ff_activation": next(name for name, ours in ACTIVATIONS.items() if ours == config.activation),
        "dropout": config.dropout,
        "layer_norm_eps": config.eps,
        "mem_len": config.memory or None,
        **SUPPORTED,
    }


def weights_from(theirs: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Our weights."""
    left = dict(theirs)
    ours = {
        "embedding.weight": left.pop("transformer.word_embedding.weight"),
        "mask_embedding": left.pop("transformer.mask_emb").flatten(),
        "bias": left.pop("lm_loss.bias"),
    }
    left.pop("lm_loss.weight", None)  # the embedding again
    for number in range(config.layers):
        old, new = f"transformer.layer.{number}.", f"blocks.{number}."
        ours |= {new + mine: left.pop(old + name) for name, mine in LAYER.items()}
        q, k, v, r = (left.pop(f"{old}rel_attn.{name}").flatten(1).T for name in "qkvr")  # (HD, d)
        ours[f"{new}attention.query.weight"], ours[f"{new}attention.distance.weight"] = q, r
        ours[f"{new}attention.key_value.weight"] = torch.cat([k, v])
        ours[f"{new}attention.out.weight"] = left.pop(f"{old}rel_attn.o").flatten(1)
        biases = {mine: left.pop(f"{old}rel_attn.{name}").unsqueeze(1) for name, mine in BIASES.items()}
        biases["segment"] = left.pop(f"{old}rel_attn.seg_embed").transpose(0, 1)
        ours |= {
            f"{new}attention.{name}": value for name, value in biases.items() if config.segments or "seg" not in name
        }
    return ours | left


def weights_to(ours: dict[str, Tensor], config: Config) -> dict[str, Tensor]:
    """Their weights; segments that were never learned are 0 there."""
    theirs = {
        "transformer.word_embedding.weight": ours["embedding.weight"],
        "transformer.mask_emb": ours["mask_embedding"][None, None],
        "lm_loss.bias": ours["bias"],
    }
    heads, width = config.heads, config.dim // config.heads
    for number in range(config.layers):
        old, new = f"transformer.layer.{number}.", f"blocks.{number}."
        theirs |= {old + name: ours[new + mine] for name, mine in LAYER.items()}
        k, v = ours[f"{new}attention.key_value.weight"].chunk(2)
        heads_first = {
            "q": ours[f"{new}attention.query.weight"],
            "k": k,
            "v": v,
            "r": ours[f"{new}attention.distance.weight"],
        }
        theirs |= {f"{old}rel_attn.{name}": value.T.reshape(-1, heads, width) for name, value in heads_first.items()}
        theirs[f"{old}rel_attn.o"] = ours[f"{new}attention.out.weight"].view(-1, heads, width)
        unused = ours["bias"].new_zeros(heads, 2, width)
        biases = {name: ours.get(f"{new}attention.{mine}", unused[:, :1]) for name, mine in BIASES.items()}
        theirs |= {f"{old}rel_attn.{name}": value.squeeze(1) for name, value in biases.items()}
        theirs[f"{old}rel_attn.seg_embed"] = ours.get(f"{new}attention.segment", unused).transpose(0, 1)
    return theirs
