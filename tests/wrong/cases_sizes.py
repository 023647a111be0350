"""Sizes that no machine has, numbers beyond all numbers, damaged and hostile files, folders of other libraries."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.wrong.case import FAILED, WRONG_USAGE, Case, Made

NESTED = "[" * 100_000 + "]" * 100_000
NESTED_TABLE = '{"a":' * 50_000 + "1" + "}" * 50_000
DIGITS = '{"format": ' + "9" * 10_000 + "}"
HUGE = 10**12
TRAIN = "train gpt --data good.txt --out o"
WORDS = "train {} --data good.txt --out o --set words.min_count=1"


def changed(**settings: object) -> Callable[[Path], None]:
    """A JSON file with other values."""

    def change(path: Path) -> None:
        path.write_text(json.dumps(json.loads(path.read_text()) | settings))

    return change


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def array_of(shape: str) -> bytes:
    """A .npy file whose header promises more than the file holds."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(64)


def safetensors(header: str, length: int | None = None) -> bytes:
    """A safetensors file with this header, which may lie about its length."""
    return struct.pack("<Q", len(header) if length is None else length) + header.encode() + bytes(64)


def objects(path: Path) -> None:
    np.save(path, np.array([{}], object), allow_pickle=True)


def recipe_with(line: str, instead: str) -> Callable[[Path], None]:
    """A recipe in which a line is another."""

    def change(path: Path) -> None:
        lines = path.read_text().splitlines()
        assert any(each.startswith(line) for each in lines)
        path.write_text("\n".join(instead if each.startswith(line) else each for each in lines) + "\n")

    return change


def folder(config: str, **files: Made) -> dict[str, Made]:
    """A Hugging Face folder with these files."""
    whole: dict[str, Made] = {"theirs/config.json": config}
    return whole | {f"theirs/{name.replace('__', '.')}": made for name, made in files.items()}


def sizes() -> dict[str, Case]:
    """What a recipe asks for."""
    cases = {}
    for key, value in {
        "model.layers": 10**8, "model.dim": 10**9, "model.context": HUGE, "model.inner": HUGE, "model.heads": HUGE
    }.items():  # fmt: skip
        cases[f"{key} = {value}"] = Case(f"{TRAIN} --set {key}={value}", (f"{key} = {value}",))
    cases["model.heads = 1000000000000"] = Case(f"{TRAIN} --set model.heads={HUGE}", ("model.heads",))
    for key, value in {
        "tokenizer.size": "1000000000000", "train.lr": "1e400", "train.lr ": "1e300", "train.lr  ": "nan",
        "train.lr   ": "-inf", "train.weight_decay": "inf", "train.seed": "-1", "train.seed ": "9" * 40,
        "train.accumulate": str(HUGE), "train.batch_tokens": str(HUGE), "eval.batch_tokens": str(HUGE),
        "eval.streams": str(HUGE), "data.sentences": str(HUGE), "train.steps": "1" + "0" * 30,
        "model.dropout": "nan", "train.clip": "inf", "train.eps": "1e999", "train.betas": "nan,0.9",
    }.items():  # fmt: skip
        key = key.strip()
        cases[f"{key} = {value[:12]}"] = Case(f"{TRAIN} --set {key}={value}", (key,), WRONG_USAGE)
    for method, key, value in [
        ("skipgram", "window", 10**9), ("glove", "window", 10**9), ("ppmi-svd", "window", 10**9),
        ("skipgram", "seed", -1), ("skipgram", "seed", 10**17), ("skipgram", "threads", 10**9),
        ("skipgram", "negative", 10**9), ("skipgram", "epochs", HUGE), ("fasttext", "maxn", HUGE),
        ("skipgram", "alpha", "1e400"), ("skipgram", "alpha", "1e300"), ("glove", "x_max", "inf"),
    ]:  # fmt: skip
        command = f"{WORDS.format(method)} --set words.{key}={value}"
        cases[f"{method}: words.{key} = {value}"] = Case(command, (f"words.{key}",), WRONG_USAGE)
    for method, key, value in [
        ("skipgram", "dim", 10**9), ("cbow", "dim", 10**15), ("glove", "dim", 10**9), ("lsa", "dim", 10**9),
        ("fasttext", "buckets", HUGE),
    ]:  # fmt: skip
        command = f"{WORDS.format(method)} --set words.{key}={value}"
        cases[f"{method}: words.{key} = {value}"] = Case(command, (f"words.{key} = {value}", "memory"))
    return cases


