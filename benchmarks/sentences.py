"""Sentences per second of a model of sentence vectors: encode, decode, draw, read; beside transformers of its size.

    python benchmarks/sentences.py books --data books.test.txt [--count 512] [--threads 2]

The peers are a BERT encoder and a BART decoder of the same layers, width and vocabulary with random weights, which
read and write as many tokens in batches of 64; figures are medians of three interleaved rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import torch

import lexigraph
from lexigraph.text.corpus import texts_of


def peers(model: Any, rows: list[list[int]]) -> tuple[Callable[[], object], Callable[[], object]]:
    """The same work by transformers: encoding all rows, and writing as many tokens after a memory of 16 positions."""
    from transformers import BartConfig, BartForConditionalGeneration, BertConfig, BertModel

    config = model.network.config
    size = {"vocab_size": len(model.tokenizer), "max_position_embeddings": 64}
    wide = {"intermediate_size": 4 * config.dim, "num_attention_heads": config.heads}
    layers = config.encoder_layers or config.layers
    bert = BertModel(BertConfig(hidden_size=config.dim, num_hidden_layers=layers, **wide, **size))
    bart = BartForConditionalGeneration(
        BartConfig(d_model=config.dim, encoder_layers=0, decoder_layers=config.layers,
                   decoder_attention_heads=config.heads, decoder_ffn_dim=4 * config.dim, **size))  # fmt: skip
    bert.eval(), bart.eval()
    order = sorted(rows, key=len)
    batches = [order[i : i + 64] for i in range(0, len(order), 64)]

    @torch.inference_mode()
    def encode() -> None:
        for batch in batches:
            width = max(map(len, batch))
            ids = torch.tensor([row + [0] * (width - len(row)) for row in batch])
            bert(ids, attention_mask=(torch.arange(width) < torch.tensor([[len(row)] for row in batch])).long())

    @torch.inference_mode()
    def decode() -> None:
        for batch in batches:
            length = round(sum(map(len, batch)) / len(batch)) + 1  # what it writes on average, as it cannot stop
            memory = torch.zeros(len(batch), 16, dtype=torch.long)
            bart.generate(memory, min_new_tokens=length, max_new_tokens=length, num_beams=1, do_sample=False)

    return encode, decode


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model")
    arguments.add_argument("--data", required=True)
    arguments.add_argument("--count", type=int, default=512)
    arguments.add_argument("--threads", type=int, default=2)
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    model = lexigraph.load(given.model, "cpu")
    fitting = (t for t in texts_of(given.data) if 0 < len(model.tokenizer.encode(t)) < model.network.traits.context)
    texts = list(islice(fitting, given.count))
    z = model.encode(texts)
    pictures = model.pictures(z) if getattr(model.network, "draws", False) else None
    bert, bart = peers(model, [model.tokenizer.encode(text) for text in texts])
    jobs: dict[str, Callable[[], object]] = {"transformers, encode": bert, "transformers, decode": bart}
    jobs |= {"encode": lambda: model.encode(texts), "decode": lambda: model.decode(z)}
    if pictures is not None:
        jobs |= {"draw": lambda: model.pictures(z), "read": lambda: model.read(pictures)}
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for round_ in range(4):
        for name, job in jobs.items():
            begin = time.perf_counter()
            job()
            if round_:
                times[name].append(time.perf_counter() - begin)
    speed = {name: len(texts) / statistics.median(seconds) for name, seconds in times.items()}
    for name, value in speed.items():
        peer = speed.get(f"transformers, {name}")
        print(f"{name:22} {value:8.0f} sentences/s" + (f"   {value / peer:.2f} × transformers" if peer else ""))


if __name__ == "__main__":
    main()
