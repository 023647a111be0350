"""How a recurrent language model is taught: the true text, its own tokens, recurrence through the output."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from lexigraph.errors import UsageError
from lexigraph.models.rnn_lm import Config, Objective, RecurrentLanguageModel
from lexigraph.nn.stepper import State
from lexigraph.text.columns import MAIN
from lexigraph.text.vocabularies import Ids, Vocabularies

SIZE = 9
ROWS = [np.array([2, 3, 4, 5, 6, 2]), np.array([2, 7, 8, 2])]
SEEDS = {MAIN: np.array([11, 22])}


def network(objective: Objective | None = None, **config) -> RecurrentLanguageModel:
    torch.manual_seed(0)
    settings = {"layers": 1, "dim": 16, "scale": 0.5} | config
    made = RecurrentLanguageModel(Config(**settings), objective or Objective(), Vocabularies({"text": Ids(SIZE)}))
    return made.eval()


def nll(made: RecurrentLanguageModel, rows, seeds=None, step=None) -> float:
    terms, _ = made.loss(made.prepare({"text": rows}, seeds, step))
    return terms["loss"].total.item()


def test_scheduled_sampling_begins_with_the_true_text_and_ends_with_its_own():
    made = network(Objective(sampling="linear", sampling_k=100))
    taught = nll(made, ROWS)  # without seeds, in evaluation: teacher forcing
    assert nll(made, ROWS, SEEDS, step=0) == pytest.approx(taught, rel=1e-6)
    assert nll(made, ROWS, SEEDS, step=100) != pytest.approx(taught, rel=1e-3)


def test_its_own_tokens_are_those_that_it_draws_step_by_step():
    """Against the stepper: each token is drawn from what was said before, and scored against the true text."""
    made = network(Objective(sampling="linear", sampling_k=1))
    batch = made.prepare({"text": ROWS[:1]}, {MAIN: SEEDS[MAIN][:1]}, 1)
    assert batch["own"].tolist() == [[False, True, True, True, True]]
    expected = 0.0
    with torch.no_grad():
        step = made.start({"ids": torch.tensor([[2]]), "lengths": torch.tensor([1])})
        for t, true in enumerate(ROWS[0][1:]):
            expected += F.cross_entropy(step.logits, torch.tensor([true])).item()
            shares = step.logits[0].softmax(0).cumsum(0)
            if t + 1 < len(ROWS[0]) - 1:
                step = made.step(step.state, (shares < batch["draws"][0, t + 1]).sum()[None])
    assert nll(made, ROWS[:1], {MAIN: SEEDS[MAIN][:1]}, 1) == pytest.approx(expected, rel=1e-5)


def test_what_is_drawn_does_not_depend_on_the_rows_beside_it():
    made = network(Objective(sampling="inverse-sigmoid", sampling_k=2), cell="gru", layers=2).double()
    alone = [nll(made, [row], {MAIN: SEEDS[MAIN][n : n + 1]}, 5) for n, row in enumerate(ROWS)]
    assert nll(made, ROWS, SEEDS, 5) == pytest.approx(sum(alone), rel=1e-10)


def test_with_output_recurrence_nothing_is_known_of_a_state_but_what_it_said():
    """A state changed where the output table does not see it makes the same prediction, and all those after it."""
    made = network(cell="rnn", recurrence="output")
    hidden = network(cell="rnn")
    with torch.no_grad():
        for each, same in ((made, True), (hidden, False)):
            unseen = torch.linalg.svd(each.output_table)[2][-1]  # 16 numbers, 9 tokens
            state = each.start({"ids": torch.tensor([[2, 3]]), "lengths": torch.tensor([2])}).state
            other = State({"h": state.rows["h"] + 0.7 * unseen})
            found = [each.step(start, torch.tensor([4])).logits for start in (state, other)]
            assert torch.allclose(*found, atol=1e-5) == same


def test_output_recurrence_is_the_same_at_once_step_by_step_and_in_windows():
    """What every system promises, of a form that has no recipe: stepping is a full pass, prompts of different lengths
    do not see each other's padding, and the state at the end of a window begins the next one."""
    made = network(cell="rnn-relu", recurrence="output").double()
    ids = torch.tensor([[2, 3, 4, 5, 6], [2, 7, 8, 0, 0]])
    with torch.no_grad():
        whole = made(ids)
        step = made.start({"ids": ids[:, :4], "lengths": torch.tensor([4, 2])})
        assert torch.allclose(step.logits, torch.stack([whole[0, 3], whole[1, 1]]))
        step = made.step(step.state, torch.tensor([6, 8]))
        assert torch.allclose(step.logits, torch.stack([whole[0, 4], whole[1, 2]]))
        first, carry = made.hidden(ids[:1, :2])
        second, _ = made.hidden(ids[:1, 2:], carry)
        assert torch.allclose(torch.cat([first, second], 1), made.hidden(ids[:1])[0])


@pytest.mark.parametrize(
    ("config", "objective", "named"),
    [
        ({"cell": "lstm", "recurrence": "output"}, {}, "simple cell"),
        ({"cell": "rnn", "recurrence": "output", "layers": 2}, {}, "one layer"),
        ({"cell": "rnn", "locked": True}, {"sampling": "linear"}, "model.locked"),
        ({}, {"sampling": "exponential", "sampling_k": 2.0}, "sampling_k"),
    ],
)
def test_combinations_that_mean_nothing_are_refused(config, objective, named):
    with pytest.raises(UsageError, match=named):
        network(Objective(**objective), **config)
