"""LSTM autoencoders: their two forms, what noise they see, and that nothing depends on company or padding."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.distributions import Normal, kl_divergence
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from lexigraph import recipe
from lexigraph.errors import LexigraphError
from lexigraph.models.lstm_autoencoder import PRIOR, Config, LSTMAutoencoder, Objective
from lexigraph.objectives import rng
from lexigraph.objectives.next_token import IGNORE
from lexigraph.objectives.terms import value
from tests.ids import ids

END, UNKNOWN = 2, 1
DENOISING = Objective(mask_rate=0.2, drop=0.3, adversary=2.0)
VARIATIONAL = Objective(variational=True, free_bits=0.1, anneal=10, word_dropout=0.3)
ROWS = [np.array([END, *words, END]) for words in ([5, 6, 7], [8], [9, 10, 11, 12, 13, 14, 15], [16, 17, 18, 19])]
SEEDS = np.array([11, 22, 33, 44])


def network(objective: Objective = DENOISING, **settings) -> LSTMAutoencoder:
    torch.manual_seed(0)
    sizes = {"layers": 2, "dim": 12, "embedding": 8, "latent": 6, "context": 12} | settings
    made = LSTMAutoencoder(Config(**sizes), objective, ids(30))
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.normal_(std=0.3)
    return made.eval()


def padded(rows: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = torch.tensor([len(row) for row in rows])
    ids = torch.randint(3, 30, (len(rows), int(lengths.max()) + 2))  # padding may be anything
    for index, row in enumerate(rows):
        ids[index, : len(row)] = torch.from_numpy(row)
    return ids, lengths


def training_batch(made: LSTMAutoencoder, chosen: list[int], step: int = 5):
    return made.prepare({"text": [ROWS[i] for i in chosen]}, {"": SEEDS[chosen]}, step)


@pytest.mark.parametrize("bidirectional", [True, False])
@pytest.mark.parametrize("objective", [DENOISING, VARIATIONAL])
def test_vectors_and_logits_are_the_same_alone_and_in_a_padded_batch(objective, bidirectional):
    made = network(objective, bidirectional=bidirectional)
    ids, lengths = padded(ROWS)
    vectors, logits = made.encode(ids, lengths), made(ids, lengths)
    for index, row in enumerate(ROWS):
        alone = torch.from_numpy(row)[None]
        assert torch.allclose(made.encode(alone, torch.tensor([len(row)]))[0], vectors[index], atol=1e-5)
        assert torch.allclose(made(alone)[0], logits[index, : len(row)], atol=1e-5)


def test_the_encoder_is_torchs_packed_bidirectional_lstm():
    made = network(layers=1)
    peer = torch.nn.LSTM(8, 12, batch_first=True, bidirectional=True)
    ours = dict(made.ahead.named_parameters())
    ours |= {f"{name}_reverse": p for name, p in made.back.named_parameters()}
    peer.load_state_dict(ours)
    ids, lengths = padded(ROWS)
    packed = pack_padded_sequence(made.embedding(ids), lengths, batch_first=True, enforce_sorted=False)
    ends = peer(packed)[1][0].transpose(0, 1).flatten(1)
    assert torch.allclose(made.encode(ids, lengths), made.bottleneck(ends), atol=1e-6)


@pytest.mark.parametrize("width", [1, 3])
def test_stepping_from_a_vector_gives_the_logits_of_one_pass(width):
    made = network()
    z = torch.randn(2, 6, generator=torch.Generator().manual_seed(1))
    ids = torch.tensor([[END, 5, 6, 7], [END, 8, 9, 10]])
    with torch.inference_mode():
        full = made.logits(z, ids).repeat_interleave(width, 0)
        step = made.start({"z": z, "noise": torch.ones(2)}, width)
        for time in range(1, 4):
            assert torch.allclose(step.logits, full[:, time - 1], atol=1e-5)
            step = made.step(step.state, ids[:, time].repeat_interleave(width))
        assert torch.allclose(step.logits, full[:, 3], atol=1e-5)


def test_rows_of_a_search_can_be_exchanged_and_sentences_dropped():
    made = network()
    z = torch.randn(3, 6, generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        step = made.step(made.start({"z": z}, 2).state, torch.tensor([5, 6, 7, 8, 9, 10]))
        state = step.state.select(torch.tensor([1, 1, 2, 3, 5, 4])).keep(torch.tensor([0, 2]))
        step = made.step(state, torch.tensor([11, 12, 13, 14]))
        histories = torch.tensor([[END, 6, 11], [END, 6, 12], [END, 10, 13], [END, 9, 14]])
        assert torch.allclose(step.logits, made.logits(z[[0, 0, 2, 2]], histories)[:, -1], atol=1e-5)


@pytest.mark.parametrize("objective", [DENOISING, VARIATIONAL])
def test_noise_belongs_to_the_sentence_not_to_its_batch(objective):
    made = network(objective).double()
    together, _ = made.loss(training_batch(made, [0, 1, 2, 3]))
    parts = [made.loss(training_batch(made, chosen))[0] for chosen in ([3, 1], [2], [0])]
    for name, term in together.items():
        assert term.count == sum(part[name].count for part in parts)
        assert torch.isclose(term.total, sum(part[name].total for part in parts), rtol=1e-10)
    again = made.prepare({"text": ROWS}, {"": SEEDS + 1}, 5)
    assert made.loss(again)[0]["loss"].total != together["loss"].total


@pytest.mark.parametrize("objective", [DENOISING, VARIATIONAL])
def test_counts_are_known_before_and_every_parameter_gets_a_gradient(objective):
    made = network(objective).train()
    batch = training_batch(made, [0, 1, 2, 3])
    terms, carry = made.loss(batch)
    assert carry is None
    assert {name: term.count for name, term in terms.items() if term.weight} == batch.counts
    value(terms).backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name


def test_the_encoder_sees_some_tokens_hidden_some_not_at_all_and_always_the_end():
    made = network(Objective(mask_rate=0.2, drop=0.3))
    count, length = 2000, 11
    targets = torch.arange(3, 3 + length).expand(count, -1).clone()
    targets[:, -1] = END
    seen, lengths = made._corrupted(targets, torch.arange(count))
    inside = torch.arange(length) < lengths[:, None]
    assert seen[torch.arange(count), lengths - 1].eq(END).all()
    words = (lengths - 1).sum() / (count * (length - 1))
    assert float(words) == pytest.approx(0.7, abs=0.02)
    hidden = ((seen == UNKNOWN) & inside).sum() / (lengths - 1).sum()
    assert float(hidden) == pytest.approx(0.2, abs=0.02)
    for row, end in zip(seen.tolist(), lengths.tolist(), strict=True):
        known = [token for token in row[: end - 1] if token != UNKNOWN]
        assert known == sorted(known)  # in order


def test_without_seeds_nothing_is_hidden_and_there_is_no_game():
    made = network(Objective(mask_rate=0.9, drop=0.9, word_dropout=0.9, adversary=1.0))
    calm = network(Objective(adversary=1.0))
    batch = made.prepare({"text": ROWS})
    assert set(batch.counts) == {"loss"}
    terms = made.loss(batch)[0]
    assert set(terms) == {"loss"}
    assert torch.equal(terms["loss"].total, calm.loss(batch)[0]["loss"].total)
    nll = F.cross_entropy(made(batch["inputs"], torch.tensor([4, 2, 8, 5])).flatten(0, 1),
                          batch["targets"].flatten(), ignore_index=IGNORE, reduction="sum")  # fmt: skip
    assert torch.isclose(terms["loss"].total, nll, rtol=1e-5)


def test_kl_is_that_of_torch_distributions():
    made = network(Objective(variational=True, kl_weight=0.5)).double()
    batch = made.prepare({"text": ROWS})
    source, lengths = batch["targets"].clamp(min=0), torch.tensor([4, 2, 8, 5])
    mean, log_variance = made._read(source, lengths).chunk(2, 1)
    wanted = kl_divergence(Normal(mean, (0.5 * log_variance).exp()), Normal(0.0, 1.0)).sum()
    term = made.loss(batch)[0]["kl"]
    assert torch.isclose(term.total, 0.5 * wanted)
    assert term.count == 19  # tokens: loss and KL together are the negative ELBO, per token
    assert torch.equal(made.encode(source, lengths), mean)


def test_the_encoder_deceives_the_discriminator_and_that_one_learns_the_truth():
    """One term holds both sides of the game: each must be pulled its own way."""
    made = network(Objective(adversary=3.0)).double()
    batch = training_batch(made, [0, 1, 2, 3])
    z = torch.randn(4, 6, generator=torch.Generator().manual_seed(2), dtype=torch.double, requires_grad=True)
    made._judged(z, batch["seeds"], batch).total.backward()
    # the encoder: -λ log D(z) falls, so that D takes z for a sample
    (wanted,) = torch.autograd.grad(-3.0 * F.logsigmoid(made.discriminator(z)).sum(), z)
    assert torch.allclose(z.grad, wanted)
    with torch.no_grad():
        assert (made.discriminator(z - 1e-3 * z.grad) > made.discriminator(z)).all()
    # the discriminator: samples of N(0, 1) are labelled 1 and vectors 0, and λ is nothing to it
    prior = rng.gaussian(batch["seeds"], 6, PRIOR).double()
    labels = torch.tensor([1.0] * 4 + [0.0] * 4, dtype=torch.double)[:, None]
    judged = made.discriminator(torch.cat([prior, z.detach()]))
    loss = F.binary_cross_entropy_with_logits(judged, labels, reduction="sum")
    weights = list(made.discriminator.parameters())
    for weight, gradient in zip(weights, torch.autograd.grad(loss, weights), strict=True):
        assert torch.allclose(weight.grad, gradient)


@pytest.mark.parametrize(
    "objective", [Objective(), Objective(drop=0.1, adversary=1.0), Objective(variational=True, kl_weight=0.1)]
)
def test_a_tiny_one_learns_eight_sentences_by_heart(objective):
    torch.manual_seed(0)
    made = LSTMAutoencoder(Config(dim=48, embedding=24, latent=16, context=12), objective, ids(40))
    draw = np.random.default_rng(0)
    rows = [np.array([END, *draw.integers(3, 40, length), END]) for length in (3, 4, 5, 6, 7, 8, 9, 10)]
    optimizer = torch.optim.Adam(made.parameters(), lr=1e-2)
    for step in range(300):
        batch = made.prepare({"text": rows}, {"": np.arange(8) + 8 * step}, step)
        value(made.loss(batch)[0]).backward()
        optimizer.step()
        optimizer.zero_grad()
    made.eval()
    batch = made.prepare({"text": rows})
    term = made.loss(batch)[0]["loss"]
    assert float(term.total.detach()) / term.count < 0.1
    sources, lengths = padded([row[1:] for row in rows])
    with torch.inference_mode():
        step = made.start({"z": made.encode(sources, lengths)})
        written = []
        for _ in range(11):
            written.append(step.logits.argmax(1))
            step = made.step(step.state, written[-1])
    for row, tokens in zip(rows, torch.stack(written, 1).tolist(), strict=True):
        assert tokens[: len(row) - 1] == row[1:].tolist()


def test_forms_that_contradict_each_other_are_refused():
    with pytest.raises(LexigraphError, match="choose one"):
        network(Objective(variational=True, adversary=1.0))
    for key, odd in (("objective.drop", 1.0), ("model.latent", 0)):
        with pytest.raises(LexigraphError, match=key):
            recipe.read("lstm-autoencoder", {key: odd})
