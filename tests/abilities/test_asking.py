"""One text or many: every ability answers as it was asked, and says what is wrong with anything else."""

import re
from functools import cache

import numpy as np
import pytest

from lexigraph import api
from lexigraph.abilities.asking import TextError, many, number, whole
from lexigraph.errors import UsageError

ONE, TWO = "She sings .", ["She sings .", "He slept ."]
ASKED = {  # ability → the run that has it, and how it is asked
    "generate": ("gpt", lambda m, t: m.generate(t, max_new=3)),
    "complete": ("gpt", lambda m, t: m.complete(t, n_best=2, max_new=3)),
    "score": ("gpt", lambda m, t: m.score(t)),
    "rank": ("gpt", lambda m, t: m.rank(t)),
    "fill": ("bert", lambda m, t: m.fill([f"{x} <mask>" for x in t] if isinstance(t, list) else f"{t} <mask>", k=2)),
    "encode": ("bert", lambda m, t: m.encode(t).tolist()),
    "neighbours": ("bert", lambda m, t: m.neighbours(t, TWO, k=1)),
    "translate": ("transformer", lambda m, t: m.translate(t, beam=1)),
    "translator's score": ("transformer", lambda m, t: m.score(t, sources=t)),
    "tag": ("tagger", lambda m, t: m.tag(t)),
    "parse": ("parser", lambda m, t: m.parse(t)),
    "answer": ("question-answering", lambda m, t: m.answer(t, "He slept . Anna sings .", threshold=-99)),
    "classify": ("bow", lambda m, t: m.classify(t)),
    "solve": ("picture", lambda m, t: m.solve(t)),
    "decode": ("picture", lambda m, t: m.decode(m.encode(t))),
    "pictures": ("picture", lambda m, t: m.pictures(t).tolist()),
    "read": ("picture", lambda m, t: m.read(m.pictures(t))),
}
NO_TEXTS = [None, 3, 2.5, True, b"bytes", {"text": "a"}, [], (), {"a"}, [None], ["a", 3], [b"a"], "\ud800"]


@pytest.fixture(scope="module")
def model(tiny_runs):
    """Models by the names of their recipes, each loaded once."""
    return cache(lambda name: api.load(tiny_runs(name), "cpu"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ability", ASKED)
def test_one_text_has_one_answer_and_it_is_the_first_of_many(model, ability):
    run, ask = ASKED[ability]
    one, several, alone = (ask(model(run), given) for given in (ONE, TWO, [ONE]))
    assert len(several) == 2
    assert len(alone) == 1
    if ability in ("encode", "pictures"):
        assert np.allclose(one, several[0], atol=1e-5)
        assert np.allclose(one, alone[0], atol=1e-5)
    elif ability == "rank":  # sorted
        assert one == alone[0]
    elif ability == "parse":
        assert str(one) == str(several[0]) == str(alone[0])
    elif ability not in (
        "score",
        "translator's score",
        "complete",
        "fill",
        "answer",
        "classify",
        "tag",
        "solve",
        "neighbours",
    ):
        assert one == several[0] == alone[0]
    assert type(one) is type(alone[0])


@pytest.mark.parametrize("given", NO_TEXTS, ids=lambda value: re.sub(" at 0x.*", "", ascii(value)))
def test_what_is_no_text_gets_a_sentence(model, given):
    gpt, picture = model("gpt"), model("picture")
    for ask in (gpt.generate, gpt.complete, gpt.score, gpt.rank, picture.encode, picture.solve):
        with pytest.raises((UsageError, TextError), match=r"text|list|character"):
            ask(given)
    for ask in (model("tagger").tag, model("parser").parse, model("transformer").translate, model("bert").fill):
        with pytest.raises((UsageError, TextError)):
            ask(given)
    with pytest.raises(UsageError):
        picture.read(given if not isinstance(given, str) else [given, None])


def test_records_are_examples_of_a_classifier_and_must_have_its_field(model):
    bow = model("bow")
    assert bow.classify({"text": ONE}) == bow.classify(ONE)
    with pytest.raises(UsageError, match="Record 1 of 1 has no field 'text'"):
        bow.classify({"words": ONE})


def test_several_blends_are_lists_of_texts(model):
    picture = model("picture")
    rows = picture.blend(TWO, TWO[::-1], steps=2)
    assert [len(row) for row in rows] == [2, 2]
    assert [str(each) for each in rows[0]] == [str(each) for each in picture.blend(*TWO, steps=2)]
    with pytest.raises(UsageError, match="two texts"):
        picture.blend(ONE)
    with pytest.raises(UsageError):
        picture.blend(ONE, TWO)


def test_texts_go_as_a_list_and_not_one_after_the_other(model):
    with pytest.raises(UsageError, match="put several into a list"):
        model("gpt").score("a", "b")


def test_a_number_of_a_text_counts_those_before_it():
    assert str(TextError(2, 3, "is empty.")) == "Text 2 of 3 is empty."
    assert str(TextError(2, 3, "is empty.").after(1024)) == "Text 1,026 is empty."
    assert str(TextError(1, 1, "is empty.").after(0)) == "The text is empty."


def test_numbers_are_refused_by_name():
    for wrong in (0, -1, 10**9):
        with pytest.raises(UsageError, match="beam"):
            whole(beam=wrong)
    for wrong in (float("nan"), float("inf"), -0.1):
        with pytest.raises(UsageError, match="temperature"):
            number(0, temperature=wrong)
    for wrong in ("3", None, True, 2.5):
        with pytest.raises(UsageError, match="k is a whole number"):
            whole(k=wrong)
    assert many(("a", "b")) == (["a", "b"], False)
