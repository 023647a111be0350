from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError
from lexigraph.latent.expression import DEEPEST, ExpressionError, Part, parse, quoted


@pytest.mark.parametrize(
    ("expression", "parts"),
    [
        ("He ran .", [(1, "He ran .")]),
        ("They ran . - He ran . + He sings .", [(1, "They ran ."), (-1, "He ran ."), (1, "He sings .")]),
        (
            "Do not open the door. - Open the door. + Close the window.",
            [(1, "Do not open the door."), (-1, "Open the door."), (1, "Close the window.")],
        ),
        ("  - He ran .\n+\tShe  sang . ", [(-1, "He ran ."), (1, "She  sang .")]),
        ("a − b", [(1, "a"), (-1, "b")]),
        # factors
        ("-He ran . + 2 She sang .", [(-1, "He ran ."), (2, "She sang .")]),
        ("-0.5 a + .5 b", [(-0.5, "a"), (0.5, "b")]),
        ("0.5 i was there . - 0.5 i am there .", [(0.5, "i was there ."), (-0.5, "i am there .")]),
        ("2*a + 3 * b - 4× c + 5 × d", [(2, "a"), (3, "b"), (-4, "c"), (5, "d")]),
        ("a + -0.5 b - -2 C − d", [(1, "a"), (-0.5, "b"), (2, "C"), (-1, "d")]),
        ('2 "dogs ran." + 2 \'dogs ran.\' - 2“dogs ran.”', [(2, "dogs ran."), (2, "dogs ran."), (-2, "dogs ran.")]),
        ("0.0 a", [(0, "a")]),
        # parentheses
        ("0.5 (a - b) + c", [(0.5, "a"), (-0.5, "b"), (1, "c")]),
        ("a - (b - (c + 2 (d)))", [(1, "a"), (-1, "b"), (1, "c"), (2, "d")]),
        ("-(a - b)+c", [(-1, "a"), (1, "b"), (1, "c")]),
        ("0.5 * 0.5 * (-a) -(b)", [(-0.25, "a"), (-1, "b")]),
        ("He ran (and - at last - fell). - (He ran (fast).)", [(1, "He ran (and - at last - fell)."),
                                                               (-1, "He ran (fast).")]),
        # what looks like a sign or a factor, and is none
        ("2 dogs ran.", [(1, "2 dogs ran.")]),
        ("a - 2 dogs ran. + 1984 was cold.", [(1, "a"), (-1, "2 dogs ran."), (1, "1984 was cold.")]),
        ("2. The door - 2nd door + 1,000 men", [(1, "2. The door"), (-1, "2nd door"), (1, "1,000 men")]),
        ("a well-known man -- he said -- ran .", [(1, "a well-known man -- he said -- ran .")]),
        ("-- he ran . - -- she sang .", [(1, "-- he ran ."), (-1, "-- she sang .")]),
        ("c++ and a+b or x-y", [(1, "c++ and a+b or x-y")]),
        ("he had 3 men + nan came", [(1, "he had 3 men"), (1, "nan came")]),
        # quotes
        ('"3 men came ." - 2 "1 - 1 + 0"', [(1, "3 men came ."), (-2, "1 - 1 + 0")]),
        ('“3 men came .” - 2*“ a " b ”', [(1, "3 men came ."), (-2, ' a " b ')]),
        ("'3 - 1' + ‘don’t - go’ - 'don't'", [(1, "3 - 1"), (1, "don’t - go"), (-1, "don't")]),
        ('"a"-"b"+2"c"', [(1, "a"), (-1, "b"), (2, "c")]),
        (r'"a \" b \\ c \d"', [(1, r'a " b \ c \d')]),
        (
            'He said " go - now " . + "Go - now" he said .',
            [(1, 'He said " go - now " .'), (1, '"Go - now" he said .')],
        ),
        (
            "'Leave the door,' he said, 'and go.' - 'The dogs' house.' + 'Tis late.",
            [(1, "'Leave the door,' he said, 'and go.'"), (-1, "The dogs' house."), (1, "'Tis late.")],
        ),
    ],
)  # fmt: skip
def test_an_expression_is_read_as_it_is_meant(expression, parts):
    assert [(part.weight, part.text) for part in parse(expression)] == parts


