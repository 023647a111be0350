"""Pictures side by side, each with a line below it: a contact sheet, as one PNG file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from lexigraph.run import replacing
from lexigraph.text import images

SIDE, GAP, LINE = 160, 12, 16  # dots: of a picture, between two, of a line of text
ACROSS = 5
LETTERS = 26  # of a line


def save(files: Sequence[str | Path], lines: Sequence[str], title: str, out: Path) -> None:
    """Write the sheet: the pictures in reading order, fitted into squares, under a title."""
    from PIL import Image, ImageDraw

    across = min(ACROSS, len(files))
    down = -(-len(files) // across)
    width, height = GAP + across * (SIDE + GAP), 2 * GAP + LINE + down * (SIDE + LINE + GAP)
    sheet = Image.new("RGB", (max(width, 2 * GAP + 6 * len(title)), height), "white")
    pen = ImageDraw.Draw(sheet)
    pen.text((GAP, GAP), title, "black")
    for number, (file, line) in enumerate(zip(files, lines, strict=True)):
        left, top = GAP + number % across * (SIDE + GAP), 2 * GAP + LINE + number // across * (SIDE + LINE + GAP)
        read = images.read(Path(file))
        shown = Image.fromarray(read[:, :, 0] if read.shape[2] == 1 else read).convert("RGB")
        scale = SIDE / max(shown.size)
        size = max(1, round(scale * shown.width)), max(1, round(scale * shown.height))
        shown = shown.resize(size, Image.Resampling.BICUBIC if scale < 1 else Image.Resampling.NEAREST)
        sheet.paste(shown, (left + (SIDE - size[0]) // 2, top + (SIDE - size[1]) // 2))
        pen.text((left, top + SIDE + 2), line if len(line) <= LETTERS else f"…{line[1 - LETTERS :]}", "black")
    with replacing(out) as temporary:
        Image.fromarray(np.asarray(sheet)).save(temporary, "PNG")
