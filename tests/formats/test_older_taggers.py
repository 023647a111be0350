"""A tagger's run of the version whose tagger was one file, without letters, own vectors and CRF, tags as it did."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest

from lexigraph import api


def test_an_older_tagger_tags_as_it_did(tmp_path):
    with tarfile.open(Path(__file__).with_name("tagger.tar.xz")) as archive:
        archive.extractall(tmp_path, filter="data")
    wanted = json.loads((tmp_path / "tagger" / "outputs.json").read_text())
    found = api.load(tmp_path / "tagger", "cpu").tag(["She laughed .", "Did they open the old door ?"])
    assert [[(w.word, w.tag) for w in row] for row in found] == [[(w, t) for w, t, _ in row] for row in wanted]
    probabilities = [w.probability for row in found for w in row]
    assert probabilities == pytest.approx([p for row in wanted for _, _, p in row], rel=1e-5)
