"""What a run folder of an older format says, in today's words. Nothing is written: it is upgraded as it is read.

format 1    token ids stood in [model] (mask, begin, end, start, sentinels); pairs were a unit of [data]
"""

from __future__ import annotations

from typing import Any

from lexigraph.errors import UsageError

Tables = dict[str, Any]

RENAMED = {  # keys and values that recipes no longer have → what to do instead
    "data.unit = 'pair'": 'leave it out: a translator reads pairs anyway, bart and t5 with objective.noise = "none"',
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
    if version > 1:
        return tables
    tables = {name: dict(part) if isinstance(part, dict) else part for name, part in tables.items()}
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


def _ids(tables: Tables) -> list[str]:
    """The keys of [model] that hold token ids; `start` may also be a switch, of another system."""
    model = tables.get("model", {})
    return [key for key in (*ROLES, *NUMBERED) if type(model.get(key)) is int]


def refuse_renamed(dotted: str, value: Any, known: bool, where: str) -> None:
    """Refuse a key or a value that older recipes had, and say what stands in its place."""
    for was in (f"{dotted} = {value!r}", "" if known else dotted):
        if was in RENAMED:
            raise UsageError(f"{where}{was} is gone; {RENAMED[was]}.")
