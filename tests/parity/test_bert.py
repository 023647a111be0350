"""The same weights give the same numbers: our BERT and transformers' BertForMaskedLM and BertForPreTraining."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from lexigraph.errors import LexigraphError
from lexigraph.exchange import bert as exchange
from lexigraph.models import bert, choices, classifier
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import value
from lexigraph.text.vocabularies import Labels, Numbers, Vocabularies
from tests.ids import ids as vocabulary

from .same import assert_same, assert_same_gradients

VOCABULARY = 97
SIZES = [  # layers, heads, width, inner width, positions, activation
    (1, 1, 16, 24, 12, "gelu"),
    (2, 4, 32, 64, 24, "gelu"),
    (3, 2, 48, 96, 40, "gelu_new"),
]
LENGTHS = [(9, 9, 9), (9, 4, 1), (2, 9, 5)]


def pair(size: tuple[Any, ...] = SIZES[1], kind: str = "BertForMaskedLM", **objective: Any) -> tuple[bert.BERT, Any]:
    """Our network and transformers', with one set of random weights."""
    transformers = pytest.importorskip("transformers")
    names = ("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size",
             "max_position_embeddings", "hidden_act")  # fmt: skip
    shape = dict(zip(names, size, strict=True))
    torch.manual_seed(size[0])
    theirs = getattr(transformers, kind)(
        transformers.BertConfig(**shape, vocab_size=VOCABULARY, architectures=[kind])
    ).eval()
    for parameter in theirs.parameters():  # norms and biases too, which are born as 1 and 0
        torch.nn.init.normal_(parameter, std=0.3)
    config = bert.Config(**exchange.config_from(theirs.config.to_dict()))
    ours = bert.BERT(config, bert.Objective(**objective), vocabulary(VOCABULARY, mask=3))
    ours.load_state_dict(exchange.weights_from(theirs.state_dict(), config))
    return ours.eval(), theirs


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_logits_of_padded_rows_are_those_of_bert(size, lengths):
    ours, theirs = pair(size)
    ids, segments = torch.randint(4, VOCABULARY, (3, 9)), torch.randint(2, (3, 9))
    seen = torch.arange(9) < torch.tensor(lengths)[:, None]
    with torch.no_grad():
        for kinds in (None, segments):
            mine = ours(ids * seen, torch.tensor(lengths), kinds)
            other = theirs(ids * seen, attention_mask=seen.long(), token_type_ids=kinds).logits
            assert_same(mine[seen], other[seen])
        whole = torch.randint(4, VOCABULARY, (2, size[4]))  # all positions there are
        assert_same(ours(whole), theirs(whole).logits)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("lengths", LENGTHS)
def test_hidden_states_pooler_and_order_are_those_of_bert(size, lengths):
    ours, theirs = pair(size, "BertForPreTraining", second="order")
    ids, segments = torch.randint(4, VOCABULARY, (3, 9)), torch.randint(2, (3, 9))
    seen = torch.arange(9) < torch.tensor(lengths)[:, None]
    with torch.no_grad():
        inside = theirs.bert(ids * seen, attention_mask=seen.long(), token_type_ids=segments)
        hidden = ours.hidden(ids * seen, torch.tensor(lengths), segments)
        assert_same(hidden[seen], inside.last_hidden_state[seen])
        assert_same(ours.pooled(hidden), inside.pooler_output)
        other = theirs(ids * seen, attention_mask=seen.long(), token_type_ids=segments)
        assert_same(ours.order(ours.pooled(hidden)), other.seq_relationship_logits)
        positions = torch.tensor([[0], [0], [1]])
        masked = ours.masked_logits(ids * seen, torch.tensor(lengths), positions, segments)
        assert_same(masked[:, 0], other.prediction_logits[torch.arange(3), positions[:, 0]])


@pytest.mark.parametrize("second", ["none", "order", "next"])
def test_losses_and_gradients_are_those_of_bert(second):
    kind = "BertForMaskedLM" if second == "none" else "BertForPreTraining"
    ours, theirs = pair(SIZES[1], kind, second=second)
    random = np.random.default_rng(0)
    rows = [np.array([2, *random.integers(4, VOCABULARY, length), 2]) for length in (17, 9, 3, 1)]
    others = {"after": [*rows[1:], np.array([2, 2])], "elsewhere": rows[::-1]} if second == "next" else {}
    batch = ours.prepare({"text": rows, **others}, {"": np.arange(4)})
    loss = value(ours.loss(batch)[0])
    loss.backward()
    labels = torch.full_like(batch["inputs"], IGNORE)
    for row, positions, targets in zip(labels, batch["positions"], batch["targets"], strict=True):
        row[positions[targets != IGNORE]] = targets[targets != IGNORE]
    seen = (torch.arange(labels.shape[1]) < batch["lengths"][:, None]).long()
    more = {}
    if second != "none":
        more = {"next_sentence_label": batch["misplaced"], "token_type_ids": batch["segments"]}
    other = theirs(batch["inputs"], attention_mask=seen, labels=labels, **more).loss
    other.backward()
    assert_same(loss, other)
    gradients = {name: parameter.grad for name, parameter in theirs.named_parameters()}
    expected = exchange.weights_from(gradients, ours.config)
    assert_same_gradients(ours, expected)


