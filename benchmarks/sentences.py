"""Sentences per second of a model of sentence vectors: encode, decode, draw, read; beside transformers of its size.

    python benchmarks/sentences.py books --data books.test.txt [--count 512] [--threads 2]

The peers are a BERT encoder and a BART decoder of the same layers, width and vocabulary with random weights. All work
from text to text: texts are cut by the same vocabulary with a token before and behind them, and what is written
becomes text again. The decoder is given a memory of 16 positions and writes as many tokens as there are, sentences of
like length together, since random weights do not stop by themselves. The peers' batches have the better of 64 and 256
sentences. Ratios are medians over interleaved rounds.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch

import lexigraph
from lexigraph.text.corpus import texts_of

BATCHES = (64, 256)


def reader(model: Any) -> Any:
    """The model's vocabulary as a tokenizer of transformers, which adds a token before and behind."""
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing
    from transformers import PreTrainedTokenizerFast

    names = {number: name for name, number in model.tokenizer.special.items()}
    end, pad = names[model.tokenizer.eos], names[model.tokenizer.pad]
    with tempfile.TemporaryDirectory() as folder:
        model.tokenizer.save(file := Path(folder) / "tokenizer.json")
        rules = Tokenizer.from_file(str(file))
    rules.post_processor = TemplateProcessing(single=f"{end} $A {end}", special_tokens=[(end, model.tokenizer.eos)])
    return PreTrainedTokenizerFast(tokenizer_object=rules, pad_token=pad, eos_token=end)


def peers(model: Any, texts: Sequence[str]) -> tuple[Callable[[int], object], Callable[[int], object]]:
    """The same work by transformers, in batches of so many sentences: encoding texts, and writing as many tokens."""
    from transformers import BartConfig, BartForConditionalGeneration, BertConfig, BertModel

    config, cut = model.network.config, reader(model)
    size = {"vocab_size": len(model.tokenizer), "max_position_embeddings": 64}
    wide = {"intermediate_size": 4 * config.dim, "num_attention_heads": config.heads}
    layers = config.encoder_layers or config.layers
    bert = BertModel(BertConfig(hidden_size=config.dim, num_hidden_layers=layers, **wide, **size))
    bart = BartForConditionalGeneration(
        BartConfig(d_model=config.dim, encoder_layers=0, decoder_layers=config.layers,
                   decoder_attention_heads=config.heads, decoder_ffn_dim=4 * config.dim, **size))  # fmt: skip
    bert.eval(), bart.eval()
    lengths = sorted(len(row) - 1 for row in cut(list(texts))["input_ids"])  # of what is written, the end included

    @torch.inference_mode()
    def encode(batch: int) -> list[torch.Tensor]:
        rows = sorted(cut(list(texts))["input_ids"], key=len)
        parts = (rows[i : i + batch] for i in range(0, len(rows), batch))
        return [bert(**cut.pad({"input_ids": part}, return_tensors="pt")).last_hidden_state[:, 0] for part in parts]

    @torch.inference_mode()
    def decode(batch: int) -> list[str]:
        found: list[str] = []
        for part in (lengths[i : i + batch] for i in range(0, len(lengths), batch)):
            length = round(sum(part) / len(part))  # on average, as it cannot stop
            memory = torch.zeros(len(part), 16, dtype=torch.long)
            ids = bart.generate(memory, min_new_tokens=length, max_new_tokens=length, num_beams=1, do_sample=False)
            found += cut.batch_decode(ids)
        return found

    return encode, decode


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("model")
    arguments.add_argument("--data", required=True)
    arguments.add_argument("--count", type=int, default=512)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--rounds", type=int, default=5)
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    model = lexigraph.load(given.model, "cpu")
    fitting = (t for t in texts_of(given.data) if 0 < len(model.tokenizer.encode(t)) < model.network.traits.context)
    texts = list(islice(fitting, given.count))
    z = model.encode(texts)
    pictures = model.pictures(z) if getattr(model.network, "draws", False) else None
    jobs: dict[str, Callable[[], object]] = {
        "encode": lambda: model.encode(texts),
        "decode": lambda: model.decode(z),
    }
    for name, job in zip(("encode", "decode"), peers(model, texts), strict=True):
        jobs |= {f"transformers, {name}, {size}": lambda job=job, size=size: job(size) for size in BATCHES}
    if pictures is not None:
        jobs |= {"draw": lambda: model.pictures(z), "read": lambda: model.read(pictures)}
    times: dict[str, list[float]] = {name: [] for name in jobs}
    for round_ in range(given.rounds + 1):
        for name, job in jobs.items():
            begin = time.perf_counter()
            job()
            if round_:
                times[name].append(time.perf_counter() - begin)
    for name, seconds in times.items():
        print(f"{name:30} {len(texts) / statistics.median(seconds):8.0f} sentences/s")
    for name in ("encode", "decode"):
        best = min((times[f"transformers, {name}, {size}"] for size in BATCHES), key=statistics.median)
        ratios = sorted(theirs / ours for ours, theirs in zip(times[name], best, strict=True))
        spread = f"{ratios[0]:.2f} to {ratios[-1]:.2f}"
        print(f"{name}: {statistics.median(ratios):.2f} times transformers ({spread}, {len(ratios)} rounds)")


if __name__ == "__main__":
    main()
