"""What ELECTRA's generator puts in, what its discriminator is asked, and both as a trained model."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation import replaced as detection
from lexigraph.models.electra import ELECTRA, Config, Objective, generator_shape
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import value
from tests.ids import ids

MASK = 3


def network(objective: Objective | None = None, **settings) -> ELECTRA:
    torch.manual_seed(0)
    shape = {"layers": 2, "heads": 4, "dim": 32, "embedding": 12, "context": 24, "dropout": 0.0}
    made = ELECTRA(Config(**shape | settings), objective or Objective(), ids(40, mask=MASK))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    return made.eval()


def rows(count: int = 60) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [np.array([2, *random.integers(4, 40, length), 2]) for length in random.integers(1, 21, count)]


def originals(batch) -> torch.Tensor:
    restored = batch["inputs"].clone()
    for row, positions, targets in zip(restored, batch["positions"], batch["targets"], strict=True):
        row[positions[targets != IGNORE]] = targets[targets != IGNORE]
    return restored


def test_all_chosen_tokens_are_hidden_from_the_generator():
    batch = network().prepare({"text": rows()})
    hidden = batch["inputs"].gather(1, batch["positions"])[batch["targets"] != IGNORE]
    assert (hidden == MASK).all()
    assert int((batch["inputs"] == MASK).sum()) == batch.counts["generator"]


def test_only_hidden_tokens_are_replaced_and_a_hit_counts_as_original():
    made = network()
    with torch.no_grad():
        made.head.bias[5] += 8  # it often guesses token 5, which is sometimes right
    texts = [np.array([2, *([5, 9] * 8), 2])] * 1 + rows()
    batch = made.prepare({"text": texts})
    ids, replaced = made.replace(batch)
    truth = originals(batch)
    assert torch.equal(replaced.bool(), ids != truth)
    untouched = batch["inputs"] != MASK
    assert torch.equal(ids[untouched], batch["inputs"][untouched])
    chosen = batch["targets"] != IGNORE
    hits = (ids.gather(1, batch["positions"]) == batch["targets"]) & chosen
    assert 0 < int(hits.sum()) < int(chosen.sum())
    assert int(replaced.sum()) == int(chosen.sum() - hits.sum())


def test_tokens_are_drawn_as_often_as_the_generator_says():
    made = network()
    draws = 4000
    batch = made.prepare({"text": [np.array([2, 7, 8, 9, 2])] * draws}, {"": np.arange(draws)})
    position = batch["positions"][:, 0]
    same = position == position[0]
    logits = made.masked_logits(batch["inputs"][:1], None, position[:1, None])[0, 0]
    p = logits.softmax(0).detach()
    drawn = made.replace(batch)[0][same][:, position[0]]
    shares = torch.bincount(drawn, minlength=40) / len(drawn)
    error = (p * (1 - p) / len(drawn)).sqrt()
    assert ((shares - p).abs() <= 4.5 * error + 1e-3).all()


def test_a_text_is_replaced_alike_in_any_batch_and_otherwise_by_another_seed():
    made, texts = network(), rows()
    together = made.replace(made.prepare({"text": texts}, {"": np.arange(len(texts))}))[0]
    for index in (0, 7, 31):
        alone = made.replace(made.prepare({"text": [texts[index]]}, {"": np.array([index])}))[0][0]
        assert torch.equal(together[index, : len(alone)], alone)
    others = made.replace(made.prepare({"text": texts}, {"": np.arange(len(texts)) + 1000}))[0]
    assert not torch.equal(together, others)


def test_no_gradient_of_the_discriminator_reaches_the_generator():
    made = network()
    terms, _ = made.loss(made.prepare({"text": rows()}))
    terms["loss"].total.backward()
    assert all(p.grad is None for p in [*made.generator.parameters(), *made.head.parameters()])
    assert all(p.grad is not None for p in [*made.discriminator.parameters(), *made.embedding.parameters()])


def test_the_loss_is_the_generators_and_fifty_times_the_discriminators():
    made = network()
    batch = made.prepare({"text": rows()})
    terms, _ = made.loss(batch)
    assert batch.counts["loss"] == sum(len(row) for row in rows())  # all real positions
    parts = {name: (term.total / term.count).item() for name, term in terms.items()}
    assert value(terms).item() == pytest.approx(parts["generator"] + 50 * parts["loss"], rel=1e-6)
    ids, replaced = made.replace(batch)
    p = torch.sigmoid(made(ids, batch["lengths"]).double())
    inside = torch.arange(ids.shape[1]) < batch["lengths"][:, None]
    errors = -(replaced * p.log() + (1 - replaced) * (1 - p).log())
    assert parts["loss"] == pytest.approx(errors[inside].mean().item(), rel=1e-5)


def test_the_generator_is_a_share_of_the_discriminator_and_reads_with_its_table():
    made = network()
    small = generator_shape(made.config)
    assert (small.dim, small.heads, small.inner) == (8, 1, 32)
    tables = [name for name, p in made.named_parameters() if p.shape[0] == 40 and p.dim() == 2]
    assert tables == ["embedding.tokens.weight"]
    with pytest.raises(UsageError, match="generator_share"):
        network(generator_share=0.4)


def test_the_discriminator_learns_what_does_not_belong_into_a_text():
    """The generator guesses among all tokens, the text has only half of them."""
    torch.manual_seed(0)
    made = ELECTRA(
        Config(layers=1, heads=2, dim=16, embedding=16, context=12, dropout=0.0), Objective(), ids(40, mask=MASK)
    )
    random = np.random.default_rng(0)
    texts = [np.array([2, *random.integers(4, 22, 10), 2]) for _ in range(64)]
    optimizer = torch.optim.Adam([*made.discriminator.parameters(), *made.dense.parameters()], lr=1e-2)
    optimizer.add_param_group({"params": [*made.replaced.parameters(), *made.embedding.parameters()]})
    for step in range(100):
        optimizer.zero_grad()
        terms, _ = made.loss(made.prepare({"text": texts}, {"": np.arange(64) + 64 * step}))
        value({"loss": terms["loss"]}).backward()
        optimizer.step()
    text = torch.tensor([[2, 5, 30, 7, 8, 35, 9, 10, 11, 12, 13, 2]])
    assert torch.equal(made(text) > 0, text >= 22)


def test_narrow_layers_are_born_with_weights_as_large_as_their_width_asks():
    """LTG-BERT's √(2 / 5d): what BERT's 0.02 is at d = 768 (Samuel et al. 2023)."""
    made = ELECTRA(Config(dim=64, heads=4, embedding=32, init=0), Objective(), ids(400, mask=MASK))
    assert made.embedding.tokens.weight.std().item() == pytest.approx((2 / (5 * 32)) ** 0.5, rel=0.05)
    assert made.discriminator.layers[0].attention.qkv.weight.std().item() == pytest.approx((2 / 320) ** 0.5, rel=0.05)
    assert made.generator.layers[0].feed_forward.widen.weight.std().item() == pytest.approx((2 / 80) ** 0.5, rel=0.1)
    as_bert = ELECTRA(Config(dim=64, heads=4), Objective(), ids(400, mask=MASK))
    assert as_bert.dense.weight.std().item() == pytest.approx(0.02, rel=0.05)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Sentences in which the animal decides the sound."""
    folder = tmp_path_factory.mktemp("electra")
    sounds = {"cat": "meows", "dog": "barks", "cow": "moos", "owl": "hoots"}
    lines = [f"the {size} {a} {b} ." for a, b in sounds.items() for size in ("big", "small", "old", "young")]
    (folder / "text.txt").write_text("\n".join(lines * 20) + "\n")
    settings = {"train.steps": 300, "train.batch_tokens": 512, "train.lr": 1e-2, "train.warmup": 10}
    small = {"model.dim": 32, "tokenizer.size": 400, "data.split": [1.0], "train.validate_every": 300}
    return api.train("electra", folder / "text.txt", folder / "run", set=settings | small, tiny=True, quiet=True)


