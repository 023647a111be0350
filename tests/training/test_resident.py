"""A corpus on the device gives the batches that the corpus in memory gives."""

from __future__ import annotations

import numpy as np
import torch

from lexigraph.objectives.next_token import shifted
from lexigraph.text.batches import Rows
from lexigraph.text.columns import Column, Traits
from lexigraph.text.encoding import Example
from lexigraph.text.storing import write_tables
from lexigraph.text.tables import tables
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.text.vocabularies import Labels, Vocabularies
from lexigraph.training.resident import Resident, ResidentTable


def test_batches_are_those_of_the_text_itself():
    ids = np.array([2, 5, 6, 7, 2, 8, 2, 9, 9, 2])  # three sentences between boundaries
    chosen = Rows(np.array([0, 6, 4]), np.array([4, 3, 2]))
    rows = [ids[start : start + length + 1] for start, length in zip(chosen.starts, chosen.lengths, strict=True)]
    wanted = shifted(rows, pad=0)
    found = shifted(Resident(ids, torch.device("cpu"))(chosen), pad=0)
    assert found.counts == wanted.counts
    for name, tensor in wanted.tensors.items():
        assert torch.equal(found[name], tensor), name


def test_a_table_of_several_texts_is_the_same_from_the_device(tmp_path):
    columns = {
        "question": Column("tokens", table="more"),
        "label": Column("class", vocabulary="label", table="more"),
        "answer": Column("tokens", table="more"),
    }
    texts = [("a b c", "x", "d"), ("e", "y", "a b"), ("c d", "x", "b c d e")]
    found = [Example("train", dict(zip(columns, values, strict=True))) for values in texts * 3]
    words = Tokenizer.train(iter(["a b c d e"]), kind="word", size=20)
    write_tables(found, columns, Vocabularies({"text": words, "label": Labels(("x", "y"))}), tmp_path, table="more")
    table, traits = tables(tmp_path, columns, "more")["train"], Traits(context=8)
    rows = Rows(np.array([4, 0, 2]), np.array([3, 3, 5]))  # numbers of examples: the windowed column is elsewhere
    host = table.fetch(rows, traits)
    device = ResidentTable(table, traits, torch.device("cpu"), further=True).fetch(rows, None)
    assert device.keys() == host.keys()
    assert [int(label) for label in device["label"]] == [1, 0, 0]
    for name in ("question", "answer"):
        whole = device[name]
        assert whole.ids.shape[1] == {"question": 5, "answer": 6}[name]  # the longest of the table, and boundaries
        for row, ids, length in zip(host[name], whole.ids, whole.lengths, strict=True):
            assert ids[:length].tolist() == np.asarray(row).tolist()
