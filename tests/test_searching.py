"""Search in files: the lines that fit, where they stand, and their words marked."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

import lexigraph
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.searching import Hit, search

LINES = [
    "The old harbour.",
    "",
    "A dog, the old dog!",
    "Nothing here",
    "old old old",
    "…",
    "Dogs bark at the harbour",
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.txt").write_text("\n".join(LINES) + "\n", encoding="utf-8")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "b.md").write_text("the dog of the harbour\n")
    (tmp_path / "sub" / "c.png").write_bytes(b"\x89PNG")
    return tmp_path


def test_scores_are_the_cosines_of_scikit_learns_tf_idf(folder):
    hits = lexigraph.search(folder / "a.txt", "old dog", k=9)
    kept = [line for line in LINES if any(map(str.isalnum, line))]
    vectorizer = TfidfVectorizer(token_pattern=r"\w+").fit(kept)
    cosines = (vectorizer.transform(kept) @ vectorizer.transform(["old dog"]).T).toarray()[:, 0]
    expected = {kept[place]: cosines[place] for place in np.flatnonzero(cosines)}
    assert {hit.text: hit.score for hit in hits} == pytest.approx(expected)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_hits_say_where_they_stand_and_mark_their_words(folder):
    (best, *_) = search([folder / "sub", folder / "a.txt"], "dog OLD", k=1)
    assert (best.file, best.line) == (str(folder / "a.txt"), 3)
    assert best.marked() == "A **dog**, the **old** **dog**!"
    assert search(folder, "zebra") == []


def test_of_a_long_line_the_part_around_the_first_mark_is_shown():
    text = "x " * 500 + "dog" + " y" * 500
    shown = Hit("f", 1, text, 1.0, ((1000, 1003),)).marked("<", ">")
    assert "<dog>" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 260


def test_a_file_of_several_that_is_no_text_is_left_out_with_a_warning(folder):
    (folder / "sub" / "broken.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.warns(UserWarning, match="broken.txt"):
        hits = search([folder / "sub"], "dog")
    assert [hit.line for hit in hits] == [1]
    with pytest.raises(LexigraphError, match=r"broken\.txt"):
        search(folder / "sub" / "broken.txt", "dog")


def test_word_vectors_and_models_search_by_meaning(folder, tiny_runs):
    by_vectors = search(folder / "a.txt", "the dog", vectors=tiny_runs("skipgram"), k=1)
    assert len(by_vectors) == 1
    assert all(-1 <= hit.score <= 1.000001 for hit in by_vectors)
    (best,) = search(folder / "a.txt", "The old harbour.", model=tiny_runs("bert"), index=folder / "kept", k=1)
    assert (best.line, best.score) == (1, pytest.approx(1, abs=1e-5))


@pytest.mark.parametrize("query", ["", "  "])
def test_there_must_be_something_to_look_for(folder, query):
    with pytest.raises(UsageError, match="nothing to look for"):
        search(folder, query)
