"""What a run folder of an older format says, in today's words. Nothing is written: it is upgraded as it is read.

format 1    token ids stood in [model] (mask, begin, end, start, sentinels); pairs were a unit of [data]
any         some keys and tensors had other names, at first in format 2 too
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from lexigraph.errors import UsageError

Tables = dict[str, Any]

KEYS = {  # keys that have another name now
    "objective.rate": "objective.mask_rate",
    "objective.hide": "objective.mask_rate",
    "objective.mean": "objective.mean_span",
    "objective.blur": "objective.noise_level",
    "objective.sharp": "objective.clean_fraction",
    "objective.stretch": "objective.position_jitter",
    "train.graphs": "train.cuda_graphs",
    "train.renew": "train.restart_every",
}
TENSORS = {  # parts of networks that have another name now
    "places": "positions",
    "decoder_places": "decoder_positions",
    "look": "picture_encoder",
    "blur": "noise_embedding",
    "hidden_word": "mask_embedding",
}
SYSTEMS = {"lstm-lm": ("rnn-lm", {"cell": "lstm"})}  # systems that are a case of another now, and which
MOVED = {  # by system: parts of its network that are within another one now
    "tagger": {"embedding": "words.embedding", "lstm": "words.lstm.blocks.0.kernel"},
    "lstm-lm": {"lstm": "recurrent.blocks.0.kernel"},
    "vit": {part: f"encoder.{part}" for part in ("embed", "token", "positions", "layers", "norm")},
}
VALUES = {  # keys that say more now: by the old key, the new one and what each old value is there
    "objective.next_sentence": ("objective.second", {True: "order", False: "none"}),
}
RENAMED = {  # keys and values that recipes no longer have → what to do instead
    **{was: f"write {now}" for was, now in KEYS.items()},
    "data.unit = 'pair'": 'leave it out: a translator reads pairs anyway, bart and t5 with objective.noise = "none"',
    "objective.next_sentence": 'write objective.second = "order" (are the parts of a text exchanged?) or "next"',
    **dict.fromkeys(
        ("train.slow", "train.slow_share"),
        "write what each part's rate is multiplied with: train.lr_scale = {encoder = 0.1}",
    ),
    "train.greater_is_better": "leave it out: the task knows of each metric whether greater is better",
    **dict.fromkeys(
        ("model.mask", "model.begin", "model.end"),
        'leave it out: special tokens are found by name, as in tokenizer.special = ["<mask>"]',
    ),
    **dict.fromkeys(
        ("model.sentinels", "model.first_sentinel", "model.sentinel_step"),
        'leave it out: sentinels are found by name, as in tokenizer.special = ["<0>", "<1>", "<2>"]',
    ),
}

ROLES = {"mask": "mask", "begin": "cls", "end": "sep", "start": "start"}  # format 1: key of [model] → role of a token
NUMBERED = ("sentinels", "first_sentinel", "sentinel_step")
GONE = {"train": ("greater_is_better",)}  # keys that are no longer needed


def recipe(tables: Tables, version: int) -> Tables:
    """The tables of a resolved recipe as this version reads them."""
    tables = {name: dict(part) if isinstance(part, dict) else part for name, part in tables.items()}
    for was, now in KEYS.items():
        part, key = was.split(".")
        if key in tables.get(part, {}):
            tables[part][now.split(".")[1]] = tables[part].pop(key)
    for was, (now, meaning) in VALUES.items():
        part, key = was.split(".")
        if key in tables.get(part, {}):
            tables[part][now.split(".")[1]] = meaning[tables[part].pop(key)]
    if "slow" in tables.get("train", {}):
        share = tables["train"].pop("slow_share", 0.0)
        tables["train"]["lr_scale"] = dict.fromkeys(tables["train"].pop("slow"), share)
    if tables.get("system") in SYSTEMS:
        tables["system"], case = SYSTEMS[tables["system"]]
        tables["model"] = case | tables.get("model", {})
    for name, part in tables.get("parts", {}).items():
        if part["system"] in SYSTEMS:
            system, case = SYSTEMS[part["system"]]
            tables["parts"] = tables["parts"] | {name: case | part | {"system": system}}
    if version > 1:
        return tables
    for key in _ids(tables):
        del tables["model"][key]
    for part, keys in GONE.items():
        for key in keys:
            tables[part].pop(key, None)
    if tables["data"].get("unit") == "pair":
        tables["data"]["unit"] = "line"
        if "noise" in tables["objective"]:
            tables["objective"]["noise"] = "none"
    return tables


def roles(tables: Tables, version: int) -> dict[str, int]:
    """The special tokens that an older recipe names by their ids, by the part that they play."""
    model = tables.get("model", {})
    if version > 1:
        return {}
    known = _ids(tables)
    found = {role: model[key] for key, role in ROLES.items() if key in known and model[key] >= 0}
    if NUMBERED[0] in known:
        count, first, step = (model[key] for key in NUMBERED)
        found |= {f"sentinel-{n}": first + n * step for n in range(count)}
    return found


def tensor_name(name: str, system: str, parts: Mapping[str, str] = MappingProxyType({})) -> str:
    """The name that a tensor of a system's network has today, whatever it had before. parts: their systems, by name.

    >>> tensor_name("look.places", "picture"), tensor_name("lstm.bias_hh_l0", "tagger")
    ('picture_encoder.positions', 'words.lstm.blocks.0.kernel.bias_hh_l0')
    >>> tensor_name("reader.lstm.bias_hh_l0", "tagger", {"reader": "lstm-lm"})
    'reader.recurrent.blocks.0.kernel.bias_hh_l0'
    """
    part, dot, rest = name.partition(".")
    if part in parts:
        return part + dot + tensor_name(rest, parts[part])
    name = MOVED.get(system, {}).get(part, part) + dot + rest
    return re.sub(r"\w+", lambda part: TENSORS.get(part[0], part[0]), name)


def first_name(name: str) -> str:
    """The name that a tensor had or would have in format 1: fingerprints outlive names, and pictures with them."""
    was = {now: old for old, now in TENSORS.items()}
    return re.sub(r"\w+", lambda part: was.get(part[0], part[0]), name)


def _ids(tables: Tables) -> list[str]:
    """The keys of [model] that hold token ids; `start` may also be a switch, of another system."""
    model = tables.get("model", {})
    return [key for key in (*ROLES, *NUMBERED) if type(model.get(key)) is int]


def refuse_renamed(dotted: str, value: Any, known: bool, where: str) -> None:
    """Refuse a key or a value that older recipes had, and say what stands in its place."""
    for was in (f"{dotted} = {value!r}", "" if known else dotted):
        if was in RENAMED:
            raise UsageError(f"{where}{was} is gone; {RENAMED[was]}.")
