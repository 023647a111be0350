"""Cleaning: hand-worked lines, orders that cannot work, cleaning twice, and the two published stages."""

import unicodedata

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lexigraph.errors import LexigraphError
from lexigraph.text.clean import DEFAULT, PUBLISHED_STAGES, RULES, Stage, cleaner, fitted_cleaner


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("don't", "do nt"),
        ("DON’T", "DO NT"),
        ("do n't", "do nt"),
        ("she's", "she s"),
        ("I'm they're we'll", "I m they re we ll"),
        ("ma'am o'clock rock'n'roll", "ma am o clock rock n roll"),
        ("the 90's", "the 90 s"),
        ("dogs' 'quoted'", "dogs' 'quoted'"),
        ("ant", "ant"),
    ],
)
def test_contractions_are_split_where_the_apostrophe_stood(raw, expected):
    assert cleaner(["contractions"])(raw) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("7", "<num>"),
        ("1,000 and 3.14", "<num> and <num>"),
        ("1,234,567.89", "<num>"),
        ("the 1st, 2nd, 3RD and 24th", "the <num> , <num> , <num> and <num>"),
        ("in 1984.", "in <num> ."),
        ("the 1990s", "the <num>"),
        ("5kg of .5 or 2½", "<num> kg of <num> or <num>"),
        ("½5 or 2½5", "<num> or <num>"),
        ("½ ¾", "<num> <num>"),
        ("10² or Ⅷ", "<num> ² or Ⅷ"),
        ("mp3 b2b", "mp3 b2b"),
        ("(12)", "( <num> )"),
        ("10:30", "<num> : <num>"),
        ("٣ كتب", "<num> كتب"),
    ],
)
def test_a_number_is_one_token(raw, expected):
    assert cleaner(["numbers"])(raw) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("She's paid $1,000 -- don't ask!", "she s paid dollar <num> do nt ask !"),
        ("Prices rose 3.5% (again), by 1/2?", "prices rose <num> percent again , by <num> <num> ?"),
        ("“Well-known”: naïve café…", "well known : naïve café"),
        ("a <unk> word & <b>bold</b>", "a <unk> word b bold b"),
        ("co\u00adoperate", "cooperate"),
        ("किताब हिन्दी।", "किताब हिन्दी"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("snake_case\t\u2028x", "snake case x"),
        ("***", None),
        ("", None),
    ],
)
def test_the_default_rules_on_whole_lines(raw, expected):
    assert cleaner(DEFAULT)(raw) == expected


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("$", "dollar"),
        ("$5", "dollar 5"),
        ("5$", "5 dollar"),
        ("US$ 5", "US dollar 5"),
        ("5%", "5 percent"),
        ("%", "percent"),
    ],
)
def test_a_symbol_becomes_its_name_where_it_stands(raw, expected):
    assert cleaner(["percent_dollar"])(raw) == expected


def test_a_decomposed_letter_is_composed():
    assert cleaner(["unicode"])("cafe\u0301") == "caf\u00e9"
    assert cleaner(["unicode", "lower"])("T\u0308") == "\u1e97"  # only the small letter has a composed form


def test_an_accent_that_is_not_composed_belongs_to_its_word():
    assert cleaner(["contractions", "numbers"])("caf\u00e95 caf\u00e9's") == "caf\u00e95 caf\u00e9 s"
    assert cleaner(["contractions", "numbers"])("cafe\u03015 cafe\u0301's") == "cafe\u03015 cafe\u0301 s"


def test_settings_change_the_number_token_and_the_symbols_that_stay():
    clean = cleaner(DEFAULT, number="number", symbols=".-")
    assert clean("well-known, 3.14.") == "well - known number ."


def test_lines_over_the_limit_and_outside_the_dictionary_are_dropped():
    clean = cleaner(["lower", "max_tokens"], max_tokens=3)
    assert clean("One two three") == "one two three"
    assert clean("One two three four") is None
    clean = cleaner(["lower", "dictionary"], dictionary={"the", "cat"})
    assert clean("The cat . <num>") == "the cat . <num>"
    assert clean("The dog .") is None


@pytest.mark.parametrize(
    ("names", "given_settings", "parts"),
    [
        (["lowr"], {}, ["'lowr'", "did you mean 'lower'"]),
        (["drop_symbols", "contractions"], {}, ["'contractions'", "before 'drop_symbols'", "apostrophes"]),
        (["space_symbols", "numbers"], {}, ["'numbers'", "'space_symbols'", "points and commas"]),
        (["whitespace", "drop_symbols"], {}, ["'drop_symbols'", "'whitespace'"]),
        (["max_tokens", "lower"], {}, ["'lower'", "'max_tokens'"]),
        (["lower", "lower"], {}, ["'lower'", "twice"]),
        (["rare"], {}, ["'rare'", "stage"]),
        (["dictionary"], {}, ["'dictionary'", "set of words"]),
        (["lower"], {"max_token": 3}, ["'max_token'", "did you mean 'max_tokens'"]),
        (["lower"], {"number": "N 1"}, ["'N 1'", "lower case"]),
        (["lower"], {"symbols": "a."}, ["'a.'", "no letters"]),
        (["max_tokens"], {"max_tokens": 0}, ["max_tokens is 0"]),
    ],
)
def test_what_cannot_work_is_refused_with_a_sentence(names, given_settings, parts):
    with pytest.raises(LexigraphError) as caught:
        cleaner(names, **given_settings)
    for part in parts:
        assert part in str(caught.value)


