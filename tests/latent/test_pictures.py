import base64
import io
import os
import struct
import zlib
from contextlib import suppress

import numpy as np
import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.latent.pictures import (
    as_data_uri,
    degrade,
    load_picture,
    save_picture,
    save_strip,
    strip,
    to_float,
    to_uint8,
)


def picture(side=16, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (side, side, 3), dtype=np.uint8)


def noted(image, path, **changes):
    """Save any image with the notes that a model's picture carries."""
    notes = PngInfo()
    for key, value in {"format": "1", "fingerprint": "abc", **changes}.items():
        notes.add_text(f"lexigraph:{key}", value)
    image.save(path, format="PNG", pnginfo=notes)


def chunk(kind, body):
    """A piece of a PNG file."""
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


# ---- values ----


def test_every_pixel_value_survives_the_way_to_floats_and_back():
    every = np.arange(256, dtype=np.uint8)
    floats = to_float(every)
    assert floats.dtype == np.float32
    assert (floats[0], floats[-1]) == (-1, 1)
    assert to_uint8(floats).tolist() == list(range(256))
    assert to_uint8(floats.astype(np.float64)).tolist() == list(range(256))


def test_values_are_rounded_and_clipped():
    step = 2 / 255
    assert to_uint8(np.array([-9.0, -1 + 0.4 * step, -1 + 0.6 * step, 7.0, np.inf])).tolist() == [0, 0, 1, 255, 255]
    with pytest.raises(LexigraphError, match="not numbers"):
        to_uint8(np.array([np.nan]))


# ---- files ----


def test_a_picture_comes_back_pixel_by_pixel(tmp_path):
    path = tmp_path / "picture.png"
    save_picture(path, picture(), "abc", text="“Très bien” – 🙂")
    assert (load_picture(path, "abc", 16) == picture()).all()
    assert os.listdir(tmp_path) == ["picture.png"]
    with Image.open(path) as peer:
        assert (peer.format, peer.mode, peer.size) == ("PNG", "RGB", (16, 16))
        assert peer.text["lexigraph:text"] == "“Très bien” – 🙂"
        assert peer.text["lexigraph:format"] == "1"
    save_picture(path, picture(seed=1), "abc", force=True)
    assert (load_picture(path, "abc", 16) == picture(seed=1)).all()
    with Image.open(path) as peer:
        assert "lexigraph:text" not in peer.text


def test_notes_that_stand_after_the_pixels_are_read_too(tmp_path):
    path = tmp_path / "picture.png"
    Image.fromarray(picture()).save(path)
    content = path.read_bytes()
    notes = chunk(b"tEXt", b"lexigraph:format\x001") + chunk(b"tEXt", b"lexigraph:fingerprint\0abc")
    path.write_bytes(content[:-12] + notes + content[-12:])
    assert (load_picture(path, "abc", 16) == picture()).all()


def test_other_files_are_refused_each_with_its_sentence(tmp_path):
    path = tmp_path / "picture.png"

    def refused(words):
        with pytest.raises(LexigraphError, match=words):
            load_picture(path, "abc", 16)

    refused("There is no picture")
    path.write_text("hello")
    refused("not a picture in PNG")
    Image.fromarray(picture()).save(path, format="JPEG")
    refused("not a picture in PNG")
    Image.fromarray(picture()).save(path)
    refused("not drawn by a Lexigraph model")
    save_picture(path, picture(), "xyz", force=True)
    refused("drawn by another model: its fingerprint is xyz, this model's is abc")
    save_picture(path, picture(8), "abc", force=True)
    refused("8 × 8 pixels; this model's pictures are 16 × 16")
    noted(Image.fromarray(picture()), path, format="2")
    refused("format 2, this Lexigraph reads 1")
    for mode in ("L", "RGBA", "P", "1", "I;16"):
        noted(Image.new(mode, (16, 16)), path)
        refused("not in RGB with 8 bits")


def test_sixteen_bits_per_colour_are_refused(tmp_path):
    path = tmp_path / "picture.png"
    noted(Image.fromarray(picture()), path)
    content = path.read_bytes()
    notes = content[33 : content.index(b"IDAT") - 4]
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 16, 16, 16, 2, 0, 0, 0))
    path.write_bytes(content[:8] + header + notes + chunk(b"IDAT", zlib.compress(bytes(16 * 97))) + content[-12:])
    with Image.open(path) as peer:
        assert peer.mode == "RGB"  # what is lost does not show
    with pytest.raises(LexigraphError, match="not in RGB with 8 bits"):
        load_picture(path, "abc", 16)


def test_a_damaged_picture_is_refused_wherever_it_is_damaged(tmp_path):
    path = tmp_path / "picture.png"
    save_picture(path, picture(), "abc")
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    for length in (8, 20, 40, 200, len(whole) - 30):
        path.write_bytes(whole[:length])
        with pytest.raises(LexigraphError):
            load_picture(path, "abc", 16)
    for position in random.integers(8, len(whole), 200):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x55]) + whole[position + 1 :])
        with suppress(LexigraphError):  # if the flip hit what does not matter, the pixels must be right
            assert (load_picture(path, "abc", 16) == picture()).all()


def test_what_cannot_be_written_changes_nothing(tmp_path):
    path = tmp_path / "picture.png"
    save_picture(path, picture(), "abc")
    with pytest.raises(LexigraphError, match="needs the fingerprint"):
        save_picture(path, picture(), "")
    with pytest.raises(LexigraphError, match="not valid Unicode"):
        save_picture(path, picture(), "abc", text="\ud800")
    with pytest.raises(LexigraphError, match=r"There is no folder .*nowhere"):
        save_picture(tmp_path / "nowhere" / "picture.png", picture(), "abc")
    assert (load_picture(path, "abc", 16) == picture()).all()


