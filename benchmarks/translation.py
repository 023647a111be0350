"""Beam search against transformers' BART and CTranslate2: the same weights and hypotheses, sentences per second.

    python benchmarks/translation.py          beam 5, 6 + 6 layers, d 256, vocabulary 16k, 32 sentences of 20 tokens
    python benchmarks/translation.py --int8   ours (and CTranslate2's) in 8 bits too, and how many hypotheses change
    python benchmarks/translation.py --threads 1 --json translation.json

All run in turn, round after round, so that a busy machine slows all of them; ratios are medians over rounds.
CTranslate2 takes part where it is installed.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
import transformers

from lexigraph.decoding.beam import beam_search
from lexigraph.exchange import bart as exchange
from lexigraph.models.bart import BART, Config, Objective
from lexigraph.nn.linear import quantise
from lexigraph.text.vocabularies import Ids, Vocabularies

VOCABULARY, EOS, PAD, LENGTH, BEAM = 16_000, 2, 1, 20, 5
STD, SPREAD = 0.15, 4.0  # of random weights: so wide that a token does not only lead to itself


def peer() -> Any:
    """transformers' BART with random weights."""
    torch.manual_seed(0)
    made = transformers.BartConfig(
        vocab_size=VOCABULARY, d_model=256, encoder_layers=6, decoder_layers=6, encoder_attention_heads=8,
        decoder_attention_heads=8, encoder_ffn_dim=1024, decoder_ffn_dim=1024, max_position_embeddings=64,
        init_std=STD, bos_token_id=0, pad_token_id=PAD, eos_token_id=EOS, decoder_start_token_id=EOS,
        forced_eos_token_id=None, forced_bos_token_id=None,
    )  # fmt: skip
    model = transformers.BartForConditionalGeneration(made).eval()
    with torch.no_grad():
        for layer in model.modules():
            if isinstance(layer, torch.nn.Linear) and layer is not model.lm_head:
                layer.weight.mul_(SPREAD)
    return model


def copied(theirs: Any) -> BART:
    """Lexigraph's BART with these weights."""
    config = Config(**exchange.config_from(theirs.config.to_dict()))
    tokens = Ids(VOCABULARY, {"mask": VOCABULARY - 1}, pad=PAD, unk=3, eos=EOS, begin=EOS)
    ours = BART(config, Objective(), Vocabularies({"text": tokens}))
    ours.load_state_dict(exchange.weights_from(theirs.state_dict(), config))
    return ours.eval()


def by_transformers(model: Any, source: torch.Tensor) -> list[list[int]]:
    found = model.generate(
        source, attention_mask=torch.ones_like(source), num_beams=BEAM, max_new_tokens=LENGTH, min_new_tokens=LENGTH,
        do_sample=False, early_stopping=False, length_penalty=1.0,
    )  # fmt: skip
    return [row[1:].tolist() for row in found]


def by_lexigraph(model: BART, source: torch.Tensor) -> list[list[int]]:
    batch = {"ids": source, "lengths": torch.full((len(source),), source.shape[1])}
    found = beam_search(model, batch, eos=EOS, width=BEAM, max_new=LENGTH, min_new=LENGTH, alpha=1.0)
    return [list(row[0].tokens) for row in found]


def ctranslate(
    theirs: Any, folder: Path, kind: str, threads: int
) -> Callable[[torch.Tensor], list[list[int]]] | None:
    """A translator by CTranslate2, or None where it is not installed."""
    try:
        import ctranslate2
    except ImportError:
        return None
    words = [f"w{number}" for number in range(VOCABULARY)]
    words[0], words[PAD], words[EOS], words[3] = "<s>", "<pad>", "</s>", "<unk>"
    gelu = ctranslate2.specs.Activation.GELU
    spec = ctranslate2.specs.TransformerSpec.from_config(
        6, 8, pre_norm=False, activation=gelu, layernorm_embedding=True
    )
    loader = ctranslate2.converters.transformers.BartLoader()
    theirs = copy.deepcopy(theirs)  # converting changes its weights in place
    model = theirs.model
    loader.set_encoder(spec.encoder, model.encoder)
    loader.set_decoder(spec.decoder, model.decoder)
    loader.set_linear(spec.decoder.projection, theirs.lm_head)
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.decoder_start_token = "</s>"
    spec.config.add_source_eos = False
    spec.validate()
    spec.optimize(quantization=None if kind == "float32" else kind)
    folder.mkdir()
    spec.save(str(folder))
    translator = ctranslate2.Translator(
        str(folder), device="cpu", compute_type=kind, intra_threads=threads, inter_threads=1
    )

    def translate(source: torch.Tensor) -> list[list[int]]:
        found = translator.translate_batch(
            [[words[token] for token in row] for row in source.tolist()], beam_size=BEAM, max_decoding_length=LENGTH,
            min_decoding_length=LENGTH, length_penalty=1, max_batch_size=len(source),
        )  # fmt: skip
        index = {word: number for number, word in enumerate(words)}
        return [[index[word] for word in row.hypotheses[0]] for row in found]

    return translate


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=5)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--batch", type=int, default=32)
    arguments.add_argument("--int8", action="store_true")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    torch.set_num_threads(given.threads)
    theirs = peer()
    ours, small = copied(theirs), copied(theirs)
    quantise(small)
    source = torch.randint(4, VOCABULARY, (given.batch, LENGTH), generator=torch.Generator().manual_seed(1))
    source[:, -1] = EOS
    with tempfile.TemporaryDirectory() as folder, torch.inference_mode():
        rivals: dict[str, Any] = {
            "transformers": lambda: by_transformers(theirs, source),
            "Lexigraph": lambda: by_lexigraph(ours, source),
        }
        kinds = ["float32", "int8"] if given.int8 else ["float32"]
        for kind in kinds:
            if translate := ctranslate(theirs, Path(folder) / kind, kind, given.threads):
                rivals[f"CTranslate2 {kind}"] = lambda translate=translate: translate(source)
        if given.int8:
            rivals["Lexigraph int8"] = lambda: by_lexigraph(small, source)
        found = {name: work() for name, work in rivals.items()}  # and warm
        seconds: dict[str, list[float]] = {name: [] for name in rivals}
        for _ in range(given.rounds):
            for name, work in rivals.items():
                begin = time.perf_counter()
                work()
                seconds[name].append(time.perf_counter() - begin)
    wanted = found["transformers"]
    facts = {}
    print("| | sentences/s | ratio to transformers, median (range) | hypotheses equal |\n| --- | --- | --- | --- |")
    for name, times in seconds.items():
        ratios = [theirs / mine for theirs, mine in zip(seconds["transformers"], times, strict=True)]
        same = sum(a == b for a, b in zip(found[name], wanted, strict=True))
        rate = given.batch / statistics.median(times)
        facts[name] = {"sentences_per_second": rate, "ratio": statistics.median(ratios), "equal": same / given.batch}
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {name} | {rate:.1f} | {spread} | {same} of {given.batch} |")
    if given.json:
        given.json.write_text(json.dumps(facts, indent=2))


if __name__ == "__main__":
    main()
