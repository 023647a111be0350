"""Greedy generation against transformers' GPT-2: the same weights, the same tokens out, tokens per second.

python benchmarks/generation.py                      batch 32 and batch 1, 6 layers, d 256, vocabulary 16k, float32
python benchmarks/generation.py --int8               ours with products in 8 bits, and how many tokens change
python benchmarks/generation.py --threads 1 --json generation.json

Both run in turn, round after round, so that a busy machine slows both; the ratio is the median over rounds.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers

import lexigraph
from lexigraph.decoding.sampling import generate
from lexigraph.models.gpt import GPT, Config, Objective
from lexigraph.nn.linear import quantise
from lexigraph.text.vocabularies import Ids, Vocabularies

BARS = {False: {32: 1.3, 1: 1.4}, True: {32: 2.3}}  # in 8 bits or not, by batch size
STD = 0.15  # of random weights: wide enough that the text does not fall into one repeated token


def peer(config: Config, vocabulary: int) -> Any:
    """transformers' GPT-2 of the same shape, with random weights."""
    shape = {"n_layer": config.layers, "n_embd": config.dim, "n_head": config.heads, "n_positions": config.context}
    ends: dict[str, Any] = {"bos_token_id": 0, "eos_token_id": None, "pad_token_id": 0}
    made = transformers.GPT2Config(vocab_size=vocabulary, initializer_range=STD, **shape, **ends)
    return transformers.GPT2LMHeadModel(made).eval()


def copied(theirs: Any, config: Config, vocabulary: int) -> GPT:
    """Lexigraph's GPT with the weights of transformers' GPT-2, whose linear layers are stored transposed."""
    ours = GPT(config, Objective(), Vocabularies({"text": Ids(vocabulary)})).eval()
    body = theirs.transformer
    pairs = [(ours.embedding, body.wte), (ours.positions, body.wpe), (ours.norm, body.ln_f)]
    linear = []
    for mine, block in zip(ours.blocks, body.h, strict=True):
        pairs += [(mine.norm_attention, block.ln_1), (mine.norm_feed_forward, block.ln_2)]
        linear += [(mine.attention.qkv, block.attn.c_attn), (mine.attention.out, block.attn.c_proj)]
        linear += [(mine.feed_forward.widen, block.mlp.c_fc), (mine.feed_forward.narrow, block.mlp.c_proj)]
    with torch.no_grad():
        for mine, other in [*pairs, *linear]:
            mine.weight.copy_(other.weight.T if (mine, other) in linear else other.weight)
            if getattr(mine, "bias", None) is not None:
                mine.bias.copy_(other.bias)
    return ours


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def compare(ours: GPT, theirs: Any, batch: int, options: argparse.Namespace) -> dict[str, Any]:
    """Tokens per second of both, and the ratio."""
    torch.manual_seed(batch)
    ids = torch.randint(1, options.vocabulary, (batch, options.prompt), device=options.device)
    lengths = torch.full((batch,), options.prompt, device=options.device)
    new = options.new

    def here() -> list[list[int]]:
        found = generate(ours, {"ids": ids, "lengths": lengths}, eos=0, max_new=new, temperature=0)
        return [list(hypothesis.tokens) for hypothesis in found]

    def there() -> list[list[int]]:
        read = theirs.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, do_sample=False)
        return read[:, ids.shape[1] :].tolist()

    mine, other = here(), there()  # also warms up
    same = sum(a == b for row, line in zip(mine, other, strict=True) for a, b in zip(row, line, strict=True))
    assert options.int8 or mine == other, "the tokens differ"
    assert all(len(row) == new for row in mine), "a sentence ended early"
    pairs = []
    for number in range(options.rounds):
        works = (here, there) if number % 2 == 0 else (there, here)
        taken = [seconds(work) for work in works]
        pairs.append(taken if number % 2 == 0 else taken[::-1])
    a, b = (statistics.median(column) for column in zip(*pairs, strict=True))
    return {
        "batch": batch,
        "new_tokens": new,
        "different_tokens": len({token for row in mine for token in row}),
        "lexigraph_tokens_per_second": batch * new / a,
        "transformers_tokens_per_second": batch * new / b,
        "ratio": statistics.median(other / mine for mine, other in pairs),
        "same_tokens": same / (batch * new),
        "bar": BARS[options.int8].get(batch),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 1])
    parser.add_argument("--prompt", type=int, default=16)
    parser.add_argument("--new", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--dim", type=int, default=256)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--vocabulary", type=int, default=16_000)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--int8", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    transformers.logging.set_verbosity_error()
    config = Config(layers=options.layers, heads=options.heads, dim=options.dim, context=256, activation="gelu-tanh")
    theirs = peer(config, options.vocabulary)
    ours = copied(theirs, config, options.vocabulary).to(options.device)
    theirs.to(options.device)
    if options.int8:
        quantise(ours)
    with torch.inference_mode():
        rows = [compare(ours, theirs, batch, options) for batch in options.batch]

    versions = {
        "lexigraph": lexigraph.__version__,
        "transformers": transformers.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }
    print(f"greedy, {config.layers} layers, d {config.dim}, {config.heads} heads, vocabulary {options.vocabulary:,}")
    kind, same = "int8" if options.int8 else "float32", min(row["same_tokens"] for row in rows)
    print(f"{kind}, {options.device}, {options.threads} threads, {options.rounds} rounds; same tokens: {same:.0%}")
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    print(f"{'batch':>5}  {'lexigraph tok/s':>15}  {'transformers tok/s':>18}  {'ratio':>6}  {'bar':>5}")
    for row in rows:
        bar = f"{row['bar']:.2f}" if row["bar"] else "–"
        print(f"{row['batch']:>5}  {row['lexigraph_tokens_per_second']:>15,.0f}  "
              f"{row['transformers_tokens_per_second']:>18,.0f}  {row['ratio']:>6.2f}  {bar:>5}")  # fmt: skip
    if options.json:
        facts = {"versions": versions, "threads": options.threads, "device": options.device, "rows": rows}
        options.json.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
