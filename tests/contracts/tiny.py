"""Every system of the registry at toy size, for the contracts: its tiny recipe, vocabularies, a network, examples.

Nothing here knows what a system is: examples are rows of the built-in corpus, with the columns that its network has.
"""

from __future__ import annotations

import dataclasses
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lexigraph import recipe as recipes
from lexigraph.nn.network import Examples, Network, build
from lexigraph.objectives.terms import Batch
from lexigraph.registry import SYSTEMS
from lexigraph.text import corpus
from lexigraph.text.batches import Rows
from lexigraph.text.columns import MAIN, Traits, tables_of
from lexigraph.text.learning import learn_vocabularies
from lexigraph.text.storing import write_tables
from lexigraph.text.tables import Table, tables
from lexigraph.text.vocabularies import Vocabularies

BERT: dict[str, Any] = {  # as a part
    "parts.reader.system": "bert",
    "parts.reader.dim": 16,
    "parts.reader.layers": 1,
    "parts.reader.dropout": 0.0,
    "tokenizer.special": ["<mask>"],
}
FORMS: dict[str, tuple[str, dict[str, Any]]] = {  # systems in another form than the recipes of their names
    "lstm-lm": ("lstm-lm", {}),
    "gru-lm": ("gru-lm", {}),
    "irnn-lm": (
        "irnn-lm",
        {"objective.stabiliser": 1.0, "model.layers": 1, "model.scale": 0.3, "model.tied": False},
    ),
    "unitary-lm": ("unitary-lm", {"model.learned_start": True}),
    "transformer-xl-pre": ("transformer-xl", {"model.norm": "pre"}),
    "transformer-separate": ("transformer", {"tokenizer.separate": True}),
    "seq2seq-plain": ("seq2seq", {"model.attention": "none", "model.reversed": True, "model.cell": "gru"}),
    "seq2seq-before": (
        "seq2seq",
        {"model.attends": "before", "model.every_step": True, "model.start": "zero"},
    ),
    "seq2seq-hard": ("seq2seq", {"model.hard": True, "model.feeding": True, "model.attention": "content"}),
    "seq2seq-window": ("seq2seq", {"model.window": "predictive", "model.attention": "general", "model.tied": False}),
    "gnmt": (
        "seq2seq",
        {
            "model.layers": 3,
            "model.bidirectional": "first",
            "model.residual": 3,
            "model.attends": "lowest",
            "model.cell": "rnn",
            "tokenizer.separate": True,
        },
    ),
    "bert-next": ("bert", {"objective.second": "next", "model.pooler": True, "data.documents": "blank"}),
    "bert-spans": (
        "bert",
        {
            "objective.spans": True,
            "objective.final_mask_rate": 0.3,
            "objective.mask_steps": 4,
            "model.gated": True,
            "model.normed_by": "rms",
        },
    ),
    "electra-gated": ("electra", {"model.gated": True, "model.normed_by": "rms"}),
    "gpt-gated": ("gpt", {"model.gated": True, "model.normed_by": "rms"}),
    "gpt-bert-halves": ("gpt-bert", {"objective.causal_share": 0.5, "model.positions": "learned"}),
    "bart-pairs": ("bart", {"objective.noise": "none"}),
    "bart-extra": ("bart", {"objective.noise": "none", "model.extra_layers": 1}),
    "t5-pairs": ("t5", {"objective.noise": "none"}),
    "skip-thought": ("skip-thought", {"model.bidirectional": True, "model.encoder": "lstm"}),
    "sentences-averaged": (
        "sentence-encoder",
        {"model.encoder": "average", "objective.written": 1.0, "objective.ranked": 0.0},
    ),
    "tree-lstm": ("recursive", {"model.form": "lstm"}),
    "tree-lstm-child-sum": ("recursive", {"model.form": "child-sum", "objective.nodes": "root"}),
    "question-answering-bert": ("question-answering", BERT | {"model.answer": 4}),
    "tagger-bert": ("tagger", BERT),
    "tagger-letters": ("tagger", {"model.characters": "cnn", "model.vectors": 8, "model.tuned": True}),
    "tagger-crf": ("tagger", {"model.output": "crf", "model.scheme": "BIOES", "model.characters": "cnn"}),
    "tagger-summed": (
        "tagger",
        {"model.characters": "lstm", "model.vectors": 16, "model.tuned": True, "model.joined": "summed"},
    ),
    "classifier-cnn": ("classifier", {"model.encoder": "cnn", "model.embedding": 0, "model.hidden": [16]}),
    "parser-subtypes": ("parser", {"objective.tags": 0.0, "objective.subtypes": True}),
    "classifier-attention": (
        "classifier",
        {"model.encoder": "gru", "model.pooling": "attention", "model.vectors": 8},
    ),
    "classifier-bert": ("classifier", {"model.encoder": "bag", "model.pooling": "mean", **BERT}),
    "classifier-auxiliary": (
        "classifier-tuned",
        {"parts.reader.system": "gpt", "objective.auxiliary": 0.5, "parts.reader.tied": False},
    ),
    "classifier-siamese": (
        "classifier-pairs",
        {"model.pairs": "apart", "model.encoder": "gru", "model.pooling": "last", "model.hidden": [16]},
    ),
    "similarity-together": ("similarity", {"model.pairs": "together", "parts.reader.system": "xlnet"}),
    "choices-apart": ("choices", {"model.pairs": "apart", "model.symmetric": True, "model.activation": "tanh"}),
    "clip-vit": ("clip", {"model.encoder": "vit", "objective.crop": 1}),
    "captioner-mean": ("captioner", {"model.attention": "none", "model.decoder_layers": 2, "model.tied": False}),
    "captioner-hard": ("captioner", {"model.hard": True, "model.attention": "general", "objective.doubly": 0.5}),
    "captioner-transformer": (
        "captioner",
        {"model.encoder": "vit", "model.decoder": "transformer", "objective.label_smoothing": 0.1},
    ),
    "vit-changed": (
        "vit",
        {
            "model.stem": True,
            "model.positions": "2d",
            "model.pooling": "mean",
            "objective.crop": 2,
            "objective.flip": True,
            "objective.mixup": 0.4,
        },
    ),
    "picture-analogies": (
        "picture",
        {
            "objective.analogies": 0.5,
            "objective.channel": 0.5,
            "data.analogies.train": "grammar",
            "data.analogies.sentences": 100,
            "data.analogies.batch_tokens": 128,
        },
    ),
    "picture-published": (
        "picture",
        {"model.form": "plain", "model.tied": False, "model.sphere": False, "objective.noise_level": 0.0},
    ),
}
SHORTEST = 8  # tokens of an example