OPTIONS = {
    "a beam of 100000": Case("generate @gpt the --beam 100000", ("--beam",), WRONG_USAGE),
    "a beam of nothing": Case("generate @gpt the --beam 0", ("--beam",), WRONG_USAGE),
    "tokens without end": Case(f"generate @gpt the --max-new {HUGE}", ("--max-new",), WRONG_USAGE),
    "a beam without end": Case(f"complete @gpt the --max-new {HUGE}", ("--max-new",), WRONG_USAGE),
    "texts without end": Case(f"generate @gpt the --count {HUGE}", ("--count",), WRONG_USAGE),
    "endings without end": Case(f"complete @gpt the --n-best {HUGE}", ("--n-best",), WRONG_USAGE),
    "a table of beams without end": Case(
        "diagnose @gpt --data good.txt --beams 1,1000000000", ("--beams", "1000000000"), WRONG_USAGE
    ),
    "a temperature beyond all": Case("generate @gpt the --temperature inf", ("temperature", "inf"), WRONG_USAGE),
    "a seed below 0": Case("sample @picture --seed -1", ("--seed",), WRONG_USAGE),
    "samples without end": Case(f"sample @picture --count {HUGE}", ("--count",), WRONG_USAGE),
    "steps without end": Case(f'blend @picture "She sings ." "He sang ." --steps {HUGE}', ("--steps",), WRONG_USAGE),
    "a pipeline of what cannot be cut": Case(
        "train lstm-lm --data good.txt --out o --set train.parallel=pipeline",
        ("train.parallel=pipeline", "ddp or fully_shard"),
        WRONG_USAGE,
    ),
    "a pipeline that is compiled": Case(
        f"{TRAIN} --set train.parallel=pipeline --set train.compile=true", ("train.compile", "pipeline"), WRONG_USAGE
    ),
    "a parallel training of another kind": Case(
        f"{TRAIN} --set train.parallel=pipelined",
        ("train.parallel", "pipelined", "fully_shard, pipeline"),
        WRONG_USAGE,
    ),
    "a run that becomes a pipeline": Case(
        "train --out @gpt --resume --set train.parallel=pipeline", ("train.parallel", "'ddp' became")
    ),
    "a tokenizer of 10^12": Case(
        f"tokenize good.txt --train bpe --size {HUGE} --out t.json", ("size", str(HUGE)), WRONG_USAGE
    ),
}

DAMAGED = {
    "a nested config": Case("info @gpt", ("gpt/config.json", "damaged"), given={"gpt/config.json": NESTED}),
    "a deep table": Case("generate @gpt the", ("gpt/config.json",), given={"gpt/config.json": NESTED_TABLE}),
    "a number of 10000 digits": Case("info @gpt", ("gpt/config.json",), given={"gpt/config.json": DIGITS}),
    "a config of bytes": Case("info @gpt", ("gpt/config.json",), given={"gpt/config.json": b"\xff\xfe\x00{"}),
    "nested results": Case("info @gpt", ("gpt/results.json",), given={"gpt/results.json": NESTED}),
    "half of the results": Case("info @gpt", ("gpt/results.json", "damaged"), given={"gpt/results.json": cut}),
    "a nested tokenizer": Case("generate @gpt the", ("gpt/tokenizer.json",), given={"gpt/tokenizer.json": NESTED}),
    "a tokenizer of another kind": Case("generate @gpt the", ("tokenizer.json",), given={"gpt/tokenizer.json": "[]"}),
    "a nested recipe": Case(
        "generate @gpt the", ("gpt/recipe.toml",), given={"gpt/recipe.toml": "x = " + "[" * 5_000 + "]" * 5_000}
    ),
    "a recipe of 10^9": Case(
        "generate @gpt the", ("model.dim = 1000000000", "memory"),
        given={"gpt/recipe.toml": recipe_with("dim = ", "dim = 1000000000")},
    ),
    "a recipe of 10^8 layers": Case(
        "generate @gpt the", ("model.layers = 100000000",),
        given={"gpt/recipe.toml": recipe_with("layers = ", "layers = 100000000")},
    ),
    "nested lines of data": Case(
        "check bad.jsonl", ("bad.jsonl", "line 1"), given={"bad.jsonl": '{"text": ' + "[" * 99_999 + "\n"}
    ),
    "digits in data": Case("check bad.jsonl", ("bad.jsonl", "line 1"), given={"bad.jsonl": '{"text": ' + "1" * 9999}),
    "half of the baseline": Case(
        "eval @gpt --data good.txt", ("gpt/unigrams.npy",), given={"gpt/unigrams.npy": cut}
    ),
    "a baseline without end": Case(
        "eval @gpt --data good.txt", ("gpt/unigrams.npy",), given={"gpt/unigrams.npy": array_of("(10000000000000,)")}
    ),
    "a baseline of objects": Case(
        "eval @gpt --data good.txt", ("gpt/unigrams.npy",), given={"gpt/unigrams.npy": objects}
    ),
    "no baseline": Case(
        "eval @gpt --data good.txt", ("gpt/unigrams.npy",), given={"gpt/unigrams.npy": lambda path: path.unlink()}
    ),
    "vectors that are none": Case("decode @picture z.npy", ("z.npy",), given={"z.npy": b"\x93NUMPY\x01\x00\xff"}),
    "vectors without end": Case("decode @picture z.npy", ("z.npy",), given={"z.npy": array_of("(10000000000, 16)")}),
    "vectors of objects": Case("decode @picture z.npy", ("z.npy",), given={"z.npy": objects}),
    "half of the weights": Case(
        "generate @gpt the", ("gpt/model.safetensors",), given={"gpt/model.safetensors": cut}
    ),
    "weights with a header of 10^18": Case(
        "generate @gpt the", ("gpt/model.safetensors", "damaged"),
        given={"gpt/model.safetensors": safetensors("{}", 10**18)},
    ),
    "weights with a nested header": Case(
        "generate @gpt the", ("gpt/model.safetensors",), given={"gpt/model.safetensors": safetensors(NESTED_TABLE)}
    ),
    "weights of 10^18 numbers": Case(
        "generate @gpt the", ("gpt/model.safetensors",),
        given={"gpt/model.safetensors": safetensors(
            '{"a":{"dtype":"F32","shape":[1000000000,1000000000],"data_offsets":[0,64]}}')},
    ),
    "weights beside the file": Case(
        "generate @gpt the", ("gpt/model.safetensors",),
        given={"gpt/model.safetensors": safetensors('{"a":{"dtype":"F32","shape":[16],"data_offsets":[64,128]}}')},
    ),
}  # fmt: skip

