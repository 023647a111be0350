"""What GPT-BERT learns in each of its two ways, that both are one network, and what a trained one can do."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph import api
from lexigraph.errors import UsageError
from lexigraph.models import gpt
from lexigraph.models.gpt_bert import GPTBERT, Config, Objective
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import value
from tests.ids import ids as vocabulary

END, MASK = 2, 3


def network(objective: Objective | None = None, **settings) -> GPTBERT:
    torch.manual_seed(0)
    shape = {"layers": 2, "heads": 2, "dim": 16, "context": 24, "positions": "rotary"}
    made = GPTBERT(Config(**shape | settings), objective or Objective(), vocabulary(60, mask=MASK))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    return made.eval()


def rows(count: int = 40, longest: int = 20) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [np.array([END, *random.integers(4, 60, n), END]) for n in random.integers(1, longest + 1, count)]


def test_one_row_in_sixteen_is_read_causally_and_the_same_ones_in_any_batch():
    made, texts = network(Objective(causal_share=1 / 16)), rows(1600)
    batch = made.prepare({"text": texts}, {"": np.arange(1600)})
    causal, masked = len(batch["causal_inputs"]), len(batch["inputs"])
    assert causal + masked == 1600
    assert 70 < causal < 135  # 100 expected, standard deviation 10
    alone = [made.prepare({"text": [text]}, {"": np.array([i])}) for i, text in enumerate(texts[:200])]
    halves = [made.prepare({"text": texts[a : a + 100]}, {"": np.arange(a, a + 100)}) for a in (0, 100)]
    assert sum("causal_inputs" in own.tensors for own in alone) == sum(len(h["causal_inputs"]) for h in halves)


def test_evaluation_masks_every_text():
    batch = network(Objective(causal_share=1.0)).prepare({"text": rows()})
    assert len(batch["inputs"]) == 40
    assert batch.counts.keys() == {"loss"}


def test_a_masked_token_is_predicted_where_the_token_before_it_stands():
    made = network()
    ids = torch.tensor([[END, 7, MASK, 9, MASK, 11, END]])
    found = made.masked_logits(ids, None, torch.tensor([[2, 4]]))
    states = made.hidden(ids)
    for place, position in enumerate((2, 4)):
        expected = made.gpt.output_table @ states[0, position - 1]
        assert torch.allclose(found[0, place], expected, atol=1e-5)
    batch = made.prepare({"text": [np.array([END, *range(10, 20), END])]})
    restored = batch["inputs"].clone()
    restored[0, batch["positions"][0]] = batch["targets"][0]
    assert restored.tolist() == [[END, *range(10, 20), END]]


def test_masked_reading_sees_what_comes_after_and_causal_reading_does_not():
    made = network()
    ids = torch.tensor([[END, 7, MASK, 9, 10, END]])
    other = ids.clone()
    other[0, 4] = 30
    gap = torch.tensor([[2]])
    assert not torch.allclose(made.masked_logits(ids, None, gap), made.masked_logits(other, None, gap))
    before, after = made(ids), made(other)
    assert torch.allclose(before[0, :4], after[0, :4], atol=1e-6)
    assert not torch.allclose(before[0, 4:], after[0, 4:])


def test_causal_rows_have_the_loss_of_a_gpt_with_the_same_weights():
    made = network(Objective(causal_share=1.0))
    alone = gpt.GPT(made.config, gpt.Objective(), vocabulary(60, mask=MASK)).eval()
    alone.load_state_dict(made.gpt.state_dict())
    terms, _ = made.loss(made.prepare({"text": rows()}, {"": np.arange(40)}))
    assert terms.keys() == {"causal"}
    expected, _ = alone.loss(alone.prepare({"text": rows()}))
    assert value(terms).item() == pytest.approx(value(expected).item(), rel=1e-6)
    in_order, _ = made.loss(made.prepare_in_order({"text": rows()}))
    assert in_order["loss"].total.item() == pytest.approx(expected["loss"].total.item(), rel=1e-6)


def test_the_loss_is_the_mean_of_each_way_weighted_by_its_share():
    made = network(Objective(causal_share=0.25))
    batch = made.prepare({"text": rows()}, {"": np.arange(40)})
    terms, _ = made.loss(batch)
    assert {name: term.count for name, term in terms.items()} == batch.counts
    assert batch.counts["loss"] == int((batch["targets"] != IGNORE).sum())
    means = {name: (term.total / term.count).item() for name, term in terms.items()}
    assert value(terms).item() == pytest.approx(0.75 * means["loss"] + 0.25 * means["causal"], rel=1e-6)


def test_a_context_without_room_and_a_vocabulary_without_a_mask_are_refused():
    with pytest.raises(UsageError, match=r"model\.context"):
        network(context=2)
    with pytest.raises(UsageError, match=r"tokenizer\.special"):
        GPTBERT(Config(), Objective(), vocabulary(60))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Sentences in which the animal decides the sound."""
    folder = tmp_path_factory.mktemp("gpt-bert")
    sounds = {"cat": "meows", "dog": "barks", "cow": "moos", "owl": "hoots"}
    lines = [f"the {size} {a} {b} ." for a, b in sounds.items() for size in ("big", "small", "old", "young")]
    (folder / "text.txt").write_text("\n".join(lines * 20) + "\n")
    settings = {"train.steps": 250, "train.batch_tokens": 512, "train.lr": 1e-2, "train.warmup": 10}
    small = {"model.dim": 32, "tokenizer.size": 400, "data.split": [0.8, 0.2], "train.validate_every": 250}
    small |= {"objective.causal_share": 0.5, "objective.final_mask_rate": 0.0}
    return api.train("gpt-bert", folder / "text.txt", folder / "run", set=settings | small, tiny=True, quiet=True)


def test_one_model_fills_gaps_from_both_sides_and_goes_on(model):
    assert model.fill("the old dog <mask> .")[0].text == "the old dog barks ."
    assert model.fill("the old <mask> hoots .")[0].text == "the old owl hoots ."
    assert model.generate("the old cow", temperature=0, max_new=8) == "the old cow moos ."
    assert model.score("the old dog barks .") > model.score("the old dog moos .") + 1
    assert model.abilities == ("generate", "complete", "score", "rank", "fill")


def test_scores_of_both_ways_stand_beside_what_frequencies_achieve(model, tmp_path):
    text = tmp_path / "held-out.txt"
    text.write_text("the old dog barks .\nthe big cow moos .\n" * 12)
    scores = api.evaluate(model.path, text)
    assert scores["nll"]["value"] < scores["unigram_baseline"]["nll"]
    assert scores["next_nll"]["value"] < scores["next_unigram_nll"]
    logs = model.score(["the old dog barks .", "the big cow moos ."])
    tokens = sum(len(model.tokenizer.encode(t)) + 1 for t in ("the old dog barks .", "the big cow moos ."))
    assert scores["next_nll"]["value"] == pytest.approx(-sum(logs) / tokens, rel=1e-5)
