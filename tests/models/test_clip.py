"""Pictures and texts in one space: the loss by hand and over processes, both kinds alike, and what is found."""

from __future__ import annotations

from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from PIL import Image
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn import functional as F
from typer.testing import CliRunner

import lexigraph
from lexigraph import api
from lexigraph.cli import app
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.evaluation.retrieval import numbered, recalls
from lexigraph.models.clip import Head
from lexigraph.objectives.contrastive import symmetric_nll
from lexigraph.searching import search_pictures

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 60), "blue": (40, 60, 230), "white": (240, 240, 240)}


def test_the_loss_is_cross_entropy_over_rows_and_over_columns_of_all_similarities():
    torch.manual_seed(0)
    pictures, texts = torch.randn(2, 5, 3)
    similarities = torch.tensor([[4.0 * torch.cosine_similarity(p, t, dim=0) for t in texts] for p in pictures])
    right = torch.arange(5)
    wanted = (F.cross_entropy(similarities, right) + F.cross_entropy(similarities.T, right)) / 2
    assert torch.isclose(symmetric_nll(pictures, texts, torch.tensor([4.0]).log()).mean(), wanted)


def test_a_head_is_a_projection_and_what_is_bent_of_it():
    head, x = Head(4, 6, 0.0), torch.randn(2, 4)
    z = head.project(x)
    assert torch.allclose(head(x), nn.functional.layer_norm(head.bend(F.gelu(z)) + z, (6,)), atol=1e-6)


def score_own_part(rank: int, folder: Path) -> None:
    """One process of two, which has some of five pairs: its loss and its gradients go into a file."""
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    own = [rows[(slice(0, 2), slice(2, 5))[rank]].clone().requires_grad_() for rows in five_pairs()]
    sharpness = torch.ones(1, dtype=torch.float64, requires_grad=True)
    loss = symmetric_nll(*own, sharpness, everywhere=True).sum()
    loss.backward()
    save_file(
        {"loss": loss.detach(), "sharpness": sharpness.grad, "pictures": own[0].grad, "texts": own[1].grad},
        folder / f"{rank}.safetensors",
    )
    dist.destroy_process_group()


def five_pairs() -> torch.Tensor:
    return torch.randn(2, 5, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))


def test_pairs_shared_out_over_two_processes_have_the_loss_and_the_gradients_of_one(tmp_path):
    processes = [get_context("fork").Process(target=score_own_part, args=(rank, tmp_path)) for rank in (0, 1)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0, 0]
    found = [load_file(tmp_path / f"{rank}.safetensors") for rank in (0, 1)]
    pictures, texts = (rows.clone().requires_grad_() for rows in five_pairs())
    sharpness = torch.ones(1, dtype=torch.float64, requires_grad=True)
    wanted = symmetric_nll(pictures, texts, sharpness).sum()
    wanted.backward()
    assert torch.isclose(found[0]["loss"] + found[1]["loss"], wanted, rtol=1e-6)
    assert torch.isclose(found[0]["sharpness"] + found[1]["sharpness"], sharpness.grad, rtol=1e-6)
    for name, rows in (("pictures", pictures), ("texts", texts)):
        assert torch.allclose(torch.cat([each[name] for each in found]), rows.grad, atol=1e-7)


# ---- what is found -------------------------------------------------------------------------------------------------


def test_recall_counts_pictures_once_and_any_of_their_captions():
    east, north, between = np.eye(2)[0], np.eye(2)[1], np.array([0.6, 0.8])
    rows = {
        "number": np.array([7.0, 7.0, 9.0]),  # two captions of one picture
        "picture": np.stack([east, east, north]),
        "text": np.stack([east, north, between]),
    }
    found = recalls(rows)
    assert found["picture_r1"]["value"] == pytest.approx(2 / 3)  # the second caption is nearer to the other picture
    assert found["picture_r5"]["value"] == 1
    assert found["caption_r1"]["value"] == 0.5  # north: the caption of the other picture comes first
    assert found["median_rank"] == 1


