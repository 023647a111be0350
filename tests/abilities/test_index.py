"""Neighbours among any number of texts: exact, kept on the disk, and made anew when model or texts have changed."""

import json
import shutil

import numpy as np
import pytest

from lexigraph import api
from lexigraph.abilities.index import Index
from lexigraph.errors import LexigraphError
from lexigraph.text import rows_on_disk
from lexigraph.text.rows_on_disk import RowReader, RowWriter

TEXTS = [f"She sings song {number} ." for number in range(30)] + ["", "word " * 500]


@pytest.fixture(scope="module")
def bert(tiny_runs):
    return api.load(tiny_runs("bert"), "cpu")


def test_neighbours_are_those_of_all_cosines_however_the_vectors_are_cut_into_blocks(bert, monkeypatch):
    monkeypatch.setattr(rows_on_disk, "BLOCK_BYTES", 7 * 4 * bert.network.width)  # seven vectors
    with pytest.warns(UserWarning, match="2 of 32 texts are empty or too long"):
        found = bert.neighbours("She sings .", TEXTS, k=4)
    z, query = bert.encode(TEXTS[:30]).astype(np.float64), bert.encode("She sings .").astype(np.float64)
    cosines = z @ query / (np.linalg.norm(z, axis=1) * np.linalg.norm(query))
    assert [each.place for each in found] == np.argsort(-cosines, kind="stable")[:4].tolist()
    assert [each.text for each in found] == [TEXTS[each.place] for each in found]
    assert [each.similarity for each in found] == pytest.approx(sorted(cosines, reverse=True)[:4], abs=1e-5)


def test_an_index_is_kept_and_made_anew_when_the_texts_change(bert, tmp_path, monkeypatch):
    kept, said = tmp_path / "index", []
    first = bert.neighbours("She sings .", TEXTS[:9], k=2, index=kept, report=said.append)
    encoded = []
    monkeypatch.setattr(type(bert), "fits", lambda self, texts: encoded.append(texts) or [True] * len(texts))
    assert bert.neighbours("She sings .", TEXTS[:9], k=2, index=kept) == first
    assert encoded == []  # nothing was encoded again
    bert.neighbours("She sings .", TEXTS[:8], k=2, index=kept, report=said.append)
    assert json.loads((kept / "index.json").read_text())["count"] == 8
    assert any("made anew" in sentence for sentence in said)


def test_a_folder_that_is_no_index_is_left_alone(bert, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(LexigraphError, match="no index"):
        bert.neighbours("She sings .", TEXTS[:3], index=tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_a_damaged_index_is_refused(bert, tmp_path):
    bert.neighbours("She sings .", TEXTS[:5], k=1, index=tmp_path / "index")
    file = tmp_path / "index" / "vectors.npy"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(LexigraphError, match=r"vectors\.npy is damaged"):
        Index(tmp_path / "index").nearest(np.ones((1, bert.network.width), np.float32), 1)
    shutil.rmtree(tmp_path / "index")


def test_rows_that_were_written_one_by_one_are_a_plain_npy_file(tmp_path):
    rows = np.random.default_rng(0).normal(size=(1234, 5)).astype(np.float32)
    writer = RowWriter(tmp_path / "rows.npy")
    for first in range(0, 1234, 100):
        writer.add(rows[first : first + 100])
    assert writer.close() == 1234
    assert np.array_equal(np.load(tmp_path / "rows.npy"), rows)
    reader = RowReader(tmp_path / "rows.npy")
    assert np.array_equal(np.concatenate([block for _, block in reader.blocks()]), rows)
    assert np.array_equal(reader[7:9], rows[7:9])
