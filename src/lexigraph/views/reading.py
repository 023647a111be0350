"""The part of a model that reads a text, and a text as that part takes it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Int

from lexigraph.abilities.textmodel import TextModel
from lexigraph.nn.network import Reader
from lexigraph.objectives.terms import Batch
from lexigraph.text.tokenizer import Tokenizer


def reader_of(model: TextModel) -> tuple[Reader, Tokenizer] | None:
    """The network that reads, be it the model's own or a part of it, and its tokenizer; None, if there is none."""
    if isinstance(model.network, Reader):
        return model.network, model.tokenizer
    for name, part in model.recipe.parts.items():
        if isinstance(found := getattr(model.network, name, None), Reader):
            return found, model.vocabularies.tokenizer(part.vocabulary)
    return None


def one_text(
    model: TextModel, reader: Reader, tokenizer: Tokenizer, text: str, refuse: Callable[[int], None]
) -> tuple[list[str], Int[np.ndarray, " T"], Batch]:
    """Its tokens, which word of the cleaned text each belongs to, and the batch; position t + 1 of that is token t.

    refuse: is told how many tokens there are, before they are read.
    """
    (cleaned,) = model.cleaned([text])
    if reader.reads_words:
        tokens = cleaned.split()
        refuse(len(tokens))
        numbers, batch = np.arange(len(tokens)), reader.reading_words([tokenizer.encode_words(tokens)])
    else:
        row, eos = model.rows([text], tokenizer)[0][0], tokenizer.eos
        refuse(len(row))
        tokens, numbers = tokenizer.tokens(row.tolist()), tokenizer.word_numbers(cleaned)
        if len(row) < len(numbers):  # unknown words left the text
            numbers = numbers[np.array(tokenizer.encode(cleaned)) != tokenizer.unk]
        batch = reader.reading([np.array([eos, *row, eos])])
    return tokens, numbers, batch.to(model.device)
