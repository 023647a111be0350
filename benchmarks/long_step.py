"""Time and peak memory of one training step on one long text: a Longformer of 6 layers, width 256, 8,000 tokens.

python benchmarks/long_step.py [--length 32768] [--system longformer-lm] [--window 512]

A step is forward, backward and AdamW, in float32 with one thread. The second of two is timed, in CPU seconds. Memory
is the highest resident size of the process (Linux), with all that Python and torch take.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
import torch

from lexigraph.objectives.terms import value
from lexigraph.registry import system
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.text.vocabularies import Vocabularies


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--system", default="longformer-lm", choices=("longformer-lm", "longformer", "gpt", "bert"))
    parser.add_argument("--length", type=int, default=32768)
    parser.add_argument("--window", type=int, default=512, help="of the Longformers")
    parser.add_argument("--vocabulary", type=int, default=8000)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    special = ["<mask>"]
    words = [f"w{number}" for number in range(options.vocabulary - 4)]
    tokenizer = Tokenizer.train([" ".join(words)], kind="word", size=options.vocabulary, special=special)
    found = system(options.system)
    shape = {"layers": 6, "heads": 4, "dim": 256, "context": options.length, "dropout": 0.0}
    if options.system.startswith("longformer"):
        shape["window"] = (options.window,)
    module = found.module()
    network = found.network_class()(
        module.Config(**shape), module.Objective(), Vocabularies({"text": tokenizer})
    ).train()
    optimizer = torch.optim.AdamW(network.parameters(), fused=True)
    ids = np.random.default_rng(0).integers(4, len(tokenizer), network.traits.context - 1)
    batch = network.prepare({"text": [np.array([tokenizer.eos, *ids, tokenizer.eos])]})
    for _ in range(2):
        begin = time.process_time()
        optimizer.zero_grad()
        value(network.loss(batch)[0]).backward()
        optimizer.step()
        took = time.process_time() - begin
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 2**20
    weights = sum(parameter.numel() for parameter in network.parameters())
    print(
        f"{options.system}, {len(tokenizer):,} tokens of vocabulary, {weights / 1e6:.1f} million weights, a text of "
        f"{batch['inputs'].shape[1]:,} tokens: {took:.1f} s a step, peak {peak:.2f} GiB"
    )


if __name__ == "__main__":
    main()
