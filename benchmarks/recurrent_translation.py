"""Beam search of a recurrent translator against the same network of plain torch.nn modules and a simple beam.

    python benchmarks/recurrent_translation.py RUN --file test.en            a trained `seq2seq` of one layer
    python benchmarks/recurrent_translation.py RUN --file test.en --threads 2

The peer has nn.Embedding, nn.LSTM and nn.Linear with the same weights. Its beam is the one that everybody writes: all
hypotheses of a batch side by side, log-softmax over the vocabulary, the best of width · vocabulary, rows picked
by index, until every sentence has as many ended hypotheses as the beam is wide or the length is reached. It runs on
whole batches as ours does, and on single sentences. Both take turns; ratios are medians over rounds. The bar is 1.3.
"""

from __future__ import annotations

import argparse
import statistics
import time
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor, nn

import lexigraph
from lexigraph.abilities.translating import Translator
from lexigraph.text.corpus import texts_of

BEAM, ALPHA = 5, 0.7


class Plain(nn.Module):
    """One layer each, additive attention after the step, tied output: `seq2seq` as its recipe has it."""

    def __init__(self, model: Translator) -> None:
        super().__init__()
        ours, config = model.network, model.recipe.model
        assert (config.cell, config.layers, config.attention, config.attends) == ("lstm", 1, "additive", "after")
        assert (config.bidirectional, config.tied, config.feeding) == ("all", True, False)
        assert not model.recipe.tokenizer.separate
        self.embedding = nn.Embedding.from_pretrained(ours.embedding.weight.detach())
        self.encoder, self.decoder = ours.encoder[0].blocks[0].kernel, ours.decoder.blocks[0].kernel
        self.of_query, self.of_memory = ours.alignment.of_query, ours.alignment.of_memory
        self.v, self.readout, self.bias = ours.alignment.v, ours.readout, ours.bias

    def encode(self, ids: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor, tuple[Tensor, Tensor]]:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(ids), lengths, batch_first=True, enforce_sorted=False
        )
        outputs, (h, c) = self.encoder(packed)
        memory, _ = nn.utils.rnn.pad_packed_sequence(outputs, batch_first=True)
        padding = torch.arange(memory.shape[1]) >= lengths[:, None]
        join = lambda state: torch.cat([state[0], state[1]], 1)[None]  # noqa: E731
        return memory, self.of_memory(memory), padding, (join(h), join(c))

    def step(self, tokens: Tensor, state: tuple[Tensor, Tensor], memory: Tensor, keys: Tensor, padding: Tensor):
        output, state = self.decoder(self.embedding(tokens)[:, None], state)
        scores = self.v((self.of_query(output) + keys).tanh()).squeeze(2).masked_fill(padding, -torch.inf)
        context = (scores.softmax(1)[:, None] @ memory)[:, 0]
        hidden = self.readout(torch.cat([output[:, 0], context], 1)).tanh()
        return hidden @ self.embedding.weight.T + self.bias, state


@torch.no_grad()
def simple_beam(
    network: Plain, ids: Tensor, lengths: Tensor, eos: int, banned: list[int], longest: int
) -> list[list[int]]:
    """The best hypothesis of each sentence by Σ log p / T^α."""
    n, width = len(ids), BEAM
    memory, keys, padding, (h, c) = network.encode(ids, lengths)
    memory, keys, padding = (x.repeat_interleave(width, 0) for x in (memory, keys, padding))
    state = tuple(x.repeat_interleave(width, 1) for x in (h, c))
    tokens, sums = torch.full((n * width,), eos), torch.full((n, width), -torch.inf)
    sums[:, 0] = 0
    written = [[[] for _ in range(width)] for _ in range(n)]
    ended: list[list[tuple[float, list[int]]]] = [[] for _ in range(n)]
    for t in range(1, longest + 1):
        logits, state = network.step(tokens, state, memory, keys, padding)
        log_p = logits.log_softmax(1)
        log_p[:, banned] = -torch.inf
        total = (sums[:, :, None] + log_p.view(n, width, -1)).flatten(1)
        best, places = total.topk(2 * width, 1)
        rows, words, kept = [], [], torch.full((n, width), -torch.inf)
        for i in range(n):
            new: list[list[int]] = []
            for score, place in zip(best[i].tolist(), places[i].tolist(), strict=True):
                row, word = divmod(place, log_p.shape[1])
                if word == eos:
                    ended[i].append((score / t**ALPHA, written[i][row]))
                elif len(new) < width:
                    kept[i, len(new)] = score
                    rows.append(i * width + row)
                    words.append(word)
                    new.append([*written[i][row], word])
            written[i] = new
        if all(len(each) >= width for each in ended) or t == longest:
            break
        sums, tokens, order = kept, torch.tensor(words), torch.tensor(rows)
        state = tuple(x[:, order] for x in state)
    return [max(each or [(0.0, written[i][0])])[1] for i, each in enumerate(ended)]


def by_peer(network: Plain, model: Translator, rows: list[list[int]], size: int) -> list[str]:
    found: list[str] = []
    banned = [token for token in model.tokenizer.special.values() if token != model.tokenizer.eos]
    for first in range(0, len(rows), size):
        some = rows[first : first + size]
        lengths = torch.tensor([len(row) for row in some])
        ids = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in some], batch_first=True)
        longest = min(model.network.context, 2 * int(lengths.max()) + 10)
        best = simple_beam(network, ids, lengths, model.tokenizer.eos, banned, longest)
        found += model.tokenizer.decode_batch(best)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--file", required=True, help="sources, one a line")
    parser.add_argument("--sentences", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = lexigraph.load(options.run, "cpu")
    assert isinstance(model, Translator)
    texts = list(islice(texts_of(options.file), options.sentences))
    rows = [[*model.tokenizer.encode(text), model.tokenizer.eos] for text in texts]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))  # like lengths together, as ours are
    plain, sorted_rows = Plain(model).eval(), [rows[i] for i in order]
    for size in (32, 1):
        some = texts if size > 1 else texts[:32]
        peers = sorted_rows if size > 1 else rows[:32]

        def ours(some: list[str] = some, size: int = size) -> list[str]:
            whole = [model.translate(some)] if size > 1 else [[model.translate(text)] for text in some]
            return [text for part in whole for text in part]

        def theirs(peers: list[list[int]] = peers, size: int = size) -> list[str]:
            return by_peer(plain, model, peers, size)

        found, expected = ours(), theirs()
        if size > 1:
            found = [found[i] for i in order]
        same = sum(a == b for a, b in zip(found, expected, strict=True)) / len(found)
        ratios = []
        for _ in range(options.rounds):
            times = []
            for way in (ours, theirs):
                start = time.perf_counter()
                way()
                times.append(time.perf_counter() - start)
            ratios.append(times[1] / times[0])
        speed = len(some) / times[0]
        print(
            f"batches of {size}: {statistics.median(ratios):.2f} times as fast "
            f"({min(ratios):.2f} to {max(ratios):.2f}), {speed:.0f} sentences a second; "
            f"{same:.1%} of the translations are the same"
        )


if __name__ == "__main__":
    main()
