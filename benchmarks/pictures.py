"""Public sets of pictures as files that `train` takes.

python benchmarks/pictures.py mnist $LEXIGRAPH_DATA/mnist mnist                  writes train.npz and test.npz
python benchmarks/pictures.py cifar10 $LEXIGRAPH_DATA/cifar10-subset cifar10     likewise
python benchmarks/pictures.py flickr8k $LEXIGRAPH_DATA flickr8k                  images/ and train, valid, test .tsv

lexigraph train vit --data mnist/train.npz --test mnist/test.npz --out runs/mnist
lexigraph train vit-cifar10-gpu --data cifar10/train.npz --test cifar10/test.npz --out runs/cifar10
lexigraph train captioner-flickr8k-gpu --data flickr8k/train.tsv --valid flickr8k/valid.tsv --test flickr8k/test.tsv \
    --out runs/captions

Flickr8k: its own split of 6,000, 1,000 and 1,000 pictures, each with five captions, a row each. Pictures that are not
there are left out and counted.
"""

from __future__ import annotations

import gzip
import io
import lzma
import sys
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

SPLITS = {"train": "train", "valid": "dev", "test": "test"}  # ours, Flickr8k's


def mnist(source: Path, out: Path) -> None:
    for split, name in (("train", "train"), ("test", "t10k")):
        pixels = lzma.decompress((source / f"{name}-images-idx3-ubyte.xz").read_bytes())
        labels = lzma.decompress((source / f"{name}-labels-idx1-ubyte.xz").read_bytes())
        images = np.frombuffer(pixels, np.uint8, offset=16).reshape(-1, 28, 28)
        np.savez_compressed(out / f"{split}.npz", image=images, label=np.frombuffer(labels, np.uint8, offset=8))


def cifar10(source: Path, out: Path) -> None:
    found: dict[str, tuple[list[np.ndarray], list[str]]] = {"train": ([], []), "test": ([], [])}
    with tarfile.open(source / "cifar10_subset.tar.xz") as archive:
        for member in archive:
            if member.isfile() and (file := archive.extractfile(member)):
                split, label, _ = Path(member.name).parts[-3:]
                found[split][0].append(np.asarray(Image.open(io.BytesIO(file.read())).convert("RGB")))
                found[split][1].append(label)
    for split, (images, labels) in found.items():
        np.savez_compressed(out / f"{split}.npz", image=np.stack(images), label=labels)


def flickr8k(source: Path, out: Path) -> None:
    folder = out / "images"
    folder.mkdir(exist_ok=True)
    with tarfile.open(source / "flickr8k-thumbs64" / "images64.tar.xz") as archive:
        for member in archive:
            if member.isfile() and (file := archive.extractfile(member)):
                (folder / Path(member.name).name).write_bytes(file.read())
    captions: dict[str, list[str]] = {}
    with lzma.open(source / "flickr8k" / "Flickr8k.token.txt.xz", "rt", encoding="utf-8") as lines:
        for line in lines:
            name, _, caption = line.rstrip("\n").partition("\t")
            captions.setdefault(name.partition("#")[0], []).append(caption)
    for split, theirs in SPLITS.items():
        listed = gzip.decompress((source / "flickr8k" / f"Flickr_8k.{theirs}Images.txt.gz").read_bytes()).decode()
        names = [name for name in listed.split() if (folder / name).exists()]
        rows = [f"images/{name}\t{caption}\n" for name in names for caption in captions[name]]
        (out / f"{split}.tsv").write_text("".join(rows), "utf-8")
        print(f"{split}: {len(names):,} pictures, {len(rows):,} captions, {len(listed.split()) - len(names)} missing")


if __name__ == "__main__":
    made, target = {"mnist": mnist, "cifar10": cifar10, "flickr8k": flickr8k}[sys.argv[1]], Path(sys.argv[3])
    target.mkdir(parents=True, exist_ok=True)
    made(Path(sys.argv[2]), target)