@pytest.mark.parametrize(
    ("expression", "at", "words"),
    [
        ("+", 2, "no sentence after '\\+'"),
        ("a -", 4, "no sentence after '-'"),
        ("a - + b", 5, "no sentence after '-'"),
        ("- - b", 3, "no sentence after '-'"),
        ("a - ()", 6, "no sentence"),
        ('a + "" - b', 5, "quotes at character 5 hold no sentence"),
        ("a + '' - b", 5, "hold no sentence"),
        ("3", 1, 'number 3 at character 1 stands alone.*"3"'),
        ("a + 0.5 - b", 5, "number 0.5 at character 5 stands alone"),
        ("a - 2 *", 5, r"number 2 \* at character 5 stands alone"),
        ('a + "b', 5, "never closed"),
        ("“a - b", 1, "never closed"),
        ('He said "go - now .', 9, "quote at character 9 is never closed"),
        ('"a \\"', 1, "never closed"),
        ("a - (b + (c)", 5, "parenthesis at character 5 is never closed"),
        ("He ran (fast. - She ran.", 8, "parenthesis at character 8 is never closed"),
        ("a - b) + c", 6, "parenthesis at character 6 closes none"),
        ("(Softly) he spoke.", 10, "needs quotes"),
        (
            "9" * 400 + " A",
            1,
            "The factor 99999999999999999999… at character 1 must be a number between -1000000 and",
        ),
        ("1000001 A", 1, "between"),
        ("nan * a", 1, "The factor nan"),
        ("a - inf*b", 5, "The factor inf"),
        ("a + half * b", 5, "The factor 'half' at character 5 is no number"),
        ("half (a - b)", 1, "'half' at character 1 is no number"),
        ("a - 0,5 (b - c)", 5, "'0,5' at character 5 is no number"),
        ('1/2 "a"', 1, "'1/2' at character 1 is no number"),
        ("(" * (DEEPEST + 1) + "a", DEEPEST + 1, "parentheses stand in one another"),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_sentence_that_says_where(expression, at, words):
    with pytest.raises(ExpressionError, match=words) as refused:
        parse(expression)
    _, shown, caret = str(refused.value).split("\n")
    assert refused.value.at == at - 1
    assert f"{shown} "[caret.index("^")] == f"{expression} "[at - 1]


@pytest.mark.parametrize("expression", ["", " \n "])
def test_nothing_is_no_sum(expression):
    with pytest.raises(LexigraphError, match="empty"):
        parse(expression)


def test_a_part_knows_where_it_stands():
    expression = 'They ran. - 0.5 ("He ran." + He sings.)'
    assert [expression[part.at :][:6] for part in parse(expression)] == ["They r", '"He ra', "He sin"]


texts = st.text(st.one_of(st.sampled_from("\"'“”‘’\\+-−*×() 3.\n"), st.characters())).filter(str.strip)
weights = st.floats(-1e6, 1e6)


@given(texts)
def test_quoted_text_comes_back_as_it_was(text):
    assert parse(quoted(text)) == [Part(1.0, text)]


@given(st.lists(st.builds(Part, weights, texts), min_size=1, max_size=4))
def test_parts_can_be_written_and_read_again(parts):
    assert parse(" ".join(map(str, parts))) == parts


sentences = st.sampled_from(["He ran.", "Who is it?", "No!", "'Tis late.", "Don't go (yet).", 'He said "a - b".'])
terms = st.recursive(
    st.one_of(sentences.map(lambda text: (text, [(1, text)])), texts.map(lambda text: (quoted(text), [(1, text)]))),
    lambda inside: st.lists(st.tuples(st.sampled_from([1, -1]), st.sampled_from([1, 0.5, 1.5]), inside), min_size=1,
                            max_size=3).map(lambda signed: nested(signed)),
    max_leaves=8,
)  # fmt: skip


def nested(signed):
    """Terms with signs and factors as a sum in parentheses: how it is written, and what it says."""
    written, parts = "", []
    for sign, factor, (text, inside) in signed:
        written += f" {'-' if sign < 0 else '+'} {'' if factor == 1 else f'{factor} '}{text}"
        parts += [(sign * factor * weight, sentence) for weight, sentence in inside]
    return f"({written})", parts


@given(terms)
def test_a_sum_of_sums_is_multiplied_out(term):
    written, parts = term
    assert [(part.weight, part.text) for part in parse(written)] == parts


@given(texts)
def test_any_text_is_read_or_refused_with_a_sentence(text):
    with suppress(LexigraphError):
        assert parse(text)
