"""Image-text matching: what sees what, which pictures are exchanged, and the loss of both answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F
from typer.testing import CliRunner

import lexigraph
from lexigraph.cli import app
from lexigraph.models.image_text import Config, ImageTextMatcher, Objective
from lexigraph.objectives.terms import value
from lexigraph.text.vocabularies import Ids, Numbers, Vocabularies
from tests.contracts.asked import inputs_of

TEXTS = [[2, 7, 8, 9, 2], [2, 11, 2]]


def network(hard: int = 0, **form: Any) -> ImageTextMatcher:
    torch.manual_seed(0)
    vocabularies = Vocabularies({"image": Numbers((8, 8, 3), 100.0, 50.0), "text": Ids(50)})
    config = Config(**{"layers": 2, "heads": 2, "dim": 8, "dropout": 0.0, "context": 12, **form})
    made = ImageTextMatcher(config, Objective(hard=hard), vocabularies).eval()
    for parameter in made.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    return made


def examples(count: int) -> dict[str, Any]:
    images = list(np.random.default_rng(0).integers(0, 256, (2 * count, 8, 8, 3)).astype(np.uint8))
    captions = [np.array(TEXTS[number % 2]) for number in range(count)]
    return {"image": images[:count], "caption": captions, "other": images[count:]}


@pytest.mark.parametrize("fusion", ["joint", "apart"])
def test_apart_what_a_text_and_a_picture_give_is_only_added(fusion):
    made = network(fusion=fusion)
    means: list[torch.Tensor] = []
    made.norm.register_forward_pre_hook(lambda module, given: means.append(given[0][0]))
    batch = made.prepare(examples(2))
    for text, image in ((0, 0), (1, 1), (0, 1), (1, 0)):
        made(batch["images"][image : image + 1], batch["ids"][text : text + 1], batch["lengths"][text : text + 1])
    added = torch.allclose(means[0] + means[1], means[2] + means[3], atol=1e-5)
    assert added == (fusion == "apart")


def test_half_of_the_pictures_are_exchanged_by_the_seed_of_their_row():
    made, given = network(), examples(200)
    seeds = np.arange(200) * 7919
    batch = made.prepare(given, {"": seeds})
    assert 70 < int(batch["swap"].sum()) < 130
    own = made.prepare({name: rows[3:4] for name, rows in given.items()}, {"": seeds[3:4]})
    assert own["swap"][0] == batch["swap"][3]


def test_the_loss_is_that_of_the_answer_and_evaluation_asks_for_both():
    made = network()
    batch = made.prepare(examples(4), {"": np.arange(4)})
    text = batch["ids"], batch["lengths"]
    own, other = made(batch["images"], *text), made(batch["other"], *text)
    logits, right = torch.where(batch["swap"], other, own), (~batch["swap"]).float()
    assert torch.isclose(value(made.loss(batch)[0]), F.binary_cross_entropy_with_logits(logits, right))
    both = torch.cat([own, other]), torch.tensor([1.0] * 4 + [0.0] * 4)
    wanted = F.binary_cross_entropy_with_logits(*both)
    assert torch.isclose(value(made.loss(made.prepare(examples(4)))[0]), wanted)


def test_the_hardest_picture_is_another_one_that_fits_best():
    made, given = network(hard=3), examples(5)
    given["image"][1] = given["image"][0]  # two captions of one picture
    batch = made.prepare(given, {"": np.arange(5)})
    chosen, text = made.hardest(batch), (batch["ids"], batch["lengths"])
    assert not any(torch.equal(a, b) for a, b in zip(chosen, batch["images"], strict=True))
    found, random = made(chosen, *text), made(batch["other"], *text)
    assert (found >= random).all()
    moved = torch.stack([made(batch["images"].roll(shift, 0), *text) for shift in (1, 2)])
    same = torch.stack([(batch["images"].roll(s, 0) == batch["images"]).flatten(1).all(1) for s in (1, 2)])
    wanted = torch.maximum(moved.masked_fill(same, -torch.inf).amax(0), random)
    assert torch.allclose(found, wanted, atol=1e-6)


def test_matches_are_sorted_and_do_not_mind_company(tiny_runs):
    model = lexigraph.load(tiny_runs("image-text"))
    pictures, texts = [each["image"] for each in inputs_of(model)[::2]], ["A red disc .", "A blue cross is here ."]
    together = model.match(pictures, texts)
    for picture, row in zip(pictures, together, strict=True):
        assert [each.score for each in row] == sorted((each.score for each in row), reverse=True)
        alone = model.match(picture, texts[0])
        assert alone[0].score == pytest.approx(next(e.score for e in row if e.text == texts[0]), abs=1e-5)
    shown = CliRunner().invoke(app, ["match", str(tiny_runs("image-text")), "none.png", "--text", "a"])
    assert "none.png cannot be read" in str(shown.exception)
