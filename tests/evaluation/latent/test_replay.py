"""Tables of experiments: how they are read, what a model makes of them, and what a person sees."""

from __future__ import annotations

import html
import json
import sys

import pytest

import lexigraph
from lexigraph import cli
from lexigraph.errors import LexigraphError
from lexigraph.evaluation.latent.replay import respelled
from lexigraph.evaluation.latent.replay_table import read_table
from lexigraph.views.replaying import page as drawn

MIXED = (
    "family\texpression\tintended\tpublished\tfrom\tto\tt\tscore\ttext\tnote\n"
    "pronoun\tShe is tired. - He is tired. + He is here.\tshe is here .\tshe is there .\n"
    "\t\t\tthey sang .\tHe slept.\tThey sang.\t1\t-0.5\n"
    "\n"
    "\t\t\t\t\t\t\t\tThe rain had stopped.\tfrom a letter\n"
    "pronoun\tShe is tired. - He is tired. + He is here.\tThey're here.\n"
)
LOWER = (
    "expression\tintended\n"
    "he was here . - he is here . + she is happy .\tshe was happy .\n"
    "1.5 i am here . - 0.5 i am here .\ti'm here .\n"
)


@pytest.fixture(scope="module")
def books():
    return lexigraph.load("books")


@pytest.fixture
def write(tmp_path):
    def file(text, name="sums.tsv"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return file


def typed(monkeypatch, capsys, *words):
    """Exit code, standard output and standard error of `lexigraph WORDS`."""
    monkeypatch.setattr(sys, "argv", ["lexigraph", *map(str, words)])
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return ended.value.code, *capsys.readouterr()


def test_a_table_holds_three_kinds_of_experiment(write):
    first, second, third, _ = read_table(write(MIXED))
    assert (first.line, first.kind, first.family) == (2, "sum", "pronoun")
    assert [(part.weight, part.text) for part in first.terms] == [
        (1, "She is tired."),
        (-1, "He is tired."),
        (1, "He is here."),
    ]
    assert (first.intended, first.published, first.score) == ("she is here .", "she is there .", None)
    assert (second.line, second.kind, second.family, second.score) == (3, "interpolation", "interpolation", -0.5)
    assert [(part.weight, part.text) for part in second.terms] == [(0, "He slept."), (1, "They sang.")]
    assert second.intended == ""  # what was published is no expectation
    assert (third.line, third.kind, third.intended) == (5, "reconstruction", "The rain had stopped.")


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(tmp_path, write):
    other = tmp_path / "windows.tsv"
    other.write_bytes(b"\xef\xbb\xbf" + MIXED.replace("\n", "\r\n").encode())
    assert read_table(other) == read_table(write(MIXED))


def test_answers_are_compared_with_what_was_intended_and_published(books, write):
    found = lexigraph.replay(books, write(MIXED))
    assert [str(answer.found) for answer in found] == [
        "She is here.",
        "They sang.",
        "The rain had stopped.",
        "She is here.",
    ]
    assert [answer.met for answer in found] == [True, None, True, False]
    assert [answer.as_published for answer in found] == [False, True, None, None]
    assert [answer.published_met for answer in found] == [False, None, None, None]
    assert found.counts() == {"pronoun": (1, 2), "interpolation": (0, 0), "reconstruction": (1, 1)}
    assert found.headline() == "2 of 3 as intended: pronoun 1 of 2, reconstruction 1 of 1."
    assert not found.met
    assert found.spelling == "given"


def test_a_table_in_lower_case_is_spelled_as_the_model_writes(books, write):
    found = lexigraph.replay(books, write(LOWER))
    assert found.spelling == "books"
    assert [part.text for part in found.answers[0].row.terms] == ["He was here.", "He is here.", "She is happy."]
    assert [str(answer.found) for answer in found] == ["She was happy.", "I am here."]
    assert found.met
    as_given = lexigraph.replay(books, write(LOWER), written_as="given")
    assert as_given.answers[0].row.terms[0].text == "he was here ."


def test_a_model_of_lower_case_is_given_the_table_as_it_is(tiny_runs, write):
    assert lexigraph.replay(tiny_runs("picture-words"), write(LOWER)).spelling == "given"


@pytest.mark.parametrize(
    ("text", "books", "spaced"),
    [
        ("i am there .", "I am there.", "I am there ."),
        ("can i , too ?", "Can I, too?", "Can I , too ?"),
        ("' i ran .", "' I ran.", "' I ran ."),
        ("iris is in .", "Iris is in.", "Iris is in ."),
    ],
)
def test_spellings(text, books, spaced):
    assert respelled(text, "given") == text
    assert respelled(text, "books") == books
    assert respelled(text, "spaced") == spaced


def test_the_exit_code_says_whether_all_was_met(write, monkeypatch, capsys):
    met, missed = write(MIXED.rsplit("pronoun", 1)[0]), write(MIXED, "missed.tsv")
    code, out, err = typed(monkeypatch, capsys, "replay", "books", met)
    assert code == 0
    assert err.splitlines()[-1] == "2 of 2 as intended: pronoun 1 of 1, reconstruction 1 of 1."
    assert out.splitlines()[1].split("\t")[4] == "She is here."
    code, out, err = typed(monkeypatch, capsys, "replay", "books", missed, "--json")
    assert code == 1
    assert err.splitlines()[-1] == "2 of 3 as intended: pronoun 1 of 2, reconstruction 1 of 1."
    items = json.loads(out)
    assert [(item["line"], item["kind"], item["met"]) for item in items] == [
        (2, "sum", True),
        (3, "interpolation", None),
        (5, "reconstruction", True),
        (6, "sum", False),
    ]
    assert items[0]["round_trip"] > 0.99
    assert not items[0]["doubtful"]


def test_a_page_shows_every_sentence_and_loads_nothing(books, write, page, tmp_path):
    text = drawn(lexigraph.replay(books, write(MIXED)), "books")
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    page.goto(f"file://{tmp_path / 'page.html'}")
    assert page.locator(".row").count() == 4
    pictures = page.locator(".p")
    assert pictures.count() == 4 + 3 + 2 + 4
    assert all("data:image/png" in style for style in pictures.evaluate_all(
        "all => all.map(one => getComputedStyle(one).backgroundImage)"))  # fmt: skip
    assert page.locator(".row b.met").all_inner_texts() == ["She is here.", "The rain had stopped."]
    assert page.locator(".row b.missed").all_inner_texts() == ["She is here."]
    assert "2 of 3 as intended" in page.locator("h2").first.inner_text()
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]


def test_a_page_is_made_for_models_without_pictures_and_of_odd_texts(tiny_runs, write):
    table = write("text\tfamily\n<b>He & she</b> ran .\t<i>\n")
    text = drawn(lexigraph.replay(tiny_runs("lstm-autoencoder"), table), "lstm")
    assert "data:image" not in text
    assert html.escape("<b>He & she</b> ran .") in text
    assert "<i>" not in text


def test_what_is_no_space_of_sentences_cannot_replay(tiny_runs, write):
    with pytest.raises(LexigraphError, match="no sentence vectors"):
        lexigraph.replay(tiny_runs("bert"), write(MIXED))
