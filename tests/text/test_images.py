"""Pictures as viewers show them, however a file holds them."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from lexigraph.text import images

COLOURS = np.random.default_rng(0).integers(0, 256, (4, 6, 3)).astype(np.uint8)


def test_a_picture_that_lies_on_its_side_is_turned_as_its_exif_data_say(tmp_path):
    picture = Image.fromarray(COLOURS)
    exif = picture.getexif()
    exif[0x0112] = 6  # to be seen upright, turn it clockwise
    picture.save(tmp_path / "a.png", exif=exif)
    assert np.array_equal(images.read("a.png", tmp_path), np.rot90(COLOURS, -1))


def test_what_is_transparent_is_on_white(tmp_path):
    seen = np.dstack([COLOURS, np.array([[255, 0] * 3] * 4, np.uint8)])
    Image.fromarray(seen).save(tmp_path / "a.png")
    read = images.read("a.png", tmp_path)
    assert np.array_equal(read[:, ::2], COLOURS[:, ::2])
    assert (read[:, 1::2] == 255).all()


@pytest.mark.parametrize(("mode", "channels"), [("1", 1), ("L", 1), ("P", 3), ("RGB", 3), ("CMYK", 3)])
def test_modes_become_grey_or_colours(mode, channels, tmp_path):
    Image.fromarray(COLOURS).convert(mode).save(tmp_path / "a.tif")
    assert images.read("a.tif", tmp_path).shape == (4, 6, channels)


def test_sixteen_bits_are_scaled_not_cut(tmp_path):
    grey = np.array([[0, 256, 40_000, 65_535]], np.uint16)
    Image.fromarray(grey).save(tmp_path / "a.png")
    assert images.read("a.png", tmp_path)[0, :, 0].tolist() == [0, 1, 156, 255]


def test_the_square_in_the_middle_is_scaled_in_colours(tmp_path):
    picture = np.zeros((4, 12), np.uint8)
    picture[:, 4:8] = 200
    Image.fromarray(picture).save(tmp_path / "a.png")
    found = images.read("a.png", tmp_path, side=8)
    assert found.shape == (8, 8, 3)
    assert (found == 200).all()


def test_a_trained_model_fits_a_file_to_the_shape_that_it_reads(tmp_path, tiny_runs):
    import lexigraph

    model = lexigraph.load(tiny_runs("vit"), device="cpu")
    large = np.kron(np.full((16, 16, 3), 90, np.uint8), np.ones((3, 3, 1), np.uint8))
    Image.fromarray(large).save(tmp_path / "large.png")
    found, wanted = model.classify([tmp_path / "large.png", large[:16, :16]])
    assert found.probabilities == pytest.approx(wanted.probabilities, abs=1e-6)