def test_pictures_have_the_same_number_only_if_their_dots_are_the_same():
    images = torch.randint(0, 256, (50, 4, 4, 3), dtype=torch.uint8)
    images[1, 0, 0, 0] = images[0, 0, 0, 0] ^ 1
    images = torch.cat([images, images[:3]])
    numbers = numbered(images)
    assert len(numbers.unique()) == len(images.flatten(1).unique(dim=0))
    assert torch.equal(numbers[:3], numbers[-3:])
    assert torch.equal(numbers, numbers.double().long())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A folder of squares in four colours, and a table of their captions."""
    folder = tmp_path_factory.mktemp("squares")
    random, rows = np.random.default_rng(0), []
    for number in range(60):
        name = list(COLOURS)[number % 4]
        dots = random.integers(0, 40, (8, 8, 3))
        dots[2:6, 2:6] = np.array(COLOURS[name]) + random.integers(-10, 10, 3)
        Image.fromarray(dots.clip(0, 255).astype(np.uint8)).save(folder / f"{number}-{name}.png")
        rows.append(f"{number}-{name}.png\tA {name} square .\n")
    (folder / "captions.tsv").write_text("".join(rows))
    return folder


@pytest.fixture(scope="module")
def trained(files):
    changes = {"data.split": [1.0], "train.steps": 60, "train.tensorboard": False, "train.batch_tokens": 250}
    return api.train("clip", files / "captions.tsv", files / "run", quiet=True, set=changes | {"model.dim": 32})


def test_texts_and_pictures_find_each_other(files, trained):
    texts = [f"A {name} square ." for name in COLOURS]
    for number, name in enumerate(COLOURS):
        best = trained.match(files / f"{number}-{name}.png", list(COLOURS), template="A {} square .")
        assert best[0].text == name
        assert sum(each.probability for each in best) == pytest.approx(1)
        near = trained.neighbours(texts[number], [files / f"{n}-{c}.png" for n, c in enumerate(COLOURS)], k=2)
        assert near[0].text.endswith(f"-{name}.png")
        assert trained.neighbours(files / f"{number}-{name}.png", texts, k=1)[0].text == texts[number]


def test_vectors_have_length_one_and_do_not_mind_company(files, trained):
    given = ["A red square .", files / "0-red.png", "square", files / "1-green.png"]
    together = trained.encode(given)
    assert np.allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    for each, vector in zip(given, together, strict=True):
        assert np.allclose(trained.encode(each), vector, atol=1e-5)


def test_a_folder_is_searched_by_words_and_by_a_picture(files, trained, tmp_path):
    for query in ("A blue square .", str(files / "2-blue.png")):
        hits = search_pictures(files, query, trained.path, k=5)
        assert all(hit.file.endswith("-blue.png") for hit in hits)
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    sheet = tmp_path / "found.png"
    command = ["search", str(files), "A blue square .", "--model", str(trained.path), "-k", "7", "--out", str(sheet)]
    shown = CliRunner().invoke(app, command)
    assert len(shown.stdout.splitlines()) == 7
    drawn = np.asarray(Image.open(sheet)).astype(int)
    assert ((drawn[..., 2] - drawn[..., 0]) > 120).sum() > 7 * 3000  # seven blue squares are on it


def test_a_damaged_picture_in_a_folder_is_left_out_and_told(files, trained, tmp_path):
    (tmp_path / "good.png").write_bytes((files / "0-red.png").read_bytes())
    (tmp_path / "bad.jpg").write_bytes(b"no picture")
    with pytest.warns(UserWarning, match=r"Left out: .*bad\.jpg"):
        assert len(search_pictures(tmp_path, "red", trained.path)) == 1
    (tmp_path / "good.png").unlink()
    with pytest.raises(LexigraphError, match="None of the 1 pictures"), pytest.warns(UserWarning, match="Left out"):
        search_pictures(tmp_path, "red", trained.path)


def test_what_makes_no_sense_is_refused(trained, tmp_path):
    with pytest.raises(UsageError, match=r"has no \{\}"):
        trained.match(Path("a.png"), ["red"], template="A square .")
    with pytest.raises(LexigraphError, match="There are no pictures in"):
        search_pictures(tmp_path, "red", trained.path)


def test_every_kind_of_answer_of_a_tiny_run_comes_from_the_command_line(tiny_runs, tmp_path):
    run = tiny_runs("clip")
    Image.fromarray(np.full((40, 30, 3), 90, np.uint8)).save(tmp_path / "a.png")  # of another size
    shown = CliRunner().invoke(app, ["match", str(run), str(tmp_path / "a.png"), "--text", "a red disc"]).output
    assert shown.startswith(f"{tmp_path / 'a.png'}\t")
    assert shown.endswith("1.0000\ta red disc\n")
    assert lexigraph.load(run).encode("A disc .").shape == (16,)
