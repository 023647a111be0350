"""No n-gram twice in a text that a beam search found."""

from __future__ import annotations

import torch

from lexigraph.decoding.beam import beam_search
from lexigraph.decoding.repeats import again
from lexigraph.nn.stepper import State, Step

EOS = 0


class Cycle:
    """A decoder that would write 1 2 3 1 2 3 … for ever; now and then another token, hardly ever the end."""

    log_p = torch.full((5, 5), -6.0)
    log_p[[1, 2, 3, 4, EOS], [2, 3, 1, 1, 1]] = -0.1

    def start(self, batch: dict[str, torch.Tensor], width: int = 1) -> Step:
        rows = len(batch["lengths"]) * width
        return self.step(State({"last": torch.zeros(rows, dtype=torch.long)}, width=width), torch.full((rows,), EOS))

    def step(self, state: State, tokens: torch.Tensor, attention: bool = False) -> Step:
        return Step(self.log_p[tokens].clone(), state)


def found(no_repeat: int, width: int) -> list[tuple[int, ...]]:
    batch = {"lengths": torch.ones(3, dtype=torch.long)}
    best = beam_search(
        Cycle(), batch, eos=EOS, width=width, max_new=12, no_repeat=no_repeat, alpha=0.0, stop="length"
    )
    return [hypotheses[0].tokens for hypotheses in best]


def test_a_cycle_is_left_before_it_closes():
    assert found(0, 1) == [(1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3)] * 3
    for width in (1, 4):
        for n in (1, 2, 3):
            for tokens in found(n, width):
                grams = [tokens[i : i + n] for i in range(len(tokens) - n + 1)]
                assert len(set(grams)) == len(grams)


def test_what_would_come_again():
    assert again([1, 2, 3, 1, 2], 3) == [3]
    assert again([1, 2, 1, 3, 1], 2) == [2, 3]
    assert again([1, 2], 3) == again([], 1) == []
