import numpy as np
import pytest

from lexigraph.errors import LexigraphError
from lexigraph.latent.arithmetic import combine
from lexigraph.latent.expression import parse


def test_combining_is_the_weighted_sum():
    vectors = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]], dtype=np.float32)
    total = combine(vectors, [part.weight for part in parse("a - b + 0.5 c")])
    assert total.dtype == np.float32
    assert total.tolist() == [0.5, 1, 1.5]
    assert combine(vectors, np.array([0.0, 0.0, 2.0])).tolist() == [14, 16, 18]
    with pytest.raises(LexigraphError, match="3 vectors and 2 weights"):
        combine(vectors, [1, 2])
