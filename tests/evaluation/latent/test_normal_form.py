import pytest
from hypothesis import given
from hypothesis import strategies as st

from lexigraph.evaluation.latent.normal_form import normal_form
from lexigraph.text.clean import DEFAULT, cleaner


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I am there.", "i am there ."),
        ("I'm there.", "i m there ."),
        ("He didn’t go.", "He did not go."),
        ("I do not run in the morning.", "I don't run in the morning."),
        ("We cannot go.", "We can't go."),
        ("They won't go; you shan't.", "They will not go ; you shall not ."),
        ("Let's go!", "Let us go!"),
        ("“Go,” she said.", '"Go ," she said .'),
        ("She'd have gone, they're here, I've been.", "She would have gone, they are here, I have been."),
    ],
)
def test_what_people_take_for_the_same_sentence_is_the_same(first, second):
    assert normal_form(first) == normal_form(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Am I there?", "I am there."),
        ("I am there.", "I am there!"),
        ("He ran.", "She ran."),
        ("He did not go.", "He did go."),
        ("Anna's friend.", "Anna is friend."),
        ("I am there.", "I am there"),
        ("She's gone.", "She has gone."),
    ],
)
def test_other_words_and_marks_are_other_sentences(first, second):
    assert normal_form(first) != normal_form(second)


@pytest.mark.parametrize("text", ["I'll go, but don't wait: she's here.", "They can't; I won't!", "Who'd know?"])
def test_a_cleaned_text_equals_what_it_was_made_from(text):
    assert normal_form(cleaner(DEFAULT)(text)) == normal_form(text)


@given(st.text(st.one_of(st.sampled_from("i'mst’nd .,_"), st.characters())))
def test_the_normal_form_of_a_normal_form_is_itself(text):
    assert normal_form(normal_form(text)) == normal_form(text)