def bound_by(contract: str, ability: str = "", *, forms_are_slow: bool = False) -> Any:
    """Parametrises a test over the systems that keep this contract, and can do this; their further forms may be left
    to `make test-slow`."""
    slow = [pytest.mark.slow] if forms_are_slow else []
    names = forms_with(contract, ability)
    return pytest.mark.parametrize("system", [pytest.param(n, marks=slow if n in FORMS else []) for n in names])


def forms_with(contract: str, ability: str = "") -> list[str]:
    """The systems, in all their forms, that keep this contract, and can do this."""
    entries = {name: SYSTEMS[recipes.source(form_of(name)[0]).tables["system"]] for name in (*SYSTEMS, *FORMS)}
    names = [name for name, entry in entries.items() if contract not in entry.exempt]
    return [name for name in names if not ability or ability in entries[name].abilities]


def form_of(system: str) -> tuple[str, dict[str, Any]]:
    """The system's recipe, and what is changed in it."""
    return FORMS.get(system, (system, {}))


def recipe_of(system: str, **changes: Any) -> recipes.Recipe:
    """The tiny recipe of a system (its recipe has the system's name), dropout off."""
    name, form = form_of(system)
    always = {"data.train": "grammar", "data.unit": "line", "data.split": [1.0]}
    recipe = recipes.read(name, always | form | changes, tiny=True)
    calm = {key: 0.0 for key in ("dropout",) if f"model.{key}" in recipe.flat()}
    return dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, **calm))


@cache
def data_of(system: str) -> tuple[Vocabularies, Table]:
    """What the built-in corpus is to a system."""
    vocabularies, found = tables_for(system)
    return vocabularies, found[MAIN]


@cache
def tables_for(system: str) -> tuple[Vocabularies, dict[str, Table]]:
    """All tables of a system, from the built-in corpus."""
    recipe, folder, found = recipe_of(system), Path(tempfile.mkdtemp()), {}
    vocabularies = Vocabularies({})
    for name, columns in tables_of(SYSTEMS[recipe.system].network_class().columns(recipe)).items():
        data = recipe.tables[name] if name else recipe.data
        vocabularies = learn_vocabularies(recipe, data, columns, None, vocabularies)
        write_tables(corpus.examples(data, columns), columns, vocabularies, folder, table=name)
        found[name] = tables(folder, columns, name)["train"]
    return vocabularies, found


def newborn(system: str, seed: int = 0, **changes: Any) -> Network:
    """A network with the weights that training would start from."""
    torch.manual_seed(seed)
    return build(recipe_of(system, **changes), data_of(system)[0])


def network_of(system: str, seed: int = 0, **changes: Any) -> Network:
    """A network with random weights, large enough that its outputs differ."""
    network = newborn(system, seed, **changes)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
    return network.eval()


@cache
def traits_of(system: str) -> Traits:
    """How a system reads its examples."""
    return newborn(system).traits


def rows_of(system: str, count: int, alike: bool) -> tuple[Rows, Traits]:
    """Short rows of different lengths; or all `alike`, as those of parallel streams are."""
    table, traits = data_of(system)[1], traits_of(system)
    starts, lengths = table.cut(traits)
    enough = np.flatnonzero(lengths >= min(SHORTEST, lengths.max()))
    if alike:
        enough = enough[lengths[enough] == np.bincount(lengths[enough]).argmax()]
    by_length = enough[np.argsort(lengths[enough], kind="stable")][: max(count, len(enough) // 2)]
    chosen = by_length[np.linspace(0, len(by_length) - 1, count).astype(int)]
    return Rows(starts[chosen], lengths[chosen]), traits


def examples_of(system: str, count: int = 8, alike: bool = False) -> Examples:
    """So many examples of every table, as a network prepares them."""
    rows, traits = rows_of(system, count, alike)
    further = {name: table for name, table in tables_for(system)[1].items() if name != MAIN}
    found = dict(data_of(system)[1].fetch(rows, traits))
    for table in further.values():
        starts, lengths = table.cut(traits)
        found |= table.fetch(Rows(starts[:count], lengths[:count]), traits)
    return found


def some(examples: Examples, which: list[int]) -> dict[str, Any]:
    """Some of the examples."""
    return {name: [column[i] for i in which] for name, column in examples.items()}


def with_inputs(batch: Batch, changes: Mapping[tuple[int, int], int]) -> Batch:
    """A batch in which a decoder is given other tokens at some positions (row, position)."""
    inputs = batch["inputs"].clone()
    for position, token in changes.items():
        inputs[position] = token
    return Batch(batch.tensors | {"inputs": inputs}, batch.counts)
