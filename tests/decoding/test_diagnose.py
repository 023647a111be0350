import math

import pytest

from lexigraph.decoding import Hypothesis, Reference, beam_table, diagnose
from lexigraph.errors import LexigraphError


def test_verdicts_by_hand():
    outputs = [
        Hypothesis((1, 2), -2.0, -2.0, True),  # equal to the reference
        Hypothesis((1, 3), -2.0, -2.0, True),  # the model prefers the reference: the search lost it
        Hypothesis((1, 3), -2.0, -2.0, True),  # the model prefers its own text
        Hypothesis((1, 3), -2.0, -2.0, True),  # a tie that differs is the model's
        Hypothesis((1, 2), -1.0, -1.0, False),  # right so far, but not ended
    ]
    references = [Reference((1, 2), x) for x in (-2.0, -1.5, -3.0, -2.0, -1.5)]
    found = diagnose(outputs, references, alpha=0)
    verdicts = ["correct", "search error", "model error", "model error", "model error"]
    assert [item.verdict for item in found.items] == verdicts
    assert found.counts == {"correct": 1, "search error": 1, "model error": 3}
    assert found.shares == {"correct": 0.2, "search error": 0.2, "model error": 0.6}


def test_the_model_is_to_blame_if_it_prefers_its_own_output_and_the_search_if_it_lost_a_better_one():
    found, wanted = math.log(1.09e-7), math.log(7.21e-8)
    output = Hypothesis((3, 4, 5), found, found, True)
    assert diagnose([output], [Reference((3, 6, 5), wanted)], alpha=0).items[0].verdict == "model error"
    output = Hypothesis((3, 4, 5), wanted, wanted, True)
    assert diagnose([output], [Reference((3, 6, 5), found)], alpha=0).items[0].verdict == "search error"


def test_alpha_decides_between_a_short_and_a_long_text():
    # sums: −2 > −3, so the model prefers the short output; means: −2/2 < −3/6, so it prefers the reference
    output, reference = Hypothesis((9,), -2.0, -2.0, True), Reference((1, 2, 3, 4, 5), -3.0)
    assert diagnose([output], [reference], alpha=0).items[0].verdict == "model error"
    assert diagnose([output], [reference], alpha=1).items[0].verdict == "search error"
    assert diagnose([output], [reference], alpha=1).items[0].output_score == -1.0
    assert diagnose([output], [reference], alpha=1).items[0].reference_score == -0.5


def test_nothing_to_diagnose_and_unequal_lists():
    assert diagnose([], []).shares == {"correct": 0, "search error": 0, "model error": 0}
    with pytest.raises(LexigraphError, match="0 outputs but 1 references"):
        diagnose([], [Reference((), -1.0)])


def test_the_beam_table_has_a_row_for_each_width():
    def search(width):
        return [Hypothesis((1,) * width, -4.0 / width, -1.0, True), Hypothesis((), -2.0, -3.0, True)]

    rows = beam_table(search, lambda found: 10.0 * len(found[0].tokens), [1, 2, 4])
    assert [row.width for row in rows] == [1, 2, 4]
    assert [row.quality for row in rows] == [10, 20, 40]
    assert [row.log_probability for row in rows] == [-3, -2, -1.5]
    assert [row.length for row in rows] == [0.5, 1, 2]
    assert [row.score for row in rows] == [-2, -2, -2]
    assert all(row.seconds >= 0 for row in rows)
    with pytest.raises(LexigraphError, match="width 3 returned nothing"):
        beam_table(lambda width: [], lambda found: 0.0, [3])
