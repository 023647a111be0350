"""Every system of the registry at toy size, for the contracts: its tiny recipe, a tokenizer, a network, a batch."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch

from lexigraph import recipe as recipes
from lexigraph.registry import SYSTEMS
from lexigraph.text import corpus
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.textmodel import build

SENTENCES = (
    "She laughed .",
    "Did they open the old door ?",
    "Please do not close the window .",
    "He is not tired .",
    "The girls who live near the river were singing .",
    "We will buy three red apples tomorrow .",
    "A bird sang .",
    "Could you bring the lamp ?",
)


FORMS = {"transformer-separate": ("transformer", {"tokenizer.separate": True})}  # systems in another form


def bound_by(contract: str) -> Any:
    """Parametrises a test over the systems that keep this contract."""
    names = [name for name in (*SYSTEMS, *FORMS) if contract not in SYSTEMS[form_of(name)[0]].exempt]
    return pytest.mark.parametrize("system", names)


def form_of(system: str) -> tuple[str, dict[str, Any]]:
    """The system's recipe, and what is changed in it."""
    return FORMS.get(system, (system, {}))


def recipe_of(system: str, **changes: Any) -> recipes.Recipe:
    """The tiny recipe of a system (its recipe has the system's name), dropout off."""
    name, form = form_of(system)
    recipe = recipes.read(name, {"data.train": "grammar"} | form | changes, tiny=True)
    if hasattr(recipe.model, "dropout"):
        recipe = dataclasses.replace(recipe, model=dataclasses.replace(recipe.model, dropout=0.0))
    return recipe


@cache
def tokenizers_of(system: str) -> tuple[Tokenizer, Tokenizer]:
    return corpus.train_tokenizers(recipe_of(system))


def newborn(system: str, seed: int = 0, **changes: Any) -> Any:
    """A network with the weights that training would start from."""
    torch.manual_seed(seed)
    return build(recipe_of(system, **changes), *tokenizers_of(system))


def network_of(system: str, seed: int = 0, **changes: Any) -> Any:
    """A network with random weights, large enough that its outputs differ."""
    network = newborn(system, seed, **changes)
    with torch.no_grad():
        for parameter in network.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
    return network.eval()


def sequences_of(system: str, count: int = len(SENTENCES)) -> list[np.ndarray]:
    """The sentences as tokens between boundaries, within the model's context."""
    tokenizer, _ = tokenizers_of(system)
    context = network_of(system).context or 10**6
    rows = [[tokenizer.eos, *tokenizer.encode(text), tokenizer.eos] for text in SENTENCES[:count]]
    return [np.array(row[:context]) for row in rows]


def columns_of(system: str, rows: list[np.ndarray]) -> dict[str, list[np.ndarray]]:
    """The sentences as a batch of the system has them: texts, or sources and targets."""
    if recipe_of(system).data.unit == "pair":
        return {"source": [source_of(row) for row in rows], "target": rows}
    return {"text": rows}


def source_of(row: np.ndarray) -> np.ndarray:
    """What a translator reads for a sentence in these tests: its later part, so that the sides differ in length."""
    return row[len(row) // 3 :]


def reads_source(network: Any) -> bool:
    """Whether it is called with a source and a target."""
    return getattr(network, "reads_source", False)


def logits_of(network: Any, rows: list[np.ndarray], sources: list[np.ndarray] | None = None) -> torch.Tensor:
    """Logits of a batch of sentences, or of one without telling its length; a translator's given their sources."""
    batch = prompts_of(rows)
    if not reads_source(network):
        return network(batch["ids"], batch["lengths"]) if len(rows) > 1 else network(batch["ids"])
    read = prompts_of(sources or [source_of(row) for row in rows])
    return network(read["ids"], batch["ids"], read["lengths"] if len(rows) > 1 else None)


def beginning_of(network: Any, rows: list[np.ndarray]) -> dict[str, torch.Tensor]:
    """What a search starts from: prompts; an autoencoder's vectors of the sentences; a translator's sources."""
    batch = prompts_of([source_of(row) for row in rows] if reads_source(network) else rows)
    return {"z": network.encode(batch["ids"], batch["lengths"])} if hasattr(network, "encode") else batch


def prompts_of(rows: list[np.ndarray]) -> dict[str, torch.Tensor]:
    """Ragged prompts, padded on the right."""
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.zeros(len(rows), int(lengths.max()), dtype=torch.long)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.from_numpy(row)
    return {"ids": ids, "lengths": lengths}
