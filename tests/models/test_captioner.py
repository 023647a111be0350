"""The captioner: one step by hand, where it looks, all captions of a picture as references, files and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from sacrebleu import corpus_bleu
from torch import nn
from typer.testing import CliRunner

from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import UsageError
from lexigraph.evaluation.captioning import by_picture
from lexigraph.models.captioner import DOUBLY, Captioner, Config, Objective
from lexigraph.nn.vision import ConvolutionalEncoder
from lexigraph.text.vocabularies import Ids, Numbers, Vocabularies
from tests.contracts.tiny import data_of

SIDE = 8
CAPTIONS = {"a": ["A red disc .", "One disc , red ."], "b": ["A blue cross ."], "c": ["Two green squares ."]}


def network(learned: Any = (), **form: Any) -> Captioner:
    torch.manual_seed(0)
    vocabularies = Vocabularies({"image": Numbers((SIDE, SIDE, 3), 100.0, 50.0), "text": Ids(50)})
    config = Config(**{"dim": 8, "heads": 2, "dropout": 0.0, "context": 12, **form})
    return Captioner(config, Objective(**dict(learned)), vocabularies).eval()


def pictures(count: int, side: int = SIDE) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, side, side, 3)).astype(np.uint8)


@pytest.mark.parametrize(
    ("shape", "grid"), [((64, 64), (4, 4)), ((28, 28), (4, 4)), ((64, 128), (4, 8)), ((3, 5), (3, 5))]
)
def test_convolutions_leave_four_positions_to_the_shorter_side(shape, grid):
    encoder = ConvolutionalEncoder(Numbers((*shape, 3)), 16)
    assert (encoder.rows, encoder.columns) == grid
    assert encoder(torch.zeros(1, *shape, 3)).shape == (1, grid[0] * grid[1], 16)


def test_a_step_is_that_of_show_attend_and_tell():
    made = network()
    writer, memory, e = made.writer, torch.randn(1, 4, 8), torch.randn(1, 1, 8)
    mean = memory[0].mean(0)
    h, c = torch.tanh(writer.begin(mean)).chunk(2)
    align = writer.alignment
    scores = [align.v(torch.tanh(align.of_query(h) + align.of_memory(m))) for m in memory[0]]
    a = torch.cat(scores).softmax(0)
    z = torch.sigmoid(writer.gate(h)) * sum(share * m for share, m in zip(a, memory[0], strict=True))
    kernel = dict(writer.recurrent.named_parameters())
    cell = nn.LSTMCell(16, 8)
    for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        (own,) = (value for key, value in kernel.items() if key.endswith(f"{name}_l0"))
        getattr(cell, name).data = own.data
    h, _ = cell(torch.cat([e[0, 0], z])[None], (h[None], c[None]))
    wanted = torch.tanh(writer.readout(torch.cat([h[0], z, e[0, 0]])))
    found, looks = writer(e, memory, None)
    assert torch.allclose(found[0, 0], wanted, atol=1e-6)
    assert torch.allclose(looks.log_weights[0, 0].exp(), a, atol=1e-6)


def test_without_attention_the_mean_of_the_picture_goes_into_every_step():
    made = network(attention="none")
    memory, e = torch.randn(2, 4, 8), torch.randn(2, 5, 8)
    found, looks = made.writer(e, memory, None)
    moved, _ = made.writer(e, memory[:, [3, 1, 0, 2]], None)
    assert looks is None
    assert torch.allclose(found, moved, atol=1e-6)  # where something is, it cannot know
    placed, _ = network().writer(e, memory, None)
    assert torch.isfinite(placed).all()


def test_doubly_stochastic_attention_costs_what_positions_miss_of_one_look():
    made = network({"doubly": 2.0})
    nn.init.zeros_(made.writer.alignment.v.weight)  # all positions alike: a = 1 / S
    examples = {"image": list(pictures(2)), "caption": [np.array([2, 7, 8, 2]), np.array([2, 9, 2])]}
    batch = made.prepare(examples, {"": np.array([1, 2])})
    terms, _ = made.loss(batch)
    positions = made.encoder.length
    wanted = sum(positions * (1 - tokens / positions) ** 2 for tokens in (3, 2))
    assert float(terms[DOUBLY].total) == pytest.approx(wanted, rel=1e-5)
    assert terms[DOUBLY].weight == 2.0
    assert DOUBLY not in made.loss(made.prepare(examples))[0]  # in training alone


@pytest.mark.parametrize(
    ("form", "learned"),
    [
        ({"attention": "none", "hard": True}, {}),
        ({"decoder": "transformer", "hard": True}, {}),
        ({"decoder": "transformer"}, {"doubly": 1.0}),
    ],
)
def test_what_an_lstm_looks_by_is_refused_where_there_is_none(form, learned):
    with pytest.raises(UsageError, match=r"is for an LSTM that looks at the picture"):
        network(learned, **form)


# ---- files, and all captions of a picture ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three pictures, of which one has two captions, as a table of files and as arrays."""
    folder = tmp_path_factory.mktemp("pictures")
    rows, arrays = [], []
    for (name, captions), picture in zip(CAPTIONS.items(), pictures(3), strict=True):
        Image.fromarray(picture).save(folder / f"{name}.png")
        rows += [f"{name}.png\t{caption}\n" for caption in captions]
        arrays += [picture] * len(captions)
    (folder / "table.tsv").write_text("".join(rows))
    (folder / "often.tsv").write_text("".join(rows * 12))
    every = [caption for captions in CAPTIONS.values() for caption in captions]
    np.savez(folder / "arrays.npz", image=np.stack(arrays), caption=every)
    return folder


