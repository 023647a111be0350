"""Levels of a network, and what layer-wise rates and gradual unfreezing do to its weights."""

from __future__ import annotations

import pytest
import torch
from safetensors.torch import load_file

from lexigraph import api
from lexigraph.errors import UsageError
from lexigraph.nn.levels import levels
from lexigraph.recipe import Train
from lexigraph.run import Run
from lexigraph.training.schedules import optimizer
from lexigraph.weights import run_weights
from tests.contracts.tiny import newborn


def names_of(network):
    known = {id(parameter): name for name, parameter in network.named_parameters()}
    return [{known[id(parameter)] for parameter in level} for level in levels(network)]


@pytest.mark.parametrize(
    "system", ["bert", "electra", "gpt", "xlnet", "elmo", "lstm-lm", "unitary-lm", "tagger-bert"]
)
def test_every_weight_is_of_one_level(system):
    network = newborn(system)
    found = names_of(network)
    assert sum(map(len, found)) == len(set().union(*found)) == len(list(network.parameters()))


def test_levels_go_from_the_new_output_to_the_tables():
    output, *layers, tables = names_of(newborn("similarity", **{"parts.reader.layers": 3}))
    assert output == {"output.weight", "output.bias"}
    for number, layer in zip((2, 1, 0), layers, strict=True):
        assert layer
        assert all(name.startswith(f"reader.encoder.layers.{number}.") for name in layer)
    assert tables
    assert all(name.startswith("reader.embedding.") for name in tables)


def test_each_layer_learns_at_a_share_of_the_rate_of_the_one_above():
    network = newborn("classifier-tuned", **{"parts.reader.layers": 2})
    made = optimizer(network, Train(layer_decay=0.5, lr_scale={"reader.embedding": 0.1}), fused=False)
    share = {id(p): group.get("share", 1.0) for group in made.param_groups for p in group["params"]}
    for name, parameter in network.named_parameters():
        expected = 1.0 if name.startswith("output.") else 0.5 if ".layers.1." in name else 0.25
        expected = 0.1 * 0.5**3 if name.startswith("reader.embedding.") else expected
        assert share[id(parameter)] == pytest.approx(expected), name


@pytest.mark.parametrize(("system", "top"), [("lstm-lm", "_l1"), ("unitary-lm", ".blocks.1.")])
def test_recurrent_layers_are_levels_too(system, top):
    first, second, tables = names_of(newborn(system, **{"model.layers": 2}))
    assert any(top in name for name in first)
    assert not any(top in name for name in second)
    assert tables == {"embedding.weight"}


def test_a_network_without_layers_is_refused():
    with pytest.raises(UsageError, match="go from layer to layer"):
        levels(newborn("bow"))


@pytest.fixture(scope="module")
def trained(tiny_runs, tmp_path_factory):
    """Classifiers that start from the same BERT, after so many steps in which one more level is trained every two."""
    folder = tmp_path_factory.mktemp("unfrozen")

    def run(name: str, steps: int, **changes: object):
        changes = {"train.steps": steps, "train.unfreeze_every": 2, "train.validate_every": 1} | changes
        changes |= {"train.schedule": "constant", "train.warmup": 1, "train.metric": "loss"}
        return api.train(
            "classifier-tuned", "grammar", folder / name, start=tiny_runs("bert"), tiny=True, quiet=True, set=changes
        ).path

    return run


def newest(path):
    return load_file(next((path / "checkpoints").glob("step-*")) / "weights.safetensors")


def changed(path, start):
    """The weights of the part that are no longer those that it started from."""
    now, before = newest(path), run_weights(Run.open(start))
    return {name for name in before if not torch.equal(now.get(f"reader.{name}", before[name]), before[name])}


def test_layers_are_unfrozen_from_the_top_one_after_the_other(trained, tiny_runs):
    start = tiny_runs("bert")
    assert changed(trained("two", 2), start) == set()  # the output alone
    top = changed(trained("four", 4), start)
    assert top
    assert all(name.startswith("encoder.layers.1.") for name in top)
    more = changed(trained("six", 6), start)
    assert {name.split(".")[2] for name in more} == {"0", "1"}
    assert any(name.startswith("embedding.") for name in changed(trained("eight", 8), start))


def test_a_resumed_run_unfreezes_as_one_that_was_never_stopped(trained):
    once, parts = trained("once", 6), trained("parts", 3)
    api.train(out=parts, resume=True, set={"train.steps": 6}, quiet=True)
    one, other = newest(once), newest(parts)
    assert all(torch.equal(one[name], other[name]) for name in one)