@pytest.mark.parametrize("pooler", [False, True])
def test_what_is_exported_is_read_by_transformers(pooler, tmp_path: Path):
    transformers = pytest.importorskip("transformers")
    config = bert.Config(layers=2, heads=2, dim=24, context=20, activation="gelu-tanh", eps=1e-7, pooler=pooler)
    torch.manual_seed(3)
    ours = bert.BERT(config, bert.Objective(), vocabulary(VOCABULARY, mask=3)).eval()
    for parameter in ours.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    settings = exchange.config_to(config, VOCABULARY)
    (tmp_path / "config.json").write_text(json.dumps(settings))
    weights = exchange.weights_to(ours.state_dict(), config)
    save_file(weights, tmp_path / "model.safetensors", {"format": "pt"})
    kind = getattr(transformers, settings["architectures"][0])
    theirs, report = kind.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report[part] for part in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    ids = torch.randint(VOCABULARY, (3, 20))
    with torch.no_grad():
        found = theirs.eval()(ids)
    assert_same(ours(ids).detach(), found.prediction_logits if pooler else found.logits)
    back = exchange.weights_from(weights, bert.Config(**exchange.config_from(settings)))
    assert all(torch.equal(back[name], weight) for name, weight in ours.state_dict().items())


PAIRS = [([11, 12, 13], [14, 15]), ([11, 12, 13], [17, 18, 19, 20]), ([11, 12, 13], [23])]  # of unlike lengths
TEXTS, OTHERS = ([np.array([2, *text, 2]) for text in side] for side in zip(*PAIRS, strict=True))


def read_by_both(kind: str, **more: Any) -> tuple[bert.BERT, Any]:
    """Our BERT with its pooler, and a transformers network of this kind, with the same weights."""
    transformers = pytest.importorskip("transformers")
    ours, whole = pair(SIZES[1], "BertForPreTraining", second="order")
    theirs = getattr(transformers, kind)(transformers.BertConfig(**whole.config.to_diff_dict() | more)).eval()
    theirs.bert.load_state_dict(whole.bert.state_dict())
    return ours, theirs


def as_they_read() -> dict[str, torch.Tensor]:
    """PAIRS as transformers takes them: [CLS] A [SEP] B [SEP], segments 0 and 1, padded."""
    fields = {
        "input_ids": [[2, *first, 2, *second, 2] for first, second in PAIRS],
        "token_type_ids": [[0] * (len(first) + 2) + [1] * (len(second) + 1) for first, second in PAIRS],
        "attention_mask": [[1] * (len(first) + len(second) + 3) for first, second in PAIRS],
    }
    longest = max(map(len, fields["input_ids"]))
    return {
        name: torch.tensor([[*row, *[0] * (longest - len(row))] for row in rows]) for name, rows in fields.items()
    }


def test_classes_of_pairs_are_those_of_bert_for_sequence_classification():
    ours, theirs = read_by_both("BertForSequenceClassification", num_labels=3)
    known = Vocabularies({**vocabulary(VOCABULARY, mask=3), "label": Labels(("a", "b", "c"))})
    config = classifier.Config(encoder="bag", pooling="summary", pairs="together")
    made = classifier.Classifier(config, classifier.Objective(), known, {"reader": ours}).eval()
    made.output.load_state_dict(theirs.classifier.state_dict())
    with torch.no_grad():
        assert_same(made.logits(made.prepare({"text": TEXTS, "other": OTHERS})), theirs(**as_they_read()).logits)


def test_choices_are_those_of_bert_for_multiple_choice():
    ours, theirs = read_by_both("BertForMultipleChoice")
    known = Vocabularies({**vocabulary(VOCABULARY, mask=3), "label": Numbers()})
    config = choices.Config(encoder="bag", pooling="summary")
    made = choices.Choices(config, choices.Objective(), known, {"reader": ours}).eval()
    made.output.load_state_dict({"weight": theirs.classifier.weight})
    with torch.no_grad():
        found = made.scores(made.prepare({"text": TEXTS[:1], "choices": [[other[1:-1] for other in OTHERS]]}))
        theirs_say = theirs(**{name: values[None] for name, values in as_they_read().items()}).logits
        assert_same(found, theirs_say.log_softmax(1))


def test_models_that_are_built_otherwise_are_refused():
    settings = exchange.config_to(bert.Config(), VOCABULARY)
    for change in (
        {"hidden_act": "swiglu"},
        {"position_embedding_type": "relative_key"},
        {"is_decoder": True},
        {"tie_word_embeddings": False},
    ):
        with pytest.raises(LexigraphError):
            exchange.config_from(settings | change)
    for newer in (bert.Config(gated=True), bert.Config(normed_by="rms")):
        with pytest.raises(LexigraphError, match="gated"):
            exchange.config_to(newer, VOCABULARY)
    with pytest.raises(LexigraphError, match="post"):
        exchange.config_to(bert.Config(norm="pre"), VOCABULARY)
    with pytest.raises(LexigraphError, match="lack"):
        exchange.weights_from({}, bert.Config())