@pytest.fixture(scope="module")
def trained(files):
    changes = {"data.split": [1.0], "train.steps": 120, "train.tensorboard": False, "train.batch_tokens": 200}
    return api.train("captioner", files / "often.tsv", files / "run", quiet=True, set=changes | {"model.dim": 32})


def test_captions_are_compared_with_all_that_a_picture_has(files, trained):
    for name in ("table.tsv", "arrays.npz"):
        scores = api.evaluate(trained.path, files / name)
        assert scores["pictures"] == 3
        assert scores["exact"]["value"] == 1.0  # learned by heart
        assert scores["bleu"]["value"] == pytest.approx(100)
        assert scores["of_other_pictures"] < 60
    written = trained.caption([files / f"{name}.png" for name in CAPTIONS])
    references = [[own[number] if number < len(own) else None for own in CAPTIONS.values()] for number in range(2)]
    assert corpus_bleu(written, references).score == pytest.approx(100)


def test_a_picture_is_captioned_alike_from_file_array_and_record_alone_and_with_others(files, trained):
    array = np.asarray(Image.open(files / "a.png"))
    alone = trained.caption(files / "a.png")
    assert alone in CAPTIONS["a"]
    assert [alone] == trained.caption([array]) == trained.caption([{"image": array}])
    assert trained.caption([files / "b.png", files / "a.png"])[1] == alone
    shown = CliRunner().invoke(app, ["caption", str(trained.path), str(files / "a.png"), "--n-best", "2"]).output
    assert shown.split("\t")[2].startswith(alone)
    assert len(shown.splitlines()) == 2


def test_drawn_captions_follow_from_the_seed(files, trained):
    options = {"temperature": 2.0, "n_best": 3}
    drawn = [str(c) for c in trained.caption(files / "a.png", seed=1, **options)]
    both = trained.caption([files / "b.png", files / "a.png"], seed=1, **options)
    assert drawn == [str(c) for c in both[1]]
    assert drawn != [str(c) for c in trained.caption(files / "a.png", seed=2, **options)]


def test_where_it_looked_adds_up_to_one_for_every_piece(files, trained):
    (best,) = trained.caption(files / "a.png", attention=True)
    assert best.attention.shape == (len(best.pieces), 4, 4)
    assert np.allclose(best.attention.sum((1, 2)), 1, atol=1e-5)
    assert best.pieces[-1] == "<eos>"


def test_examples_with_the_same_dots_are_one_picture():
    groups = by_picture(data_of("captioner")[1])
    assert groups[:2] == [[0, 1, 2, 3], [4, 5, 6, 7]]  # as the scenes have captions
