"""Drawings of dependency trees: all that is said is there, and no label covers another."""

from __future__ import annotations

import re
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest

from lexigraph.drawing.arcs import draw
from lexigraph.nn.arborescence import tree

SVG = "{http://www.w3.org/2000/svg}"


def test_it_shows_words_tags_and_relations():
    drawing = ElementTree.fromstring(
        draw(["R&D", "<works>", "."], [2, 0, 2], ["nsubj", "root", "punct"], ["NOUN", "VERB", "PUNCT"])
    )
    shown = [element.text for element in drawing.iter(f"{SVG}text")]
    assert sorted(shown) == sorted(["R&D", "<works>", ".", "nsubj", "root", "punct", "NOUN", "VERB", "PUNCT"])


def test_an_arrow_points_at_every_word_from_its_head():
    drawing = draw(["She", "sings", "."], [2, 0, 2], ["nsubj", "root", "punct"])
    middles = [float(x) for x in re.findall(r'class="word" x="([\d.]+)"', drawing)]
    arcs = re.findall(r'class="arc" d="M([\d.]+),[^H]*H([\d.]+)', drawing)  # from where, and to about where
    nearest = [[int(np.argmin([abs(float(x) - m) for m in middles])) for x in arc] for arc in arcs]
    assert sorted(nearest) == [[1, 0], [1, 2]]


@pytest.mark.parametrize("length", [2, 12, 45])
def test_no_two_labels_overlap(length):
    random = np.random.default_rng(length)
    scores = (
        random.normal(size=(length, length + 1)) - np.abs(np.arange(length)[:, None] + 1 - np.arange(length + 1)) / 3
    )
    scores[np.arange(length), np.arange(1, length + 1)] = -np.inf
    words = ["".join(random.choice(list("ailmW"), random.integers(1, 9))) for _ in range(length)]
    relations = [str(each) for each in random.choice(["det", "nmod:unmarked", "nsubj"], length)]
    drawing = draw(words, tree(scores).tolist(), relations)
    boxes = [
        tuple(map(float, box))
        for box in re.findall(r'x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="13"', drawing)
    ]
    assert len(boxes) == length
    for (x, y, width), (other_x, other_y, other_width) in combinations(boxes, 2):
        assert abs(y - other_y) >= 13 or x + width <= other_x or other_x + other_width <= x