def test_it_fills_and_encodes(model):
    assert model.fill("the old dog <mask> .")[0].text == "the old dog barks ."
    texts = ["the old dog barks .", "the cow moos ."]
    z = model.encode(texts)
    hidden = model.network.hidden(torch.tensor([[2, *model.tokenizer.encode(texts[1]), 2]]))[0]
    assert np.allclose(z[1], hidden.mean(0).detach().numpy(), atol=1e-5)


def test_scores_of_both_parts_with_what_calling_all_original_achieves(model, tmp_path):
    text = tmp_path / "held-out.txt"
    sizes, sounds = ("big", "small", "old", "young"), ("cat meows", "dog barks", "cow moos", "owl hoots")
    lines = [f"the {size} {sound} ." for size in sizes for sound in sounds]
    text.write_text("\n".join(lines))
    scores = api.evaluate(model.path, text)
    assert scores["nll"]["value"] < scores["unigram_baseline"]["nll"]
    batch = model.network.prepare({"text": [np.array([2, *model.tokenizer.encode(line), 2]) for line in lines]})
    ids, replaced = model.network.replace(batch)
    called = model.network(ids, batch["lengths"]) > 0
    inside = torch.arange(ids.shape[1]) < batch["lengths"][:, None]
    assert scores["always_original"] == pytest.approx(float((replaced == 0)[inside].float().mean()))
    assert scores["detection"]["value"] == pytest.approx(float((called == replaced.bool())[inside].float().mean()))
    right = int((called & replaced.bool() & inside).sum())
    assert scores["caught"]["value"] == pytest.approx(right / int(replaced.sum()))
    assert scores["precision"]["value"] == pytest.approx(right / max(1, int((called & inside).sum())))
    assert scores["f1"]["value"] == pytest.approx(2 * right / int((called & inside).sum() + replaced.sum()))
    assert scores["masked"] == len(lines)
    assert "always original" in detection.headline(scores)


def test_a_lone_part_says_what_it_lacks():
    ids = torch.tensor([[2, 5, 3, 6, 2]])
    discriminator, generator = network(part="discriminator"), network(part="generator", generator_share=1.0)
    assert discriminator(ids).shape == (1, 5)
    assert generator(ids).shape == (1, 5, 40)
    with pytest.raises(LexigraphError, match="no generator"):
        discriminator.masked_logits(ids, None, torch.tensor([[2]]))
    for part in (discriminator, generator):
        with pytest.raises(LexigraphError, match="both parts"):
            part.loss(part.prepare({"text": [ids[0].numpy()]}))
