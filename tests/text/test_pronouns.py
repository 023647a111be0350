"""Generated pronouns: one word decides who is meant, and no noun is in two parts."""

from collections import defaultdict

import pytest

from lexigraph.text import pronouns
from lexigraph.text.pronouns import COUNTS, NO, SCHEMAS, YES, claims, nouns


def test_an_example():
    found = {(each.sentence, each.claim): each.answer for part in COUNTS for each in claims(part)}
    sentence = next(each for each, _ in found if "did not fit" in each and "too big ." in each)
    first, second = sentence.split()[1], sentence.split()[7]
    assert found[sentence, f"The {first} was too big ."] == YES
    assert found[sentence, f"The {second} was too big ."] == NO
    assert found[sentence.replace("big", "small"), f"The {first} was too small ."] == NO
    assert found[sentence.replace("big", "small"), f"The {second} was too small ."] == YES


@pytest.mark.parametrize("part", COUNTS)
def test_words_alone_tell_nothing(part):
    """Of the four claims about two nouns half are so, whichever noun and whichever word is asked about."""
    found = list(claims(part))
    assert len(found) == 4 * COUNTS[part] == len({(each.sentence, each.claim) for each in found})
    for four in zip(*[iter(found)] * 4, strict=True):
        assert [each.answer for each in four] == [YES, NO, NO, YES]
        said = defaultdict(list)
        for each in four:
            said[each.claim.split()[0 if each.claim.split()[0] != "The" else 1]].append(each.answer)
        assert all(sorted(answers) == [NO, YES] for answers in said.values())
    assert found == list(claims(part))  # and always the same


def test_parts_share_no_noun():
    for kinds in {kinds for schema in SCHEMAS for kinds in schema.kinds}:
        parts = [set(nouns(kinds, part)) for part in pronouns.COUNTS]
        assert all(parts)
        assert not set.intersection(*parts)
        assert not parts[0] & parts[2]