GPT2 = {"model_type": "gpt2", "n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 32, "vocab_size": 8}
SMALL = safetensors('{"a":{"dtype":"F32","shape":[4,4],"data_offsets":[0,64]}}')
CONVERT = "convert theirs out"
OUTSIDE = json.dumps({"weight_map": {"a": "../good.txt"}})
ABSOLUTE = json.dumps({"weight_map": {"a": "/etc/hostname"}})


def linked(path: Path) -> None:
    """An index whose one file is a link to a file outside."""
    (path.parent / "part.safetensors").symlink_to("../good.txt")
    path.write_text(json.dumps({"weight_map": {"a": "part.safetensors"}}))


FOLDERS = {
    "a nested config of theirs": Case(CONVERT, ("theirs/config.json", "damaged"), given=folder(NESTED)),
    "a list for a config": Case(CONVERT, ("theirs/config.json", "table"), given=folder("[1]")),
    "an index that leads out": Case(
        CONVERT, ("model.safetensors.index.json", "../good.txt", "leads out of the folder"),
        given=folder(json.dumps(GPT2), model__safetensors__index__json=OUTSIDE),
    ),
    "an index that names a place of its own": Case(
        CONVERT, ("model.safetensors.index.json", "/etc/hostname", "leads out of the folder"),
        given=folder(json.dumps(GPT2), model__safetensors__index__json=ABSOLUTE),
    ),
    "an index whose link leads out": Case(
        CONVERT, ("model.safetensors.index.json", "part.safetensors", "leads out of the folder"),
        given=folder(json.dumps(GPT2), model__safetensors__index__json=linked),
    ),
    "an index of numbers": Case(
        CONVERT, ("model.safetensors.index.json", "weight_map"),
        given=folder(json.dumps(GPT2), model__safetensors__index__json='{"weight_map": {"a": 1}}'),
    ),
    "a nested index": Case(
        CONVERT, ("model.safetensors.index.json", "damaged"),
        given=folder(json.dumps(GPT2), model__safetensors__index__json=NESTED),
    ),
    "a nested tokenizer of theirs": Case(
        CONVERT, ("theirs/tokenizer.json", "damaged"),
        given=folder(json.dumps(GPT2 | {"vocab_size": 4}), model__safetensors=SMALL, tokenizer__json=NESTED),
    ),
    "a vocabulary of 10^12": Case(
        CONVERT, ("theirs/config.json", "vocab_size = 1000000000000"),
        given=folder(json.dumps(GPT2 | {"vocab_size": HUGE}), model__safetensors=SMALL, tokenizer__json="{}"),
    ),
    "weights of theirs without end": Case(
        CONVERT, ("theirs/model.safetensors",),
        given=folder(json.dumps(GPT2), model__safetensors=safetensors("{}", 2**63)),
    ),
    "an activation of theirs": Case(
        CONVERT, ("activation",),
        given=folder(json.dumps(GPT2 | {"activation_function": "none"}), model__safetensors=SMALL),
    ),
}  # fmt: skip

CASES = {**sizes(), **OPTIONS, **DAMAGED, **FOLDERS}
assert all(case.code in (FAILED, WRONG_USAGE) for case in CASES.values())
