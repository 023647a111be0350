"""The CRF against all sequences of tags, one by one, in float64."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
import torch

from lexigraph.nn.crf import CRF
from lexigraph.objectives.next_token import IGNORE
from lexigraph.text.spans import follows

NAMES = ("B-X", "I-X", "O")
LENGTHS = torch.tensor([4, 1, 3])


def made(**settings) -> tuple[CRF, torch.Tensor]:
    torch.manual_seed(0)
    crf = CRF(NAMES, **settings).double()
    with torch.no_grad():
        for weight in crf.parameters():
            weight.normal_()
    return crf, torch.randn(3, 4, 3, dtype=torch.float64) * 2


def sequences(crf: CRF, emissions: torch.Tensor, scheme: str = "") -> dict[tuple[int, ...], float]:
    """exp of the score of every sequence of one sentence that a scheme allows."""
    found = {}
    for tags in product(range(len(NAMES)), repeat=len(emissions)):
        named = ["", *(NAMES[tag] for tag in tags), ""]
        if scheme and not all(follows(one, other, scheme) for one, other in pairwise(named)):
            continue
        score = crf.b[tags[0]] + crf.e[tags[-1]] + sum(emissions[t, tag] for t, tag in enumerate(tags))
        found[tags] = float((score + sum(crf.A[i, j] for i, j in pairwise(tags))).exp().detach())
    return found


@pytest.mark.parametrize(("scheme", "constrained"), [("", False), ("BIO", False), ("BIO", True)])
def test_likelihood_marginals_and_viterbi_equal_enumeration(scheme, constrained):
    crf, E = made(scheme=scheme, constrained=constrained)
    tags = torch.tensor([[0, 1, 2, 2], [2, IGNORE, IGNORE, IGNORE], [0, 1, 1, IGNORE]])
    nll, marginals, best = crf.nll(E, tags, LENGTHS), crf.marginals(E, LENGTHS), crf.viterbi(E, LENGTHS)
    for row, n in enumerate(LENGTHS.tolist()):
        every = sequences(crf, E[row, :n], scheme if constrained else "")
        expected = every[tuple(tags[row, :n].tolist())] / sum(every.values())
        assert float(nll[row].detach().exp()) == pytest.approx(1 / expected, rel=1e-10)
        allowed = sequences(crf, E[row, :n], scheme)
        assert tuple(best[row, :n].tolist()) == max(allowed, key=allowed.__getitem__)
        for t, tag in product(range(n), range(len(NAMES))):
            share = sum(p for each, p in allowed.items() if each[t] == tag) / sum(allowed.values())
            assert float(marginals[row, t, tag].detach()) == pytest.approx(share, abs=1e-12)


def test_a_tag_that_is_not_known_may_be_any():
    crf, E = made()
    tags = torch.tensor([[0, IGNORE, 2, IGNORE]])
    every = sequences(crf, E[0])
    share = sum(p for each, p in every.items() if each[0] == 0 and each[2] == 2) / sum(every.values())
    assert float(crf.nll(E[:1], tags, LENGTHS[:1]).detach()) == pytest.approx(
        -torch.tensor(share).log().item(), rel=1e-5
    )


def test_the_gradient_of_the_likelihood_is_what_is_seen_less_what_is_expected():
    """∂(- log p)/∂E = marginals - tags."""
    crf, E = made()
    tags = torch.tensor([[0, 1, 2, 2], [2, 0, 0, 0], [0, 1, 1, 0]])
    E.requires_grad_()
    crf.nll(E, tags, LENGTHS).sum().backward()
    seen = torch.nn.functional.one_hot(tags, 3)
    for row, n in enumerate(LENGTHS.tolist()):
        expected = crf.marginals(E, LENGTHS)[row, :n].detach()
        assert torch.allclose(E.grad[row, :n], expected - seen[row, :n], atol=1e-12)
    assert not E.grad[1, 1:].any()  # behind the end nothing counts
