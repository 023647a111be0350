"""Sums of sentences as a target: the sum itself, what a row may leave out, and where it is read from."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

import lexigraph
from lexigraph.objectives import analogies
from lexigraph.objectives.next_token import IGNORE


def bags(ids: Tensor, seen: Tensor, seeds: Tensor | None) -> Tensor:
    """A reader whose vectors are the numbers of the tokens 0 … 9."""
    return (torch.nn.functional.one_hot(ids, 10) * seen.unsqueeze(2)).sum(1).float()


def rows(**texts: list[list[int]]) -> dict[str, Tensor]:
    longest = {name: max(map(len, some)) for name, some in texts.items()}
    return {
        name: torch.tensor([row + [IGNORE] * (longest[name] - len(row)) for row in some])
        for name, some in texts.items()
    }


def test_a_sum_is_the_given_sentence_and_what_was_done_to_the_others() -> None:
    texts = rows(
        before=[[1, 2, 0], [1, 0]],
        after=[[1, 3, 0], [2, 0]],
        before2=[[5, 0], [0]],
        after2=[[5, 6, 7, 0], [0]],  # the second row has no second difference
        given=[[2, 4, 0], [1, 9, 0]],
    )
    found = analogies.sums(texts, bags, None)
    assert found[0].nonzero()[:, 0].tolist() == [0, 3, 4, 6, 7]
    assert found[1].nonzero()[:, 0].tolist() == [0, 2, 9]


def test_factors_of_the_first_difference_are_mostly_one_and_else_between_half_and_one_and_a_half() -> None:
    count = 4000
    texts = {name: torch.tensor([[1, 0]]).expand(count, -1) for name in analogies.TERMS}
    texts |= {"after": torch.tensor([[2, 0]]).expand(count, -1), "before2": texts["given"], "after2": texts["given"]}
    factors = analogies.sums(texts, bags, torch.arange(count) * 104729)[:, 2]
    plain = (factors == 1).float().mean()
    assert 0.66 < plain < 0.74
    assert 0.5 <= factors.min() < 0.52
    assert 1.48 < factors.max() <= 1.5


def test_a_table_of_ones_own_may_leave_the_second_difference_out(tmp_path: Path) -> None:
    table = tmp_path / "edits.tsv"
    pairs = ["He sings .\tShe sings .\tHe is here .\tShe is here ."] * 30
    table.write_text("\n".join(["before\tafter\tgiven\tresult", *pairs]) + "\n", encoding="utf-8")
    settings = {"data.analogies.train": str(table), "data.analogies.batch_tokens": 64}
    model = lexigraph.train("picture-analogies", data="grammar", out=tmp_path / "run", set=settings, tiny=True)
    assert "solve" in model.abilities


def test_a_table_that_is_missing_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(lexigraph.LexigraphError, match=r"data\.analogies"):
        lexigraph.train("picture", data="grammar", out=tmp_path / "run", set={"objective.analogies": 0.5})
