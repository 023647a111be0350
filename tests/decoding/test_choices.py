"""The best of many scores."""

import pytest
import torch

from lexigraph.decoding.choices import highest


@pytest.mark.parametrize(("columns", "k"), [(2048, 5), (2100, 1), (16000, 16), (2175, 17), (50, 5)])
def test_the_highest_are_those_of_a_full_search(columns, k):
    scores = torch.randn(7, columns, generator=torch.Generator().manual_seed(columns))
    scores[0, :9] += 9  # all of the best in one chunk
    scores[1, -5:] += 9  # and behind the last whole chunk
    scores[2] = -torch.inf
    found, positions = highest(scores, k)
    assert torch.equal(found, scores.topk(k)[0])
    assert torch.equal(scores.gather(1, positions), found)
    assert all(len(set(row)) == k for row in positions.tolist())