# ---- for people ----


def test_a_strip_puts_pictures_side_by_side(tmp_path):
    black, red = np.zeros((2, 2, 3), dtype=np.uint8), np.full((2, 2, 3), [255, 0, 0], dtype=np.uint8)
    sheet = strip(np.stack([black, red, black]), columns=2, gap=1, scale=2)
    letters = {(0, 0, 0): "b", (255, 0, 0): "r", (255, 255, 255): "."}
    drawn = ["".join(letters[tuple(pixel)] for pixel in row) for row in sheet.tolist()]
    assert drawn == ["bbbb.rrrr"] * 4 + ["........."] + ["bbbb....."] * 4
    assert strip(np.stack([black, red, black]), gap=0).shape == (2, 6, 3)
    assert strip(np.stack([black]), columns=7).shape == (2, 2, 3)
    save_strip(tmp_path / "strip.png", np.stack([black, red, black]), columns=2, gap=1, scale=2)
    with Image.open(tmp_path / "strip.png") as peer:
        assert (np.array(peer) == sheet).all()
    with pytest.raises(LexigraphError, match="not drawn by"):
        load_picture(tmp_path / "strip.png", "abc", 9)


@pytest.mark.parametrize("options", [{"columns": 0}, {"gap": -1}, {"scale": 0}])
def test_impossible_strips_are_refused(options):
    with pytest.raises(LexigraphError, match="cannot be made"):
        strip(picture()[None], **options)
    with pytest.raises(LexigraphError, match="of 0 pictures"):
        strip(picture()[None][:0])


def test_a_data_uri_holds_the_picture_enlarged():
    head, data = as_data_uri(picture(4), scale=3).split(",")
    assert head == "data:image/png;base64"
    with Image.open(io.BytesIO(base64.b64decode(data))) as peer:
        assert (np.array(peer)[1::3, 1::3] == picture(4)).all()
        assert peer.size == (12, 12)
    with pytest.raises(LexigraphError, match="scale is 0"):
        as_data_uri(picture(), scale=0)


# ---- damage ----


@pytest.mark.parametrize(
    ("how", "amount"), [("png", 0), ("png", 7.5), ("noise", 0), ("resize", 1), ("resize", 1.0), ("occlusion", 0)]
)
def test_no_damage_leaves_the_picture_as_it_is(how, amount):
    before = picture()
    assert (degrade(before, how, amount, seed=0) == picture()).all()
    assert (before == picture()).all()


def test_jpeg_is_that_of_pillow_and_gets_worse():
    smooth = np.linspace(0, 255, 32 * 32 * 3).reshape(32, 32, 3).astype(np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(smooth).save(buffer, format="JPEG", quality=30)
    assert (degrade(smooth, "jpeg", 30) == np.array(Image.open(buffer))).all()
    losses = [np.abs(degrade(picture(32), "jpeg", q).astype(float) - picture(32)).mean() for q in (95, 50, 5)]
    assert 0 < losses[0] < losses[1] < losses[2]


def test_noise_has_the_deviation_that_was_asked_for():
    grey = np.full((64, 64, 3), 128, dtype=np.uint8)
    noisy = degrade(grey, "noise", 12, seed=3)
    assert noisy.std() == pytest.approx(12, rel=0.03)
    assert noisy.mean() == pytest.approx(128, abs=0.5)
    assert (noisy == degrade(grey, "noise", 12, seed=3)).all()
    assert (noisy != degrade(grey, "noise", 12, seed=4)).any()
    assert degrade(picture(), "noise", 255, seed=0).dtype == np.uint8  # clipped, not wrapped around


def test_resizing_to_one_pixel_leaves_the_mean_colour():
    flat = degrade(picture(), "resize", 0)
    assert (flat == flat[0, 0]).all()
    np.testing.assert_allclose(flat[0, 0], picture().mean(axis=(0, 1)), atol=30)  # a triangle filter, not a box
    grey = np.full((16, 16, 3), 77, dtype=np.uint8)
    assert (degrade(grey, "resize", 0.3) == grey).all()


@pytest.mark.parametrize(("share", "edge"), [(0.25, 8), (1, 16), (0.0625, 4)])
def test_an_occlusion_is_one_grey_square_of_the_right_size(share, edge):
    white = np.full((16, 16, 3), 255, dtype=np.uint8)
    positions = set()
    for seed in range(20):
        hidden = (degrade(white, "occlusion", share, seed=seed) == 128).all(axis=2)
        rows, columns = np.flatnonzero(hidden.any(axis=1)), np.flatnonzero(hidden.any(axis=0))
        assert hidden.sum() == edge**2
        assert (len(rows), len(columns)) == (edge, edge)
        positions.add((rows[0], columns[0]))
    assert len(positions) > 1 or edge == 16


def test_impossible_damage_is_refused():
    for how, amount in (("jpeg", 0), ("jpeg", 101), ("noise", -1), ("resize", 1.5), ("occlusion", float("nan"))):
        with pytest.raises(LexigraphError, match=f"For '{how}', the amount is"):
            degrade(picture(), how, amount)
    with pytest.raises(UsageError, match="png, jpeg, noise, resize, occlusion"):
        degrade(picture(), "fire", 1)
