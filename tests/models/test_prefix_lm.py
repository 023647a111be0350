"""The prefix language model: what it sees, and what it takes over from a gpt."""

from __future__ import annotations

import pytest
import torch

from lexigraph import api
from lexigraph.errors import UsageError
from lexigraph.models import gpt, prefix_lm
from tests.ids import ids

CONFIG = gpt.Config(layers=2, heads=2, dim=16, context=24)


def network_of(bidirectional: bool = True) -> prefix_lm.PrefixLM:
    torch.manual_seed(0)
    reader = gpt.GPT(CONFIG, gpt.Objective(), ids(40))
    config, objective = prefix_lm.Config(bidirectional), prefix_lm.Objective()
    network = prefix_lm.PrefixLM(config, objective, ids(40), {"reader": reader}).eval()
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return network


SOURCE = torch.tensor([[2, 10, 11, 12, 2]])
TARGET = torch.tensor([[2, 20, 21]])


def test_without_the_prefix_it_is_the_language_model_of_source_and_target():
    network = network_of(bidirectional=False)
    plain = network.reader(torch.tensor([[2, 10, 11, 12, 2, 20, 21]]))
    torch.testing.assert_close(network(SOURCE, TARGET), plain[:, 4:], atol=1e-6, rtol=1e-5)


def test_a_source_is_seen_in_both_directions_and_a_target_backwards():
    """The first layer's output for the first word of the source changes with the last one; a target's does not."""
    states: list[torch.Tensor] = []
    for bidirectional in (True, False):
        network = network_of(bidirectional)
        network.reader.blocks[0].register_forward_hook(lambda *call: states.append(call[2]))
        for last in (12, 13):
            network(torch.tensor([[2, 10, 11, last, 2]]), TARGET)
        network(SOURCE, torch.tensor([[2, 20, 25]]))
    both, other_source, other_target, one, one_source, _ = states
    assert not torch.allclose(both[0, 1], other_source[0, 1])
    torch.testing.assert_close(one[0, 1], one_source[0, 1])
    torch.testing.assert_close(both[0, :6], other_target[0, :6])


def test_only_the_target_is_learned():
    network = network_of()
    rows = [torch.tensor([2, 10, 11, 2]).numpy()], [torch.tensor([2, 20, 21, 22, 2]).numpy()]
    batch = network.prepare({"source": rows[0], "target": rows[1]})
    assert batch.counts == {"loss": 4}
    assert batch["targets"].tolist() == [[20, 21, 22, 2]]


@pytest.mark.parametrize(
    "parts", [{}, {"reader": gpt.GPT(gpt.Config(dim=8, heads=1, tied=False), gpt.Objective(), ids(40))}]
)
def test_it_needs_a_gpt_with_one_table(parts):
    with pytest.raises(UsageError, match=r"--from runs/gpt.*tied = true"):
        prefix_lm.PrefixLM(prefix_lm.Config(), prefix_lm.Objective(), ids(40), parts)


def test_a_run_of_gpt_is_the_start(tiny_run, tmp_path):
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"He has {n} cats .\tcats {n}\n" for n in range(60)))
    asked = {"train.steps": 2, "train.batch_tokens": 64, "train.validate_every": 2, "train.lr": 1e-6}
    model = api.train("prefix-lm", pairs, tmp_path / "run", start=tiny_run, quiet=True, set=asked)
    before = api.load(tiny_run).network
    torch.testing.assert_close(
        model.network.reader.blocks[0].attention.qkv.weight, before.blocks[0].attention.qkv.weight, atol=1e-4, rtol=0
    )
    (best,) = model.translate(["He has 3 cats ."], n_best=1, alignment=True)
    assert best[0].alignment.sum(1) == pytest.approx(1.0, abs=1e-5)
    assert len(best[0].source) == best[0].alignment.shape[1]
