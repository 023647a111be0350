"""What classifiers can do: name the class of an example, and say which words speak for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast, overload

import numpy as np
import torch

from lexigraph.abilities.asking import TextError, many, whole
from lexigraph.abilities.pairs import pairs_of
from lexigraph.abilities.textmodel import Input, TextModel
from lexigraph.errors import UsageError
from lexigraph.nn.classifier import LABEL, Classified, ClassifierNetwork
from lexigraph.nn.network import columns_of
from lexigraph.nn.text_vectors import OTHER
from lexigraph.text.readers import Value


@dataclass(frozen=True)
class Classification:
    """A class, how probable it is, and how probable all are; what attention took of each token, if it pools."""

    label: str
    probability: float
    probabilities: dict[str, float]
    attention: list[tuple[str, float]] = field(default_factory=list)

    def __str__(self) -> str:
        return self.label

    def record(self) -> dict[str, object]:
        """What `--json` prints beside the class."""
        return {}

    def svg(self) -> str:
        """A drawing, where there is something to draw."""
        raise UsageError("Only trees are drawn: this model reads none.")


class Classifier(TextModel):
    """One label for an example."""

    network: ClassifierNetwork

    @overload
    def classify(self, examples: str | Path | Mapping[str, Value]) -> Classification: ...  # type: ignore[overload-overlap]
    @overload
    def classify(self, examples: Iterable[Input]) -> list[Classification]: ...
    def classify(self, examples: object) -> Classification | list[Classification]:
        """The class of each example: texts, pairs of texts, or whatever else the model was trained on.

        >>> [str(c) for c in model.classify(["Did she sing ?"])]        # doctest: +SKIP
        ['question']
        """
        names = self.vocabularies.labels(LABEL).names
        found = []
        every, one = self._examples(examples)
        for number, each in enumerate(every, 1):
            if isinstance(each, str) and not each.strip():
                raise TextError(number, len(every), "is empty: there is nothing to classify.")
        for answer in self._predicted(every):
            values = dict(zip(names, answer.probabilities.tolist(), strict=True))
            label = max(values, key=values.__getitem__)
            found.append(Classification(label, values[label], values, self._attention(answer)))
        return found[0] if one else found

    def _attention(self, answer: Classified) -> list[tuple[str, float]]:
        if answer.tokens is None or answer.attention is None:
            return []
        tokenizer = self.vocabularies.tokenizer(columns_of(self.recipe)["text"].vocabulary)
        return list(zip(tokenizer.tokens(answer.tokens.tolist()), answer.attention.tolist(), strict=True))

    def _examples(self, given: object) -> tuple[list[Input], bool]:
        """What is to be classified as a list, and whether it was one: texts, pairs, pictures as files or arrays."""
        columns = columns_of(self.recipe)
        kinds = {column.kind for column in columns.values() if not column.optional}
        if OTHER in columns and columns[OTHER].kind == "tokens":
            return cast("tuple[list[Input], bool]", pairs_of(given, "to classify"))
        if "image" not in kinds:
            return many(given, (str, Mapping))
        listed = list(given) if isinstance(given, np.ndarray) and given.ndim == 4 else given
        return many(listed, (str, Path, np.ndarray, Mapping), "picture")

    def word_weights(self, k: int = 10) -> dict[str, list[tuple[str, float]]]:
        """For each class the k words that speak most for it, against the mean of the classes."""
        whole(k=k)
        weights = self.network.token_weights()
        if weights is None:
            raise UsageError(f"This {self.recipe.system} model has no weight for each word: only a bag of words has.")
        against = (weights - weights.mean(1, keepdim=True)).detach().cpu()
        special = sorted(self.tokenizer.special.values())
        against[special] = -torch.inf
        found: dict[str, list[tuple[str, float]]] = {}
        for number, name in enumerate(self.vocabularies.labels(LABEL).names):
            values, ids = against[:, number].topk(min(k, len(against) - len(special)))
            found[name] = list(zip(self.tokenizer.tokens(ids.tolist()), values.tolist(), strict=True))
        return found
