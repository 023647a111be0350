"""Transformer-XL: the equations of the paper, the contents of XLNet, and memory in the place of a longer text."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from lexigraph.decoding.scoring import token_log_probabilities
from lexigraph.models import xlnet
from lexigraph.models.transformer_xl import Config, Objective, TransformerXL
from lexigraph.objectives.next_token import token_nll
from tests.ids import ids

VOCABULARY = 30


def network(**settings) -> TransformerXL:
    torch.manual_seed(0)
    config = Config(**{"layers": 2, "heads": 2, "dim": 16, "context": 6, "memory": 8} | settings)
    made = TransformerXL(config, Objective(), ids(VOCABULARY))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    return made.double().eval()


def random_ids(rows: int, length: int) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, (rows, length), generator=torch.Generator().manual_seed(1))


@torch.no_grad()
def test_a_window_is_what_the_papers_equations_say():
    """Dai et al. 2019, section 3.3, written out for one row, head by head and score by score."""
    made = network()
    tokens = random_ids(1, 11)
    _, carry = made.hidden(tokens[:, :5])
    found, _ = made.hidden(tokens[:, 5:], carry)
    memory, h = carry["memory"][0], made.embedding.weight[tokens[0, 5:]]
    omega = [10000 ** (-2 * m / 16) for m in range(8)]
    for number, layer in enumerate(made.blocks):
        a = layer.attention
        w_k, w_v = a.key_value.weight.view(2, 2, 8, 16)  # of each head
        w_q, w_r = a.query.weight.view(2, 8, 16), a.distance.weight.view(2, 8, 16)
        known = torch.cat([memory[number], h])
        rows = []
        for i in range(6):
            heads = []
            for head in range(2):
                q, scores = w_q[head] @ h[i], []
                for j in range(5 + i + 1):
                    far = 5 + i - j
                    r = torch.tensor([*np.sin(far * np.array(omega)), *np.cos(far * np.array(omega))])
                    k = w_k[head] @ known[j]
                    u, v = a.by_content[head, 0], a.by_distance[head, 0]
                    scores.append((q @ k + q @ w_r[head] @ r + u @ k + v @ w_r[head] @ r) / 8**0.5)
                weights = torch.stack(scores).softmax(0)
                heads.append(sum(weights[j] * (w_v[head] @ known[j]) for j in range(len(scores))))
            rows.append(a.out.weight @ torch.cat(heads))
        h = layer.norm_attention(h + torch.stack(rows))
        h = layer.norm_feed_forward(h + layer.feed_forward(h))
    assert torch.allclose(found[0], h, atol=1e-10)


@torch.no_grad()
def test_its_states_are_the_contents_of_an_xlnet_that_reads_in_order():
    """Of one with a layer more, whose memory holds what goes into that layer."""
    made = network(memory=40)
    torch.manual_seed(1)
    other = xlnet.XLNet(
        xlnet.Config(layers=3, heads=2, dim=16, context=6, memory=40, eps=1e-5), xlnet.Objective(), ids(VOCABULARY)
    ).double()
    other.load_state_dict(made.state_dict(), strict=False)
    tokens, carry, theirs = random_ids(2, 13), None, None
    ranks = torch.arange(7).expand(2, -1)
    for first in (0, 6):
        hidden, carry = made.hidden(tokens[:, first : first + 6], carry)
        _, theirs = other.eval().predict(tokens[:, first : first + 7], ranks, ranks[:, 1:], ranks[:, 1:], theirs)
        assert torch.allclose(theirs["memory"][:, 2, -6:], hidden, atol=1e-10)
        assert torch.allclose(theirs["memory"][:, :2], carry["memory"], atol=1e-10)


@pytest.mark.parametrize(("layers", "norm"), [(1, "post"), (3, "post"), (3, "pre")])
@torch.no_grad()
def test_a_memory_that_reaches_the_beginning_is_full_attention_however_deep(layers, norm):
    made, tokens = network(layers=layers, memory=40, norm=norm), random_ids(2, 22)
    whole, parts, carry = made.hidden(tokens)[0], [], None
    for window in tokens.split(6, 1):
        hidden, carry = made.hidden(window, carry)
        parts.append(hidden)
    assert torch.allclose(torch.cat(parts, 1), whole, atol=1e-10)


@torch.no_grad()
def test_one_layer_sees_its_memory_and_several_see_further():
    """With one layer, a window with M positions of memory is full attention to those M. With L layers, a change moves
    what is up to about L · M positions later, though each layer sees M alone."""
    tokens = random_ids(1, 30)
    made = network(layers=1, memory=8)
    _, carry = made.hidden(tokens[:, :12])
    window, _ = made.hidden(tokens[:, 12:18], carry)
    assert torch.allclose(window, made.hidden(tokens[:, 4:18])[0][:, 8:], atol=1e-10)

    def reach(layers: int) -> int:
        """How many tokens before a window the first one is whose change moves its first state."""
        made, moved = network(layers=layers, memory=6), []
        for first in range(24):
            changed = tokens.clone()
            changed[0, first] = 3 + (tokens[0, first] - 2) % 20
            states = []
            for row in (tokens, changed):
                carry = None
                for window in row.split(6, 1):
                    hidden, carry = made.hidden(window, carry)
                states.append(hidden[0, 0])
            moved.append(not torch.allclose(*states, atol=1e-12))
        return 24 - moved.index(True)

    assert [reach(layers) for layers in (1, 2, 3)] == [6, 12, 18]


def test_memory_has_its_size_and_no_gradient_goes_into_it():
    made, tokens = network(), random_ids(2, 12)
    embedded = made.embedding.weight
    _, carry = made.hidden(tokens[:, :6])
    hidden, after = made.hidden(tokens[:, 6:], carry)
    assert carry["memory"].shape == (2, 2, 6, 16)
    assert after["memory"].shape == (2, 2, 8, 16)
    assert not carry["memory"].requires_grad
    (gradient,) = torch.autograd.grad(hidden.square().sum() + hidden.sum(), embedded)
    unseen = [token for token in tokens[:, :6].unique().tolist() if token not in tokens[:, 6:].unique().tolist()]
    assert unseen
    assert not gradient[unseen].any()
    assert made.train().hidden(tokens[:, :3])[1]["memory"].shape[2] == 3  # half a window, so half of its memory
    assert made.hidden(tokens[:, 3:6], carry)[1]["memory"].shape[2] == 4
    assert network(memory=0).hidden(tokens)[1] is None
    assert not network(memory=0).traits.stateful


@pytest.mark.parametrize("kind", ["post", "pre", "shortformer"])
@torch.no_grad()
def test_writing_far_beyond_the_window_is_reading_token_by_token_with_the_memory(kind):
    """Every token sees the last memory + context tokens, itself included: as windows of one token with so long a
    memory."""
    from lexigraph.models import shortformer

    made = network(memory=5, context=4, norm="pre" if kind == "pre" else "post")
    if kind == "shortformer":
        torch.manual_seed(0)
        config = shortformer.Config(layers=2, heads=2, dim=16, context=4, memory=5)
        made = shortformer.Shortformer(config, shortformer.Objective(), ids(VOCABULARY)).double().eval()
    tokens, carry, expected = random_ids(1, 24), None, []
    with made.remembering(made.span - 1):
        for token in tokens.split(1, 1):
            hidden, carry = made.hidden(token, carry)
            expected.append(made.logits(hidden)[:, 0])
    for prompt in (1, 3, 9):
        step = made.start({"ids": tokens[:, :prompt], "lengths": torch.tensor([prompt])})
        for t in range(prompt, 24):
            assert torch.allclose(step.logits, expected[t - 1], atol=1e-9), (prompt, t)
            step = made.step(step.state, tokens[:, t])


@torch.no_grad()
def test_a_long_prompt_is_read_as_it_would_be_written():
    """Windows of a prompt see `span` tokens each, wherever they are cut, alone or beside a longer prompt."""
    made, tokens = network(memory=5, context=4), random_ids(1, 24)
    one_by_one = made.start({"ids": tokens[:, :1], "lengths": torch.tensor([1])})
    for t in range(1, 17):
        one_by_one = made.step(one_by_one.state, tokens[:, t])
    both = torch.cat([tokens[:, :24], tokens])
    step = made.start({"ids": both, "lengths": torch.tensor([17, 24])})
    assert torch.allclose(step.logits[:1], one_by_one.logits, atol=1e-10)


@torch.no_grad()
def test_a_long_text_is_scored_window_by_window_with_memory_alone_or_beside_others():
    made, rows = network(), [row.numpy() for row in random_ids(3, 40)]
    texts = [rows[0], rows[1][:17], rows[2][:3]]
    expected, carry = [], None
    for first in range(0, 39, 6):
        batch = made.prepare_in_order({"text": [rows[0][first : first + 7]]})
        terms, carry = made.loss(batch, carry)
        expected.append(-token_nll(terms)[0])
    found = token_log_probabilities(made, texts, torch.device("cpu"))
    assert np.allclose(found[0], torch.cat(expected).numpy(), atol=1e-10)
    for text, own in zip(texts, found, strict=True):
        assert np.allclose(token_log_probabilities(made, [text], torch.device("cpu"))[0], own, atol=1e-10)
