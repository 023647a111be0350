"""The transformer: equal to torch.nn.Transformer, blind to padding, and a translator end to end."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from lexigraph import api
from lexigraph.errors import UsageError
from lexigraph.evaluation.translation import corpus_scores
from lexigraph.models import transformer
from lexigraph.nn.positions import sinusoidal
from tests.ids import ids

VOCABULARY = 61
EOS = 2


def network_of(norm: str = "post", **more: object) -> transformer.Transformer:
    torch.manual_seed(0)
    config = transformer.Config(layers=2, decoder_layers=3, heads=4, dim=16, context=30, norm=norm, **more)  # type: ignore[arg-type]
    network = transformer.Transformer(config, transformer.Objective(), ids(VOCABULARY)).eval()
    for parameter in network.parameters():
        nn.init.normal_(parameter, std=0.3)
    return network


def torch_names(name: str) -> list[str]:
    """Our name of a layer's weight under torch's names; where theirs is stored in two parts, both."""
    parts = {
        "attention.qkv.": "self_attn.in_proj_",
        "attention.out": "self_attn.out_proj",
        "memory.out": "multihead_attn.out_proj",
        "feed_forward.widen": "linear1",
        "feed_forward.narrow": "linear2",
        "norm_attention": "norm1",
        "norm_memory": "norm2",
        "norm_feed_forward": "norm2" if name.startswith("encoder") else "norm3",
        "norm_encoder": "encoder.norm",
        "norm_decoder": "decoder.norm",
    }
    for stack in ("encoder", "decoder"):
        name = name.replace(f"{stack}.", f"{stack}.layers.") if name.startswith(stack) else name
    for ours, theirs in parts.items():
        name = name.replace(ours, theirs)
    return name


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_logits_are_those_of_torch_nn_transformer(norm):
    ours = network_of(norm)
    theirs = nn.Transformer(16, 4, 2, 3, 64, dropout=0.0, batch_first=True, norm_first=norm == "pre").eval()
    weights = {torch_names(n): v for n, v in ours.state_dict().items() if not n.startswith("embedding")}
    for kind in ("weight", "bias"):
        for number in range(3):
            stem = f"decoder.layers.{number}.memory"
            both = [weights.pop(f"{stem}.{part}.{kind}") for part in ("query", "key_value")]
            weights[f"decoder.layers.{number}.multihead_attn.in_proj_{kind}"] = torch.cat(both)
    if norm == "post":  # torch has a last norm all the same
        theirs.encoder.norm = theirs.decoder.norm = None
    theirs.load_state_dict(weights)
    source, target = torch.randint(3, VOCABULARY, (3, 9)), torch.randint(3, VOCABULARY, (3, 6))
    lengths = torch.tensor([9, 2, 5])
    hidden = torch.arange(9) >= lengths[:, None]
    table, positions = ours.embedding.weight, sinusoidal(30, 16)
    x, y = (table[ids] * math.sqrt(16) + positions[: ids.shape[1]] for ids in (source, target))
    before = nn.Transformer.generate_square_subsequent_mask(6)
    expected = theirs(x, y, tgt_mask=before, src_key_padding_mask=hidden, memory_key_padding_mask=hidden) @ table.T
    assert (ours(source, target, lengths) - expected).abs().max() <= 1e-5 * expected.abs().max()


@torch.inference_mode()
def test_padding_of_a_source_is_never_looked_at():
    network = network_of()
    lengths = torch.tensor([7, 3])
    source, target = torch.randint(3, VOCABULARY, (2, 7)), torch.randint(3, VOCABULARY, (2, 5))
    other = source.clone()
    other[1, 3:] = torch.randint(3, VOCABULARY, (4,))
    assert torch.equal(network(source, target, lengths), network(other, target, lengths))
    steps = [network.start({"ids": ids, "lengths": lengths}, 2) for ids in (source, other)]
    assert torch.equal(steps[0].logits, steps[1].logits)


@torch.inference_mode()
def test_attention_says_where_in_the_source_each_row_looked():
    network = network_of()
    step = network.start({"ids": torch.randint(3, VOCABULARY, (2, 7)), "lengths": torch.tensor([7, 3])}, 3)
    step = network.step(step.state, torch.arange(10, 16), attention=True)
    assert step.attention is not None
    assert step.attention.shape == (6, 7)
    assert torch.allclose(step.attention.sum(1), torch.ones(6))
    assert not step.attention[3:, 3:].any()  # padding of the second sentence
    assert network.step(step.state, torch.arange(6)).attention is None


def test_targets_are_fed_from_the_boundary_on_and_end_with_it():
    network = network_of()
    batch = network.prepare({
        "source": [np.array([EOS, 5, 6, 7, EOS]), np.array([EOS, 8, EOS])],
        "target": [np.array([EOS, 9, EOS]), np.array([EOS, 10, 11, EOS])],
    })  # fmt: skip
    assert batch["source"].tolist() == [[5, 6, 7, EOS], [8, EOS, 0, 0]]
    assert batch["source_lengths"].tolist() == [4, 2]
    assert batch["inputs"].tolist() == [[EOS, 9, 0], [EOS, 10, 11]]
    assert batch["targets"].tolist() == [[9, EOS, -100], [10, 11, EOS]]
    assert batch.counts == {"loss": 5}


def test_a_long_search_outgrows_its_first_room():
    network = network_of()
    network.full_context = network.context = 100
    network.register_buffer("table", sinusoidal(100, 16), persistent=False)
    source = torch.randint(3, VOCABULARY, (1, 7))
    ids = torch.cat([torch.tensor([[EOS]]), torch.randint(3, VOCABULARY, (1, 80))], 1)
    with torch.inference_mode():
        full = network(source, ids)[0]
        step = network.start({"ids": source, "lengths": torch.tensor([7])})
        for token, expected in zip(ids[0, 1:], full[1:], strict=True):
            step = network.step(step.state, token[None])
            assert (step.logits[0] - expected).abs().max() <= 1e-5 * expected.abs().max()


# ---- whole runs ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(tiny_runs: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A translator of statements into questions, at its tiny size."""
    return Path(shutil.copytree(tiny_runs("transformer"), tmp_path_factory.mktemp("transformer") / "run"))


