from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError
from lexigraph.latent.arithmetic import Part, combine, parse, quoted


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("He ran .", [(1, "He ran .")]),
        ("They ran . - He ran . + He sings .", [(1, "They ran ."), (-1, "He ran ."), (1, "He sings .")]),
        ("  - He ran .\n+\tShe  sang . ", [(-1, "He ran ."), (1, "She  sang .")]),
        ("-He ran . + 2 She sang .", [(-1, "He ran ."), (2, "She sang .")]),
        ("-0.5 a + .5 b - 2. c", [(-0.5, "a"), (0.5, "b"), (-2, "c")]),
        ("2*a + 3 * b - 4× c + 5 × d", [(2, "a"), (3, "b"), (-4, "c"), (5, "d")]),
        ("a + -0.5 b - -2 c − d", [(1, "a"), (-0.5, "b"), (2, "c"), (-1, "d")]),
        ("0 a", [(0, "a")]),
        # what looks like an operator or a weight, and is none
        ("a well-known man -- he said -- ran .", [(1, "a well-known man -- he said -- ran .")]),
        ("-- he ran . - -- she sang .", [(1, "-- he ran ."), (-1, "-- she sang .")]),
        ("c++ and a+b or x-y", [(1, "c++ and a+b or x-y")]),
        ("the 2nd man + 3rd man + 1,000 men", [(1, "the 2nd man"), (1, "3rd man"), (1, "1,000 men")]),
        ("he had 3 men + nan came", [(1, "he had 3 men"), (1, "nan came")]),
        # quotes
        ('"3 men came ." - 2 "1 - 1 + 0"', [(1, "3 men came ."), (-2, "1 - 1 + 0")]),
        ('“3 men came .” - 2*“ a " b ”', [(1, "3 men came ."), (-2, ' a " b ')]),
        (r'"a \" b \\ c \d"', [(1, r'a " b \ c \d')]),
        (
            'He said " go - now " . + "Go - now" he said .',
            [(1, 'He said " go - now " .'), (1, '"Go - now" he said .')],
        ),
        ('"" + a', [(1, ""), (1, "a")]),
    ],
)
def test_an_expression_is_read_as_it_is_meant(expression, parts):
    assert [(part.weight, part.text) for part in parse(expression)] == parts


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ("+", r"no sentence after '\+'"),
        ("a -", "no sentence after '-'"),
        ("a - + b", "no sentence after '-'"),
        ("- - b", "no sentence after '-'"),
        ("3", 'number 3 stands alone.*"3"'),
        ("a + 0.5 - b", "number 0.5 stands alone"),
        ("a - 2 *", r"number 2 \* stands alone"),
        ('a + "b', "never closed"),
        ("“a - b", "never closed"),
        ('He said "go - now .', 'opens at "go - now . is never closed'),
        ('"a \\"', "never closed"),
        ("9" * 400 + " a", "The weight 99999999999999999999… must be a number between -1000000 and 1000000"),
        ("1000001 a", "between"),
        ("nan * a", "The weight nan"),
        ("a - inf*b", "The weight inf"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence(expression, words):
    with pytest.raises(LexigraphError, match=words):
        parse(expression)


texts = st.text(st.one_of(st.sampled_from('"“”\\+-−*× 3.\n'), st.characters()))


@given(texts)
def test_quoted_text_comes_back_as_it_was(text):
    assert parse(quoted(text)) == [Part(1.0, text)]


@given(st.lists(st.builds(Part, st.floats(-1e6, 1e6), texts), min_size=1, max_size=4))
def test_parts_can_be_written_and_read_again(parts):
    assert parse(" ".join(map(str, parts))) == parts


@given(texts)
def test_any_text_is_read_or_refused_with_a_sentence(text):
    with suppress(LexigraphError):
        assert parse(text)


def test_combining_is_the_weighted_sum():
    vectors = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=np.float32)
    total = combine(vectors, [part.weight for part in parse("a - b + 0.5 c")])
    assert total.dtype == np.float32
    assert total.tolist() == [0.5, 1, 1.5]
    assert combine(vectors, np.array([0.0, 0.0, 2.0])).tolist() == [14, 16, 18]
    with pytest.raises(LexigraphError, match="3 vectors and 2 weights"):
        combine(vectors, [1, 2])
