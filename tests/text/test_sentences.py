"""Running text cut into sentences: what ends one, and what does not."""

import pytest

from lexigraph.text.sentences import of_pieces, split


@pytest.mark.parametrize(
    "sentences",
    [
        ["Mr. and Mrs. Smith met Dr. No at 5 p.m. in St. Louis.", "It rained."],
        ["J. R. R. Tolkien wrote it.", "So did C. S. Lewis."],
        ["He lives in the U.S.", "The rent is $1.5 million, i.e. a lot."],
        ['"Is it late?" she asked.', '"It is."', "He left."],
        ["(They had gone.)", "[See below.]", "Nobody knew..."],
        ["Well... maybe.", "Wait!!!", "What?!", "Nothing."],
        ["1. Open the box.", "2. Close it."],
        ["See https://example.org/a.b?c=d. for more.", "Then write to me@example.org."],
        ["I like it. :)", "You do not? ;-)", "Pity."],
        ["¿Qué pasa?", "¡Nada!", "Bueno."],
        ["यह एक वाक्य है।", "यह दूसरा है।"],
        ["The firm (Acme Inc.) grew 3.14 percent.", "Fig. 2 shows it, cf. Vol. 3, pp. 4-5."],
        ["Nothing ends here without a mark"],
    ],
)
def test_sentences_that_were_joined_come_apart(sentences):
    assert split(" ".join(sentences)) == sentences


def test_scripts_that_put_no_space_after_a_full_stop():
    assert split("我喜欢猫。你呢？「走吧。」他走了。") == ["我喜欢猫。", "你呢？", "「走吧。」", "他走了。"]


def test_wrapped_lines_are_joined_and_hyphenated_words_whole_again():
    text = "This para-\ngraph was wrapped by a pro-\ngram long ago. It is a well-\nknown Anglo-\nSaxon habit."
    assert split(text) == [
        "This paragraph was wrapped by a program long ago.",
        "It is a wellknown Anglo- Saxon habit.",  # which hyphens belong to a word, the text does not say
    ]


def test_blank_lines_bullets_and_early_line_ends_divide_paragraphs():
    text = (
        "A heading\n\nText of the part that goes on over a line\nand ends here\n- one thing\n- another thing\n\n\nEnd"
    )
    assert list(of_pieces([text])) == [
        ("A heading", 0),
        ("Text of the part that goes on over a line and ends here", 1),
        ("- one thing", 1),
        ("- another thing", 1),
        ("End", 2),
    ]


@pytest.mark.parametrize("size", [1, 7, 100])
def test_pieces_of_any_size_give_the_same_sentences(size):
    text = "He came at last, and saw\nthat it was good. She\nleft.\n\nAll was still, e.g. the\nwind. The end.\n" * 20
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert list(of_pieces(pieces)) == list(of_pieces([text]))


def test_a_part_without_blank_lines_is_not_held_whole():
    lines = (f"Line {number} ends here.\n" for number in range(20_000))
    assert [sentence for sentence, _ in of_pieces(lines)] == [f"Line {number} ends here." for number in range(20_000)]
