"""The same weights give the same numbers: our question answering by a BERT, and transformers' own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from lexigraph.exchange import bert as exchange
from lexigraph.models import bert
from lexigraph.models.question_answering import Config, Objective, QuestionAnswering
from tests.ids import ids as vocabulary

from .same import assert_same

VOCABULARY, EOS = 97, 2


def pair(**keys: Any) -> tuple[QuestionAnswering, Any]:
    """Our network and transformers', with one set of random weights."""
    transformers = pytest.importorskip("transformers")
    names = ("num_hidden_layers", "num_attention_heads", "hidden_size", "intermediate_size",
             "max_position_embeddings")  # fmt: skip
    shape = dict(zip(names, (2, 4, 32, 64, 40), strict=True))
    torch.manual_seed(0)
    theirs = transformers.BertForQuestionAnswering(transformers.BertConfig(**shape, vocab_size=VOCABULARY)).eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    config = bert.Config(**exchange.config_from(theirs.config.to_dict()))
    known = vocabulary(VOCABULARY, mask=3)
    reader = bert.BERT(config, bert.Objective(), known)
    for head in reader.heads:
        delattr(reader, head)
    whole = {name: weight for name, weight in theirs.state_dict().items() if name.startswith("bert.")}
    weights = exchange.weights_from(
        transformers.BertForMaskedLM(theirs.config).state_dict() | whole, config
    )  # whose head is not looked at
    reader.load_state_dict({name: weights[name] for name in reader.state_dict()})
    ours = QuestionAnswering(Config(**keys), Objective(), known, {"reader": reader})
    ours.output.load_state_dict(theirs.qa_outputs.state_dict())
    return ours.eval(), theirs


def test_begins_and_ends_and_the_loss_are_those_of_bert():
    ours, theirs = pair(context=20, question=8)
    random = np.random.default_rng(0)
    sizes = [(5, 20), (8, 7), (1, 1)]  # of question and text
    questions, texts = ([random.integers(4, VOCABULARY, size[side]) for size in sizes] for side in (0, 1))
    right = [(2, 4), (0, 6), (0, 0)]  # first and last token of the answer
    examples = {
        "question": [np.array([EOS, *row, EOS]) for row in questions],
        "context": [np.array([EOS, *row, EOS]) for row in texts],
        "offsets": [np.stack([np.arange(len(row) + 1), np.arange(len(row) + 1) + 1], 1) for row in texts],
        "answer": [np.array([(first, last + 1)]) for first, last in right],
    }
    batch = ours.prepare(examples)
    begin, end = ours.reader.frame.begin, ours.reader.frame.end
    rows = [[begin, *q, end, *t, end] for q, t in zip(questions, texts, strict=True)]
    longest = max(map(len, rows))
    ids = torch.tensor([[int(i) for i in row] + [0] * (longest - len(row)) for row in rows])
    kinds = torch.tensor([[int(i > len(q) + 1) for i in range(longest)] for q in questions])
    seen = torch.arange(longest) < torch.tensor([[len(row)] for row in rows])
    with torch.no_grad():
        found = theirs(ids * seen, attention_mask=seen.long(), token_type_ids=kinds * seen)
        mine = ours.outputs(batch)["logits"]
        for row, (question, text) in enumerate(zip(questions, texts, strict=True)):
            own = [0, *range(len(question) + 2, len(question) + 2 + len(text))]
            other = torch.stack([found.start_logits[row, own], found.end_logits[row, own]], 1)
            assert_same(mine[row], other)
            # the loss over these positions alone: transformers' counts the question's and the boundaries', too
            target = torch.tensor(right[row]) + 1
            nll = torch.nn.functional.cross_entropy(other.T, target)
            assert_same(ours.nll(ours.logits(batch), batch)[row], nll)


def test_a_part_with_little_room_has_smaller_windows():
    ours, _ = pair(context=384, overlap=128, question=64)
    assert ours.reader.pair_context == 37  # 40 positions, three of them boundaries
    assert ours.question_room + ours.traits.context == 37
    assert 0 < ours.traits.overlap <= ours.traits.context // 2