def test_scores_agree_with_what_the_model_says_and_writes(run, tmp_path):
    model = api.load(run)
    pairs = [("She sang .", "Did she sing ?"), ("He is here .", "Is he here ?"), ("They left .", "Did they leave ?")]
    file = tmp_path / "test.tsv"
    file.write_text("".join(f"{one}\t{other}\n" for one, other in pairs))
    found = api.evaluate(run, file)
    sources, targets = zip(*pairs, strict=True)
    assert found["nll"]["value"] * found["tokens"] == pytest.approx(
        -sum(model.score(targets, sources=sources)), rel=1e-5
    )
    assert found["tokens"] == sum(len(row) + 1 for row in model.tokenizer.encode_batch(targets))
    expected = corpus_scores(model.translate(sources), list(targets))
    assert found["bleu"] == expected["bleu"]
    assert found["chrf"] == expected["chrf"]
    assert "tok:13a" in found["bleu_signature"]
    assert "decoding:beam-5-alpha-0.7" in found["signature"]


def test_translations_come_with_scores_and_alignment(run):
    model = api.load(run)
    (best, second), _ = model.translate(["She sang .", "He is here ."], n_best=2, alignment=True)
    assert best.score >= second.score
    assert best.text == model.translate("She sang .")
    assert best.alignment.shape == (len(best.target), len(best.source))
    assert best.source == (*model.tokenizer.tokens(model.tokenizer.encode("She sang .")), "<eos>")
    assert np.allclose(best.alignment.sum(1), 1, atol=1e-5)
    source = model.tokenizer.encode("She sang .")
    found = model.translations([np.array(source)], n_best=2)[0][0]
    written = [*found.tokens, model.tokenizer.eos][: found.produced]  # the end is a token too, if it was reached
    given = torch.tensor([[model.tokenizer.eos, *written[:-1]]])
    with torch.no_grad():
        log_p = model.network(torch.tensor([[*source, model.tokenizer.eos]]), given).log_softmax(2)[0]
    expected = float(log_p.gather(1, torch.tensor(written)[:, None]).sum())
    assert [best.log_probability, found.log_probability] == pytest.approx([expected, expected], abs=1e-3)


def test_a_translator_asks_for_sources(run):
    model = api.load(run)
    with pytest.raises(UsageError, match="scores translations: give sources"):
        model.score(["Did she sing ?"])
    with pytest.raises(UsageError, match="1 texts and 2 sources"):
        model.score(["Did she sing ?"], sources=["She sang .", "He sang ."])


def test_one_model_learns_several_directions(tmp_path):
    rows = [
        (f"<{way}>", f"{word} {n}", f"{way} {word}")
        for n in range(60)
        for word in ("a", "b")
        for way in ("up", "down")
    ]
    file = tmp_path / "ways.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in rows))
    columns = {"direction": "1", "source": "2", "target": "3"}
    changes = {"data.columns": columns, "data.split": [1.0], "tokenizer.kind": "word", "model.dim": 32,
               "tokenizer.special": ["<up>", "<down>"], "train.steps": 80, "train.validate_every": 80,
               "train.warmup": 5}  # fmt: skip
    model = api.train("transformer", file, tmp_path / "run", tiny=True, quiet=True, set=changes)
    assert model.translate(["a 7", "b 9"], to="<up>") == ["up a", "up b"]
    assert model.translate(["a 7", "b 9"], to="<down>") == ["down a", "down b"]


def test_pairs_that_are_too_long_are_counted(tmp_path):
    rows = [("a b", "c d")] * 60 + [("a " * 60, "c")] * 3
    file = tmp_path / "pairs.tsv"
    file.write_text("".join("\t".join(row) + "\n" for row in rows))
    changes = {"tokenizer.kind": "word", "data.split": [1.0], "train.batch_tokens": 64}
    api.train("transformer", file, tmp_path / "run", tiny=True, quiet=True, set=changes)
    assert json.loads((tmp_path / "run" / "results.json").read_text())["too_long_for_training"] == 3


def test_a_translator_refuses_plain_text(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("She sang .\n" * 200)
    with pytest.raises(UsageError, match="plain text has one column"):
        api.train("transformer", file, tmp_path / "a", tiny=True, quiet=True)
    with pytest.raises(UsageError, match=r'data\.unit = "stream" is for plain text'):
        api.train("transformer", "grammar", tmp_path / "b", tiny=True, quiet=True, set={"data.unit": "stream"})
