"""Pairs of texts: classes, numbers and choices from what a part reads of both, or from a vector of each."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from scipy.stats import pearsonr, spearmanr
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.similarity import correlation
from lexigraph.models import bert, choices, classifier, gpt, similarity
from lexigraph.objectives.next_token import IGNORE
from lexigraph.text.builtin import records
from lexigraph.text.choices import number_of
from lexigraph.text.vocabularies import Ids, Labels, Numbers, Vocabularies
from tests.contracts.tiny import examples_of, network_of

A, B = np.array([2, 7, 5, 6, 2]), np.array([2, 9, 8, 2])
CLASSES, SCALE = Labels(("other", "same")), Numbers((), 2.5, 1.5)
KNOWN = Vocabularies({"text": Ids(12, {"mask": 3}), "label": CLASSES, "number": SCALE})
CHOOSING = Vocabularies({"text": Ids(12, {"mask": 3}), "label": Numbers()})
SUMMARY = {"encoder": "bag", "pooling": "summary", "dropout": 0.0}


def part(system="bert", **keys):
    torch.manual_seed(1)
    module = {"bert": bert, "gpt": gpt}[system]
    shape = {"layers": 2, "heads": 2, "dim": 8, "context": 32, "dropout": 0.0} | keys
    kind = {"bert": "BERT", "gpt": "GPT"}[system]
    made = getattr(module, kind)(module.Config(**shape), module.Objective(), KNOWN)
    for parameter in made.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.5)
    return made


def made_of(module, kind, reader=None, known=KNOWN, objective=None, **keys):
    torch.manual_seed(0)
    parts = {"reader": reader} if reader is not None else {}
    config = module.Config(**{"dim": 4, "embedding": 5, "dropout": 0.0} | keys)
    return getattr(module, kind)(config, objective or module.Objective(), known, parts).eval()


def test_a_pair_that_bert_reads_is_summed_up_by_its_first_state():
    reader = part()
    made = made_of(classifier, "Classifier", reader, pairs="together", **SUMMARY)
    ids, segments = torch.tensor([[2, 7, 5, 6, 2, 9, 8, 2]]), torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1]])
    first = reader.hidden(ids, None, segments)[:, 0]
    found = made.logits(made.prepare({"text": [A], "other": [B]}))
    assert torch.allclose(found, made.output(first), atol=1e-6)


def test_what_gpt_reads_is_summed_up_by_its_last_state_whether_text_or_pair():
    reader = part("gpt")
    alone = made_of(classifier, "Classifier", reader, **SUMMARY)
    hidden = reader.hidden(torch.tensor([[2, 7, 5, 6, 2]]))[:, -1]
    assert torch.allclose(alone.logits(alone.prepare({"text": [A]})), alone.output(hidden), atol=1e-6)
    pairs = made_of(classifier, "Classifier", reader, pairs="together", **SUMMARY)
    hidden = reader.hidden(torch.tensor([[2, 7, 5, 6, 2, 9, 8, 2]]))[:, -1]
    found = pairs.logits(pairs.prepare({"text": [A], "other": [B]}))
    assert torch.allclose(found, pairs.output(hidden), atol=1e-6)


def test_words_of_both_texts_are_pooled_without_the_boundaries():
    reader = part()
    made = made_of(classifier, "Classifier", reader, pairs="together", encoder="bag", pooling="mean")
    ids, segments = torch.tensor([[2, 7, 5, 6, 2, 9, 8, 2]]), torch.tensor([[0, 0, 0, 0, 0, 1, 1, 1]])
    states = reader.hidden(ids, None, segments)[0]
    mean = states[[1, 2, 3, 5, 6]].mean(0)
    assert torch.allclose(made.logits(made.prepare({"text": [A], "other": [B]}))[0], made.output(mean), atol=1e-6)


def test_texts_apart_are_joined_as_both_their_difference_and_their_product():
    made = made_of(classifier, "Classifier", pairs="apart", encoder="bag", pooling="mean")
    u, v = (made.embedding(torch.tensor(row[1:-1])).mean(0) for row in (A, B))
    joined = torch.cat([u, v, (u - v).abs(), u * v])
    assert torch.allclose(made.logits(made.prepare({"text": [A], "other": [B]}))[0], made.output(joined), atol=1e-6)


def test_without_a_part_pairs_are_read_apart():
    together, apart = (made_of(classifier, "Classifier", pairs=how) for how in ("together", "apart"))
    batches = [each.prepare({"text": [A], "other": [B]}) for each in (together, apart)]
    assert torch.equal(together.logits(batches[0]), apart.logits(batches[1]))


@pytest.mark.parametrize("reader", [None, "bert", "gpt"])
@pytest.mark.parametrize("pairs", ["together", "apart"])
def test_a_symmetric_similarity_does_not_mind_the_order_of_a_pair(reader, pairs):
    made = made_of(similarity, "Similarity", reader and part(reader), pairs=pairs, encoder="gru", symmetric=True)
    one, other = (made.predict(made.prepare({"text": [x], "other": [y]})) for x, y in ((A, B), (B, A)))
    assert one == pytest.approx(other, abs=1e-6)
    one_way = made_of(similarity, "Similarity", reader and part(reader), pairs=pairs, encoder="gru", symmetric=False)
    one, other = (one_way.predict(one_way.prepare({"text": [x], "other": [y]})) for x, y in ((A, B), (B, A)))
    assert one != pytest.approx(other, abs=1e-4)


def test_both_orders_are_read_and_their_vectors_averaged():
    """Radford et al. (2018): the sum of both goes into the linear layer; here the mean."""
    reader = part("gpt")
    made = made_of(similarity, "Similarity", reader, **SUMMARY)
    both = [reader.hidden(torch.tensor([row]))[:, -1] for row in ([2, 7, 5, 6, 2, 9, 8, 2], [2, 9, 8, 2, 7, 5, 6, 2])]
    value = made.output((both[0] + both[1]) / 2)[0, 0].item()
    (found,) = made.predict(made.prepare({"text": [A], "other": [B]}))
    assert found == pytest.approx(2.5 + 1.5 * value, abs=1e-5)


def test_the_auxiliary_loss_is_the_language_models_own():
    """L = L_task + λ L_language, of the tokens of the texts and the end behind each: not of the beginning."""
    reader = part("gpt")
    made = made_of(classifier, "Classifier", reader, objective=classifier.Objective(auxiliary=0.5), **SUMMARY)
    batch = made.prepare({"text": [A, B], "label": [np.array(0), np.array(1)]})
    terms, _ = made.loss(batch)
    own, _ = reader.loss(reader.prepare({"text": [A, B]}))
    assert terms["language"].weight == 0.5
    assert terms["language"].count == batch.counts["language"] == own["loss"].count == 7
    assert torch.allclose(terms["language"].total, own["loss"].total, atol=1e-5)
    plain = made_of(classifier, "Classifier", reader, **SUMMARY)
    assert set(plain.loss(plain.prepare({"text": [A], "label": [np.array(0)]}))[0]) == {"loss"}
    with pytest.raises(UsageError, match="a part that is a language model"):
        made_of(classifier, "Classifier", part(), objective=classifier.Objective(auxiliary=0.5), **SUMMARY)


def test_the_pooler_of_a_part_is_kept_where_it_sums_up():
    network = network_of("classifier-tuned", **{"parts.reader.pooler": True})
    assert network.reader.pool.weight.requires_grad
    assert not hasattr(network.reader, "order")
    pooled = network_of("classifier-bert", **{"parts.reader.pooler": True})
    assert not hasattr(pooled.reader, "pool")


def test_candidates_compete_with_those_of_their_own_example_alone():
    made = made_of(choices, "Choices", part(), CHOOSING, **SUMMARY)
    three, two = [np.array([7]), np.array([8, 9]), np.array([4])], [np.array([5]), np.array([6])]
    examples = {"text": [A, B], "choices": [three, two], "label": [np.array(1), np.array(0)]}
    batch = made.prepare(examples)
    first, second = (row.exp() for row in made.predict(batch))
    assert first.sum().item() == pytest.approx(1)
    assert second.sum().item() == pytest.approx(1)
    assert len(first) == 3
    (alone,) = made.predict(made.prepare({"text": [B], "choices": [two]}))
    assert torch.allclose(alone.exp(), second, atol=1e-6)
    (turned,) = made.predict(made.prepare({"text": [A], "choices": [three[::-1]]}))
    assert torch.allclose(turned.exp().flip(0), first, atol=1e-6)  # where a candidate stands makes no difference
    term = made.loss(batch)[0]["loss"]
    assert term.total.item() == pytest.approx(-(first[1].log() + second[0].log()).item(), abs=1e-5)
    assert term.count == 2


def test_correlations_are_scipys():
    random = np.random.default_rng(0)
    x = random.normal(size=200)
    y = x + random.normal(size=200)
    found = correlation(x, y)
    assert found["value"] == pytest.approx(pearsonr(x, y)[0])
    theirs = pearsonr(x, y).confidence_interval()
    assert found["interval"] == pytest.approx([theirs.low, theirs.high], abs=0.04)
    assert correlation(x, np.ones(200))["value"] == 0
    assert correlation(x[:10], y[:10])["interval"] == []
    assert spearmanr(x, np.exp(y))[0] == pytest.approx(spearmanr(x, y)[0])


def test_pairs_of_the_built_in_corpus_say_the_same_or_not():
    for record in records(("text", "other", "number"), 200):
        assert 0 <= record.columns["number"] <= 5
        if record.columns["text"] == record.columns["other"]:
            assert record.columns["number"] == 5
    found = [record.columns for record in records(("text", "other", "label"), 300)]
    assert {each["label"] for each in found} == {"same", "other"}
    assert all(each["text"] != each["other"] for each in found)
    for record in records(("text", "choices", "label"), 50):
        assert len(set(record.columns["choices"])) == 2


def test_pairs_are_classified_however_they_are_given(tiny_runs, tmp_path):
    model = api.load(tiny_runs("classifier-pairs"))
    both = [("She sings .", "She is singing ."), ("They ran .", "She sings .")]
    found = model.classify(both)
    assert found == model.classify(["\t".join(pair) for pair in both])
    assert found[1].label == model.classify({"text": "They ran .", "other": "She sings ."}).label
    (tmp_path / "asked.tsv").write_text("".join("\t".join(pair) + "\n" for pair in both))
    shown = CliRunner().invoke(app, ["classify", str(model.path), "--file", str(tmp_path / "asked.tsv")]).output
    assert [line.split("\t")[0] for line in shown.splitlines()] == [each.label for each in found]
    with pytest.raises(LexigraphError, match=r"Text 2 of 2 is no pair \('She sings'\): write two texts with a tab"):
        model.classify([both[0], "She sings"])
    with pytest.raises(LexigraphError, match="has an empty second text"):
        model.classify(("She sings", " "))


def test_similarities_are_estimated_however_pairs_are_given(tiny_runs):
    model = api.load(tiny_runs("similarity"))
    one = model.estimate(("She sings .", "They ran ."))
    assert one == pytest.approx(model.estimate(["They ran .\tShe sings ."])[0], abs=1e-5)
    output = CliRunner().invoke(app, ["estimate", str(model.path), "--json", "She sings .\tThey ran ."]).output
    assert json.loads(output) == [{"text": "She sings .", "other": "They ran .", "number": pytest.approx(one)}]


def test_a_model_of_choices_chooses(tiny_runs):
    model = api.load(tiny_runs("choices"))
    questions = [("The key", ["is", "are"]), ("The keys", ["was", "were", "have"])]
    found = model.choose(questions)
    assert [len(each.probabilities) for each in found] == [2, 3]
    for each, (_, listed) in zip(found, questions, strict=True):
        assert each.text == listed[each.number]
        assert each.probability == max(each.probabilities)
    alone = model.choose({"text": "The key", "choices": ["is", "are"]})
    assert alone.probabilities == pytest.approx(found[0].probabilities, abs=1e-5)
    shown = CliRunner().invoke(app, ["choose", str(model.path), "The key", "is", "are"]).output
    assert shown.split("\t")[:2] == [str(found[0].number), found[0].text]
    (item,) = json.loads(
        CliRunner().invoke(app, ["choose", str(model.path), "--json", "The key", "is", "are"]).output
    )
    assert item["label"] == found[0].number
    with pytest.raises(LexigraphError, match="is no question"):
        model.choose(("The key", ["is"]))


def test_the_label_of_a_choice_is_its_number_or_its_text():
    assert number_of(1, ["is", "are"], "") == number_of("are", ["is", "are"], "") == number_of("1", ["is", "are"], "")
    with pytest.raises(LexigraphError, match=r"a\.jsonl, line 3: the label 2 names none of the 2 choices"):
        number_of(2, ["is", "are"], "a.jsonl, line 3")


def test_targets_of_the_auxiliary_loss_end_with_their_row():
    network = network_of("classifier-auxiliary")
    batch = network.prepare(examples_of("classifier-auxiliary", 3))
    for targets, inputs, length in zip(
        batch["language"], batch["read_inputs"], batch["read_lengths"].tolist(), strict=True
    ):
        assert targets[: length - 1].tolist() == inputs[1:length].tolist()
        assert set(targets[length - 1 :].tolist()) == {IGNORE}