TEXT = st.text(
    alphabet=st.one_of(
        st.sampled_from(" '’.,!?%$<>-_&0123456789aznNtTsSdDéΣİ\u0301\u00ad\u200d\u093f½²\t"),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)
PHRASES = st.lists(st.sampled_from(["don't", "1,000", "<num>", "2nd", "$5", "n't", "5%", "b2.5", "<NUM>", "'s"])).map(
    "".join
)
NUMERALS = st.text(  # digits of all scripts, fractions, superscripts, circled and Roman numerals beside symbols
    alphabet=st.one_of(
        st.sampled_from("0159½¼⅐⅞²³①Ⅷ٣५ .,%$€±'stndTİ\u0301\u0308"),
        st.characters(categories=["Nd", "Nl", "No"]),
        st.characters(categories=["Sc", "Sm", "So", "Po"]),
    ),
    max_size=12,
)


@settings(max_examples=300, deadline=None)
@given(
    line=st.one_of(TEXT, PHRASES, NUMERALS),
    names=st.one_of(
        st.sampled_from([DEFAULT, tuple(RULES), *((rule,) for rule in RULES)]),
        st.sets(st.sampled_from(DEFAULT), min_size=1).map(lambda chosen: [n for n in DEFAULT if n in chosen]),
    ),
)
@example("½5", DEFAULT)
@example("½½", ["numbers"])
@example("İ5", DEFAULT)
@example("T\u0308", DEFAULT)
@example("T\u0308's", ["unicode", "contractions", "lower"])
def test_cleaning_twice_is_cleaning_once(line, names):
    clean = cleaner(names, dictionary={"dollar", "percent", "nt", "s"})
    once = clean(line)
    assert once is None or clean(once) == once


@settings(max_examples=200, deadline=None)
@given(TEXT)
def test_a_cleaned_line_holds_only_letters_marks_digits_kept_symbols_and_number_tokens(line):
    cleaned = (cleaner(DEFAULT)(line) or "").replace("<num>", "").replace("<unk>", "")
    for character in set(cleaned) - set(" .,!?;:\u200c\u200d"):
        assert unicodedata.category(character)[0] in "LMN"


# ---- stages ----

LINES = ["A b c", "a b d", "a b", "a e f"]  # a 4, b 3, c d e f 1


def cleaned(lines, *stages, **options):
    clean = fitted_cleaner(lambda: iter(lines), DEFAULT, stages, **options)
    return [text for line in lines if (text := clean(line)) is not None]


def test_rare_words_leave_their_lines_and_then_long_lines_go():
    assert cleaned(LINES, Stage(rare=1, max_tokens=2)) == ["a b", "a b", "a b", "a"]
    assert cleaned(LINES, Stage(rare=3, max_tokens=9)) == ["a"] * 4
    assert cleaned(LINES, Stage(rare=4, max_tokens=9)) == []
    assert cleaned(LINES, Stage(rare=0, max_tokens=2)) == ["a b"]
    assert cleaned(LINES) == ["a b c", "a b d", "a b", "a e f"]


def test_a_second_stage_counts_what_the_first_one_left():
    # Stage one: nothing is rare at 0, and the three-word lines go. Stage two: of "a b" and "a" only a is seen twice.
    lines = ["a b c", "b b b", "a b", "a"]
    assert cleaned(lines, Stage(rare=0, max_tokens=2), Stage(rare=1, max_tokens=2)) == ["a", "a"]


def test_the_published_stages():
    assert [(stage.rare, stage.max_tokens) for stage in PUBLISHED_STAGES] == [(10, 50), (20, 20)]
    lines = ["often"] * 25 + ["sometimes often"] * 15 + ["seldom often"] * 10
    # "seldom" (10) goes in the first stage, "sometimes" (15) in the second, "often" (50) stays.
    assert cleaned(lines, *PUBLISHED_STAGES) == ["often"] * 50


def test_other_lines_are_cleaned_by_the_counts_of_the_training_text():
    clean = fitted_cleaner(lambda: iter(LINES), DEFAULT, [Stage(rare=1, max_tokens=2)])
    assert clean("B, C! C! C!") == "b"  # "c" is seen once in training, however often here; symbols are never seen
    assert clean("a b a") is None
    assert clean("new words") is None


def test_a_dictionary_drops_lines_after_rare_words_went():
    assert cleaned(LINES, Stage(1, 9), dictionary={"a"}) == ["a"]
    assert cleaned(LINES, dictionary=["a", "b"]) == ["a b"]


def test_each_stage_reads_the_training_text_once():
    passes = []
    clean = fitted_cleaner(lambda: passes.append(1) or iter(LINES), DEFAULT, [Stage(1, 9), Stage(0, 9)])
    assert [clean("a b"), clean("a c"), len(passes)] == ["a b", "a", 2]


def test_an_impossible_stage_is_refused():
    with pytest.raises(LexigraphError, match="max_tokens at least 1"):
        Stage(1, 0)
