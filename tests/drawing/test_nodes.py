"""Drawings of trees with nodes: all that is said is there, and no line crosses another."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import pytest

from lexigraph.drawing.nodes import draw
from lexigraph.text import constructions, phrases
from lexigraph.text.trees import parse

SVG = "{http://www.w3.org/2000/svg}"


def test_it_shows_words_and_labels():
    drawing = ElementTree.fromstring(draw(parse("(S (NP (X R&D)) (VP (V <works>) (. .)))")))
    shown = [element.text for element in drawing.iter(f"{SVG}text")]
    assert sorted(shown) == sorted(["S", "NP", "X", "R&D", "VP", "V", "<works>", ".", "."])


def test_lines_run_level_and_down_and_none_crosses_another():
    for clause in constructions.clauses(30):
        corners = re.findall(r'd="M([\d.]+),([\d.]+)H([\d.]+)V([\d.]+)"', draw(phrases.tree(clause)))
        lines = [tuple(map(float, corner)) for corner in corners]
        for (x, y, down, _), (x2, y2, down2, bottom2) in (*combinations(lines, 2), *combinations(lines[::-1], 2)):
            left, right = sorted((x, down))
            level_crosses_fall = y2 < y < bottom2 and left < down2 < right
            assert not level_crosses_fall, (x2, y2)


@pytest.mark.parametrize("scale", [["0", "1", "2", "3", "4"], ["-1", "0", "+1"]])
def test_classes_of_sentiment_have_colours_from_blue_over_white_to_orange(scale):
    tree = parse(f"({scale[0]} ({scale[-1]} good) ({scale[len(scale) // 2]} it))")
    low, high, middle = re.findall(r'fill="#(\w\w)(\w\w)(\w\w)"', draw(tree, scale))
    assert middle == ("ff", "ff", "ff")
    assert low[2] > low[0]
    assert high[0] > high[2]
