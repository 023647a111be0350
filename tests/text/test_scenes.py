"""Scenes show what their captions say."""

from itertools import islice

import numpy as np

from lexigraph.text.scenes import COLOURS, scenes


def middle(picture, colour):
    """Where the dots are that are nearer to a colour than to any other and to black."""
    names = [*COLOURS, "ground"]
    colours = np.array([*COLOURS.values(), (25, 25, 25)])
    nearest = ((picture[:, :, None].astype(int) - colours) ** 2).sum(3).argmin(2)
    return np.argwhere(nearest == names.index(colour)).mean(0)


def test_things_are_where_the_caption_says():
    checked = set()
    for picture, (caption, converse, *_) in islice(scenes(), 200):
        _, one, shape, _, relation, *_, other, _, _ = (
            caption.replace("left of", "left-of").replace("right of", "right-of").split()
        )
        if one == other:
            continue
        (y, x), (v, u) = middle(picture, one), middle(picture, other)
        assert {"above": y < v, "below": y > v, "left-of": x < u, "right-of": x > u}[relation]
        assert f"{one} {shape} ." in converse
        checked.add(relation)
    assert len(checked) == 4
