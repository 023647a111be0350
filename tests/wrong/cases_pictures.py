"""Pictures that cannot be read, or not so, and captions without any."""

import struct
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

from tests.wrong.case import WRONG_USAGE, Case

TRAIN = "train vit --out run --set train.steps=1 --data"
CAPTION = "train captioner --out run --set train.steps=1 --data"
LISTED = "good.png\ta\nbad.png\tb\n"


def picture(path: Path, side: int = 8) -> None:
    Image.fromarray(np.full((side, side, 3), 90, np.uint8)).save(path)


def cut(path: Path) -> None:
    random = np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    Image.fromarray(random).save(path)
    path.write_bytes(path.read_bytes()[:3000])


def bomb(path: Path) -> None:
    """A file of some hundred bytes that says it holds ten milliards of dots."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 2, 0, 0, 0)
    path.write_bytes(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    )


def larger(path: Path) -> None:
    picture(path, 12)


def fractions(path: Path) -> None:
    Image.fromarray(np.zeros((8, 8), np.float32)).save(path, "TIFF")


def folder(path: Path) -> None:
    path.mkdir()


def listed(bad: object, table: str = LISTED) -> dict:
    return {"a.tsv": table, "good.png": picture} | ({"bad.png": bad} if bad else {})


CASES = {
    "a picture that is not there": Case(
        f"{TRAIN} a.tsv", ("a.tsv, line 2", "bad.png", "No such file"), given=listed(None)
    ),
    "a text for a picture": Case(
        f"{TRAIN} a.tsv", ("a.tsv, line 2", "bad.png", "no picture"), given=listed("text\n")
    ),
    "a picture cut short": Case(f"{TRAIN} a.tsv", ("a.tsv, line 2", "bad.png", "cannot be read"), given=listed(cut)),
    "a header that promises too much": Case(
        f"{TRAIN} a.tsv", ("a.tsv, line 2", "bad.png", "80,000,000 dots", "smaller"), given=listed(bomb)
    ),
    "dots in fractions": Case(f"{TRAIN} a.tsv", ("a.tsv, line 2", "fractions", "8 bits"), given=listed(fractions)),
    "a folder for a picture": Case(f"{TRAIN} a.tsv", ("a.tsv, line 2", "bad.png", "directory"), given=listed(folder)),
    "pictures of several sizes": Case(
        f"{TRAIN} a.tsv --set data.split=[1.0]",
        ("a.tsv, line 2", "(12, 12, 3)", "(8, 8, 3)", "data.side"),
        given=listed(larger),
    ),
    "patches that do not divide": Case(
        f"{TRAIN} a.tsv --set data.split=[1.0] --set model.patch=3",
        ("model.patch = 3", "8 and 8"),
        WRONG_USAGE,
        given=listed(picture),
    ),
    "a caption without a picture": Case(
        f"{CAPTION} a.tsv", ("a.tsv, line 2", "no picture is named"), given=listed(None, "good.png\ta dog\n\ta cat\n")
    ),
    "a picture without a caption": Case(
        f"{CAPTION} a.tsv",
        ("a.tsv, line 2", "caption is empty"),
        given=listed(None, "good.png\ta dog\ngood.png\t \n"),
    ),
    "captions in plain text": Case(f"{CAPTION} good.txt", ("good.txt", "image, caption"), WRONG_USAGE),
    "a cut picture to classify": Case("classify @vit bad.png", ("bad.png", "cannot be read"), given={"bad.png": cut}),
    "a text to caption": Case("caption @captioner 'a dog'", ("a dog", "cannot be read")),
    "a bomb to caption": Case("caption @captioner bad.png", ("bad.png", "80,000,000"), given={"bad.png": bomb}),
    "captions by a classifier": Case(
        "caption @vit bad.png", ("vit", "cannot caption", "classify"), given={"bad.png": picture}
    ),
    "a match with nothing": Case("match @clip bad.png", ("--text",), WRONG_USAGE, given={"bad.png": picture}),
    "an empty text to match": Case("match @clip bad.png --text ''", ("is empty",), given={"bad.png": picture}),
    "a folder without pictures": Case("search . 'a dog' --model @clip", ("no pictures", ".png")),
    "a sheet of lines": Case("search good.txt cats --out a.png", ("--out", "--model"), WRONG_USAGE),
    "a sheet that is no PNG": Case(
        "search . 'a dog' --model @clip --out a.svg", ("a.svg", ".png"), WRONG_USAGE, given={"bad.png": picture}
    ),
    "positions of convolutions": Case(
        "look @captioner --positions", ("captioner", "no learned positions"), WRONG_USAGE
    ),
}
