"""Tagging from text to tags, against plain torch.nn modules that do the same with the same weights.

python benchmarks/tagging.py                    a tagger trained for a moment on the built-in corpus, one thread
python benchmarks/tagging.py RUN --file my.txt  a tagger of your own, whose tokenizer is of words

The peer looks words up in a dictionary, pads, runs nn.Embedding, nn.Conv1d over the letters where the model has them,
nn.LSTM on packed sequences and nn.Linear, and names the best tag with its probability; batches are the same.
Both take turns, and the ratio is that of their best rounds. The bar is 0.97.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

from lexigraph import api
from lexigraph.abilities.tagging import Tagger
from lexigraph.abilities.textmodel import BATCH_SIZE
from lexigraph.text import builtin
from lexigraph.text.corpus import texts_of

FORMS = {
    "words alone": {},
    "words and letters": {"model.characters": "cnn"},
}


class Plain(nn.Module):
    """The same network, of torch's modules."""

    def __init__(self, model: Tagger) -> None:
        super().__init__()
        words, config = model.network.words, model.network.config
        tokens = model.tokenizer
        self.index = {token: i for i, token in enumerate(tokens.tokens(range(len(tokens))))}
        self.names = model.network.tag_names
        self.embedding = nn.Embedding.from_pretrained(words.embedding.weight.detach())
        self.letters = self.convolution = None
        if words.characters is not None:
            letters = model.vocabularies.tokenizer("characters")
            self.letter_index = {token: i for i, token in enumerate(letters.tokens(range(len(letters))))}
            self.letters = nn.Embedding.from_pretrained(words.characters.embedding.weight.detach())
            self.convolution = words.characters.conv
        width = words.lstm.blocks[0].kernel.input_size
        self.lstm = nn.LSTM(width, config.dim, config.layers, batch_first=True, bidirectional=True)
        self.lstm.load_state_dict(words.lstm.blocks[0].kernel.state_dict())
        self.output = nn.Linear(2 * config.dim, len(self.names))
        self.output.load_state_dict(model.network.output.state_dict())

    def tag(self, texts: list[str]) -> list[list[tuple[str, str, float]]]:
        found = []
        for start in range(0, len(texts), BATCH_SIZE):
            rows = [text.split() for text in texts[start : start + BATCH_SIZE]]
            lengths = torch.tensor([len(row) for row in rows])
            ids = pad_sequence([torch.tensor([self.index.get(w, 1) for w in row]) for row in rows], batch_first=True)
            e = self.embedding(ids)
            if self.letters is not None:
                e = torch.cat([e, self.spelled(rows, ids.shape)], 2)
            packed = pack_padded_sequence(e, lengths, batch_first=True, enforce_sorted=False)
            h, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
            values, best = self.output(h).softmax(2).max(2)
            for row, tags, sure in zip(rows, best.tolist(), values.tolist(), strict=True):
                found.append([(w, self.names[t], p) for w, t, p in zip(row, tags, sure, strict=False)])
        return found

    def spelled(self, rows: list[list[str]], shape: torch.Size) -> torch.Tensor:
        words = [torch.tensor([self.letter_index.get(c, 1) for c in word]) for row in rows for word in row]
        sizes = torch.tensor([len(word) for word in words])
        ids = pad_sequence(words, batch_first=True)
        outside = torch.arange(ids.shape[1]) >= sizes[:, None]
        x = self.convolution(self.letters(ids).masked_fill(outside[:, :, None], 0).transpose(1, 2))
        c = x.masked_fill(outside[:, None], -torch.inf).amax(2)
        return pad_sequence(list(c.split([len(row) for row in rows])), batch_first=True)


def trained(folder: Path, form: str) -> Tagger:
    changes = {"train.steps": 100, "train.tensorboard": False, "data.sentences": 5000, **FORMS[form]}
    return api.train("tagger", "grammar", folder / form.replace(" ", "-"), quiet=True, set=changes)


def seconds(tag: object, texts: list[str]) -> float:
    begun = time.perf_counter()
    with torch.inference_mode():
        tag(texts)
    return time.perf_counter() - begun


def compare(name: str, model: Tagger, texts: list[str], rounds: int = 9) -> None:
    plain = Plain(model).eval()
    words = sum(len(text.split()) for text in texts)
    with torch.inference_mode():
        theirs = [[(w, t) for w, t, _ in row] for row in plain.tag(texts[:200])]
    assert [[(w.word, w.tag) for w in row] for row in model.tag(texts[:200])] == theirs, "they do not do the same"
    times = [(seconds(model.tag, texts), seconds(plain.tag, texts)) for _ in range(rounds)]
    ours, peer = (min(each) for each in zip(*times, strict=True))
    speeds = f"{words / ours:10,.0f} words/s, plain torch.nn {words / peer:10,.0f}"
    print(f"{name:18} {speeds}: {peer / ours:.2f}×", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--file", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    texts = list(texts_of(str(given.file)))[:2000] if given.file else list(builtin.sentences(2000))
    if given.run:
        compare(str(given.run), api.load(given.run, "cpu"), texts)
    else:
        with tempfile.TemporaryDirectory() as folder:
            for form in FORMS:
                compare(form, trained(Path(folder), form), texts)
