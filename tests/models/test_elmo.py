"""ELMo: two directions that see only their side, words by their letters, layers that a task mixes for itself."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import lexigraph
from lexigraph import api
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.models import elmo
from lexigraph.nn.mix import ScalarMix
from lexigraph.objectives import sampled
from lexigraph.objectives.next_token import linear_cross_entropy
from lexigraph.objectives.terms import value
from lexigraph.text.vocabularies import Ids, Vocabularies

WORDS = [np.array(letters) for letters in ([5, 6], [7], [5, 8, 9, 6], [10], [11, 5])]


def network_of(samples: int = 0, **more: object) -> elmo.ELMo:
    torch.manual_seed(0)
    config = elmo.Config(**{"filters": (4, 4, 4), "dim": 8, "projection": 4, "dropout": 0.0, "context": 6} | more)
    known = Vocabularies({"text": Ids(12), "predicted": Ids(15)})
    return elmo.ELMo(config, elmo.Objective(samples=samples), known).eval()


def sentence(*which: int) -> dict[str, list]:
    words = [WORDS[i] for i in which]
    return {"text": [words], "predicted": [[np.array([i + 3]) for i in which]]}


def test_each_direction_sees_only_its_side():
    network = network_of()
    whole, changed = (network.states(network.prepare(sentence(*which))) for which in ((0, 1, 2, 3), (0, 1, 4, 3)))
    for before, after in zip(whole.layers[1:], changed.layers[1:], strict=True):
        ahead, back = (before != after)[0, 1:].split(4, 1)
        assert ahead.any(1).tolist() == [False, False, True, True]
        assert back.any(1).tolist() == [True, True, True, False]


def test_layers_are_those_of_the_equations():
    network, which = network_of(), (0, 2, 1)
    batch = network.prepare(sentence(*which))
    x = network.spelling(batch["letters"], batch["letter_counts"])[batch["spelling"]]
    begin, end = (network.boundaries[side][None, None] for side in (0, 1))
    f, _ = network.ahead[0](torch.cat([begin, x], 1))
    f2 = network.ahead[1](f)[0] + f
    b, _ = network.back[0](torch.cat([end, x.flip(1)], 1))
    b2 = network.back[1](b)[0] + b
    layers = network.states(batch).layers
    assert torch.allclose(layers[0][:, 1:], torch.cat([x, x], 2))
    for layer, ahead, back in ((layers[1], f, b), (layers[2], f2, b2)):
        assert torch.allclose(layer[:, 1:], torch.cat([ahead[:, 1:], back[:, 1:].flip(1)], 2), atol=1e-6)
    ahead, back = network.directions(batch)
    for hidden, words in ((ahead, [3, 5, 4, 2]), (back, [4, 5, 3, 2])):
        log_p = (hidden[0] @ network.output.weight.T + network.bias).log_softmax(1)
        assert torch.allclose(hidden, f2 if hidden is ahead else b2, atol=1e-6)
        assert log_p.shape == (4, 15)
        assert batch["ahead" if hidden is ahead else "back"][0].tolist() == words


def test_a_words_vector_is_that_of_its_filters_and_of_the_highway():
    """max over places of relu(Σ F · letters), a gate between what comes in and relu(W x + a), a projection."""
    spelling = network_of(filters=(3, 2), highway=2).spelling.double()
    for parameter in spelling.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    rows = [[5, 8, 9, 6], [7]]
    found = spelling(torch.tensor([[5, 8, 9, 6], [7, 0, 0, 0]]), torch.tensor([4, 1]))
    for row, vector in zip(rows, found, strict=True):
        nothing = torch.zeros(1, 16).double()
        letters = torch.cat([nothing, spelling.embedding(torch.tensor(row)), nothing, nothing])
        x = []
        for width, filters in enumerate(spelling.filters, 1):
            seen = [
                (filters.weight * letters[i : i + width].T).sum((1, 2)) + filters.bias for i in range(len(row) + 2)
            ]
            x.append(torch.stack(seen).relu().amax(0))
        x = torch.cat(x)
        for layer in spelling.highway:
            gate, new = (layer.both.weight @ x + layer.both.bias).split(5)
            x = gate.sigmoid() * x + (1 - gate.sigmoid()) * new.relu()
        assert torch.allclose(vector, spelling.out.weight @ x + spelling.out.bias)


def test_a_word_is_its_letters_and_not_the_words_beside_it():
    network = network_of()
    one, other = (network.states(network.prepare(sentence(*which))).layers[0] for which in ((0, 2), (2, 1, 0)))
    assert torch.allclose(one[0, 1], other[0, 3], atol=1e-6)
    assert torch.allclose(one[0, 2], other[0, 1], atol=1e-6)
    assert not torch.allclose(one[0, 1], one[0, 2])


def test_eight_sentences_are_learned_by_heart():
    random = np.random.default_rng(0)
    network = network_of(dim=64, projection=32).train()
    rows = [[int(w) for w in random.integers(0, 5, 5)] for _ in range(8)]
    examples = {
        "text": [[WORDS[i] for i in row] for row in rows],
        "predicted": [[np.array([i + 3]) for i in row] for row in rows],
    }
    batch, optimizer = network.prepare(examples), torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(150):
        optimizer.zero_grad()
        value(network.loss(batch)[0]).backward()
        optimizer.step()
    assert value(network.loss(batch)[0]) < 2 * 8 * np.log(8) / batch.counts["loss"] + 0.1


# ---- sampled softmax -----------------------------------------------------------------------------------------


def test_draws_follow_zipfs_law_and_the_step():
    drawn = sampled.draws(1000, 200_000, step=3)
    assert np.array_equal(drawn, sampled.draws(1000, 200_000, step=3))
    assert not np.array_equal(drawn[:100], sampled.draws(1000, 200_000, step=4)[:100])
    expected = np.exp(sampled.log_expected(torch.arange(1000), 1000, 200_000).numpy())
    assert expected.sum() == pytest.approx(200_000, rel=1e-4)
    seen = np.bincount(drawn, minlength=1000)
    assert np.abs(seen[:20] / expected[:20] - 1).max() < 0.08


def test_with_many_draws_the_gradient_is_that_of_the_whole_softmax():
    torch.manual_seed(0)
    hidden = torch.randn(6, 5, requires_grad=True)
    table, bias, targets = torch.randn(30, 5), torch.randn(30), torch.tensor([3, 0, 29, 7, -100, 7])
    whole, _ = linear_cross_entropy(hidden, table, bias, targets)
    (wanted,) = torch.autograd.grad(whole, hidden)
    drawn = torch.from_numpy(sampled.draws(30, 200_000, step=0))
    (found,) = torch.autograd.grad(sampled.sampled_cross_entropy(hidden, table, bias, targets, drawn), hidden)
    assert torch.allclose(found, wanted, atol=0.03)


def test_only_training_samples():
    network = network_of(samples=5)
    assert "drawn" not in network.prepare(sentence(0, 1)).tensors
    trained = network.prepare(sentence(0, 1), {"": np.array([1])}, step=7)
    assert trained["drawn"].shape == (5,)
    value(network.loss(trained)[0]).backward()
    assert network.output.weight.grad.abs().sum() > 0


# ---- as a part -----------------------------------------------------------------------------------------------


def test_a_mix_begins_as_the_mean_and_has_one_weight_for_each_layer():
    mix = ScalarMix((0, -1), depth=3)
    layers = [torch.full((1, 2, 3), float(n)) for n in range(3)]
    assert torch.allclose(mix(layers), torch.full((1, 2, 3), 1.0))
    with torch.no_grad():
        mix.scores.copy_(torch.tensor([0.0, np.log(3.0)]))
        mix.gamma.fill_(2.0)
    assert torch.allclose(mix(layers), torch.full((1, 2, 3), 3.0))
    assert mix.weights == pytest.approx({0: 0.5, 2: 1.5})
    with pytest.raises(UsageError, match="names layer 3"):
        ScalarMix((3,), depth=3)


@pytest.mark.parametrize("system", ["tagger", "classifier"])
def test_layers_of_a_part_that_is_not_there_are_refused(tmp_path, system):
    keys = {"model.reader_layers": [0, 1]}
    with pytest.raises(UsageError, match="there is no part: name a run that reads"):
        api.train(system, "grammar", out=tmp_path / "run", set=keys, tiny=True, quiet=True)


@pytest.mark.parametrize(("system", "answers"), [("tagger", "tag"), ("classifier", "classify")])
def test_it_reads_for_taggers_and_classifiers(tiny_runs, tmp_path, system, answers):
    keys = {"model.reader_layers": [0, 1, 2]}
    model = api.train(
        system, "grammar", out=tmp_path / "run", start=tiny_runs("elmo"), set=keys, tiny=True, quiet=True
    )
    part, own = model.network.reader, lexigraph.load(tiny_runs("elmo")).network
    assert not hasattr(part, "output")
    assert part.spelling.out.weight.shape == own.spelling.out.weight.shape
    mix = model.network.mix if system == "classifier" else model.network.words.mix
    assert len(mix.weights) == 3
    assert mix.gamma.item() != 1.0
    assert getattr(model, answers)("The unheard-of quokkas sang .")
    long = " ".join(["word"] * 150)  # of more words than it reads at once
    assert getattr(model, answers)(long)


def test_the_reader_as_it_is_says_the_same_of_a_word_in_any_company(tiny_runs):
    model = lexigraph.load(tiny_runs("elmo"))
    alone, among = model.words(["She sings ."]), model.words(["He ran .", "She sings .", "The very old man slept ."])
    assert np.allclose(alone[0], among[1], atol=1e-5)
    assert np.allclose(model.encode("She sings ."), alone[0].mean(0), atol=1e-5)
    spelled = model.words(["bank of banks bank"], layer=0)[0]
    assert np.allclose(spelled[0], spelled[3], atol=1e-5)
    inside = model.words(["bank of banks bank"], layer=2)[0]
    assert not np.allclose(inside[0], inside[3], atol=1e-3)
    with pytest.raises(UsageError, match="no layer 3"):
        model.words(["a"], layer=3)
    with pytest.raises(LexigraphError, match="has no words"):
        model.encode([" "])


def test_it_is_not_trained_with_other_pieces_than_letters(tmp_path):
    with pytest.raises(UsageError, match=r'tokenizer\.kind = "char"'):
        api.train("elmo", "grammar", out=tmp_path / "run", tiny=True, quiet=True, set={"tokenizer.kind": "bpe"})


def test_a_text_fits_by_its_words_and_one_text_has_one_answer(tiny_runs):
    model = lexigraph.load(tiny_runs("elmo"))
    longest = model.network.config.context
    assert model.fits(["antidisestablishmentarianism " * 4, "a " * longest, "a " * (longest + 1), " "]) == [
        *(True, True),
        *(False, False),
    ]
    (found,) = model.neighbours(["She sings ."], ["antidisestablishmentarianism " * 4], k=1)
    assert len(found) == 1
    assert np.array_equal(model.words("She sings ."), model.words(["She sings ."])[0])
    assert model.words("She sings .").shape[0] == 3
