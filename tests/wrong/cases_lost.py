"""What would overwrite, mix up or misread something of the user's: outputs that are there, and files that changed."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from lexigraph.words.vectors import WordVectors
from tests.wrong.case import Case

WORDS = ["the", "cat", "dog", "sat", "king", "queen", "man", "woman"]


def vectors(path: Path) -> None:
    WordVectors(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 4)).astype(np.float32)).save(path)


def folder(path: Path) -> None:
    path.mkdir()
    (path / "notes.txt").write_text("mine")


def tensors(change):
    """Damage to a file of weights that leaves it a file of weights."""

    def damage(path: Path) -> None:
        save_file(change(load_file(path)), path)

    return damage


def with_value(value):
    def change(weights):
        name = sorted(name for name, each in weights.items() if each.dtype == np.float32)[0]
        weights[name] = weights[name].copy()
        weights[name].reshape(-1)[0] = value
        return weights

    return tensors(change)


def flipped(path: Path, place: int = -1) -> None:
    """One bit of the last byte is not what was written."""
    content = bytearray(path.read_bytes())
    content[place] ^= 1
    path.write_bytes(content)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-8])


def changed_json(change):
    def damage(path: Path) -> None:
        content = json.loads(path.read_text(encoding="utf-8"))
        change(content)
        path.write_text(json.dumps(content), encoding="utf-8")

    return damage


def other_tokenizer(path: Path) -> None:
    """The same tokenizer but for two entries that changed places: it reads, and every text means something else."""

    def swap(content):
        vocabulary = content["model"]["vocab"]
        one, other = list(vocabulary)[-2:]
        vocabulary[one], vocabulary[other] = vocabulary[other], vocabulary[one]

    changed_json(swap)(path)


def swapped_labels(path: Path) -> None:
    changed_json(lambda content: content["names"].reverse())(path)


def lock_of_another_computer(path: Path) -> None:
    held = {"process": 4711, "host": "elsewhere", "boot": "another", "since": "2026-01-02 03:04:05"}
    path.write_text(json.dumps(held))


def unfinished(path: Path) -> None:
    path.unlink()


def linked(path: Path) -> None:
    path.symlink_to("/dev/null")


MINE = {"mine.png": "not a picture", "mine.npy": "not an array", "mine.json": "{}", "mine.html": "<p>mine</p>",
        "mine.vec": "the 1 2\n", "mine.bin": "mine", "mine.svg": "<svg/>", "mine.txt": "mine\n"}  # fmt: skip
TAKEN = ("exists already", "--force")
BLEND = "blend @picture 'She sings .' 'He sang .' --steps 2"
TREES = {"wv.vec": vectors}

CASES = {
    # ---- what is there stays there ----
    "a strip over a picture": Case(f"{BLEND} --strip mine.png", ("mine.png", *TAKEN), given=MINE),
    "a strip over a corpus": Case(f"{BLEND} --strip good.txt", ("good.txt", ".png"), code=2),
    "a strip over a corpus by force": Case(f"{BLEND} --strip good.txt --force", ("good.txt", ".png"), code=2),
    "a strip without a suffix": Case(f"{BLEND} --strip strip", ("strip", ".png"), code=2),
    "a strip in no folder": Case(f"{BLEND} --strip no/such.png", ("There is no folder no", "such.png")),
    "a strip into a folder": Case(f"{BLEND} --strip there.png", ("there.png", "folder"), given={"there.png": folder}),
    "a strip over a folder by force": Case(
        f"{BLEND} --strip there.png --force", ("there.png", "folder"), given={"there.png": folder}
    ),
    "a strip over a device by force": Case(
        f"{BLEND} --strip null.png --force", ("null.png", "never replaced"), given={"null.png": linked}
    ),
    "vectors of sentences over an array": Case("encode @picture hi --out mine.npy", ("mine.npy", *TAKEN), given=MINE),
    "vectors of sentences over a corpus": Case("encode @picture hi --out good.txt", ("good.txt", ".npy"), code=2),
    "vectors of sentences by force over a corpus": Case(
        "encode @picture hi --out good.txt --force", ("good.txt", ".npy"), code=2
    ),
    "vectors of sentences nowhere": Case("encode @picture hi", ("--out",), code=2),
    "vectors of sentences in no folder": Case("encode @picture hi --out a/b/z.npy", ("There is no folder a/b",)),
    "vectors of sentences below a file": Case("encode @picture hi --out good.txt/z.npy", ("folder good.txt",)),
    "vectors of sentences into a folder": Case("encode @picture hi --out z.npy", ("z.npy",), given={"z.npy": folder}),
    "pictures over pictures": Case(
        "pictures @picture 'She sings .' --out drawn", ("drawn/0000.png", *TAKEN), given={"drawn/0000.png": "mine"}
    ),
    "pictures of which the second is there": Case(
        "pictures @picture 'She sings .' 'He sang .' --out drawn",
        ("drawn/0001.png", *TAKEN),
        given={"drawn/0001.png": "mine"},
    ),
    "pictures into a file": Case("pictures @picture 'She sings .' --out good.txt", ("good.txt", "folder")),
    "pictures into a file by force": Case(
        "pictures @picture 'She sings .' --out good.txt --force", ("good.txt", "folder")
    ),
    "pictures over a folder by force": Case(
        "pictures @picture 'She sings .' --out drawn --force", ("0000.png",), given={"drawn/0000.png": folder}
    ),
    "a tokenizer over a file": Case("tokenize good.txt --train bpe --size 300 --out mine.json", TAKEN, given=MINE),
    "a tokenizer over its own text": Case("tokenize good.txt --train bpe --out good.txt", ("good.txt", ".json"), 2),
    "a tokenizer over its own text by force": Case(
        "tokenize good.txt --train bpe --out good.txt --force", ("good.txt", ".json"), 2
    ),
    "a tokenizer into a folder": Case("tokenize good.txt --train bpe --out t", ("t", "folder"), given={"t": folder}),
    "a tokenizer in no folder": Case("tokenize good.txt --train bpe --out no/t.json", ("There is no folder no",)),
    "a demo over a demo": Case("demo --out d", ("d/report.html", *TAKEN), given={"d/report.html": "mine"}),
    "a demo among other things": Case("demo --out there", ("there", "not empty"), given={"there": folder}),
    "a demo into a file": Case("demo --out good.txt", ("good.txt", "folder")),
    "a map over a map": Case("words map wv.vec --out mine.html", ("mine.html", *TAKEN), given=MINE | TREES),
    "a map over the usual name": Case("words map wv.vec", ("map.html", *TAKEN), given=TREES | {"map.html": "mine"}),
    "a map over a picture": Case("words map wv.vec --out mine.svg", ("mine.svg", *TAKEN), given=MINE | TREES),
    "a map over its vectors": Case("words map wv.vec --out wv.vec", ("wv.vec", ".svg", ".html"), 2, given=TREES),
    "a map over its vectors by force": Case("words map wv.vec --out wv.vec --force", (".png",), 2, given=TREES),
    "a map in no folder": Case("words map wv.vec --out no/map.png", ("There is no folder no",), given=TREES),
    "converted vectors over a file": Case("convert wv.vec mine.bin", ("mine.bin", *TAKEN), given=MINE | TREES),
    "converted vectors over themselves": Case("convert wv.vec wv.vec", ("wv.vec", *TAKEN), given=TREES),
    "converted vectors of no format": Case("convert wv.vec wv.csv", ("wv.csv", ".vec", ".bin"), 2, given=TREES),
    "converted vectors over a full folder by force": Case(
        "convert wv.vec there --force", ("there", "meta.json"), given=TREES | {"there": folder}
    ),
    "converted vectors over a file by a folder": Case(
        "convert wv.vec there --force", ("there", "no folder"), given=TREES | {"there": "mine"}
    ),
    "a converted run over a folder": Case("convert @gpt there", ("there", *TAKEN), given={"there": folder}),
    "a converted run over other things by force": Case(
        "convert @gpt there --force", ("there", "other things"), given={"there": folder}
    ),
    "a converted run over itself by force": Case("convert @gpt gpt --force", ("gpt", "other things")),
    "a converted run over a corpus by force": Case("convert @gpt good.txt --force", ("good.txt", "no folder")),
    "trained vectors over a file": Case(
        "words train cbow --data good.txt --out mine.vec", ("mine.vec", *TAKEN), given=MINE
    ),
    "trained vectors over a table of another kind": Case(
        "words train cbow --data good.txt --out mine.csv", ("mine.csv", ".vec"), 2
    ),
    "trained vectors over a full folder by force": Case(
        "words train cbow --data good.txt --out there --force", ("there", "meta.json"), given={"there": folder}
    ),
    "debiased vectors over a file": Case(
        "words debias wv.vec --pair man:woman --out mine.bin", ("mine.bin", *TAKEN), given=MINE | TREES
    ),
    "debiased vectors over themselves": Case(
        "words debias wv.vec --pair man:woman --out wv.vec", ("wv.vec", *TAKEN), given=TREES
    ),
    "curves over a page": Case(
        "words curve cbow --over dim=2 --data good.txt --benchmarks . --out mine.html", TAKEN, given=MINE
    ),
    "curves over a text": Case(
        "words curve cbow --over dim=2 --data good.txt --benchmarks . --out good.txt", ("good.txt", ".html"), 2
    ),
    "a suite over a file": Case(
        "eval @picture --data good.txt --suite latent --out mine.json", ("mine.json", *TAKEN), given=MINE
    ),
    "a suite whose page is there": Case(
        "eval @picture --data good.txt --suite latent --out s.json", ("s.html", *TAKEN), given={"s.html": "mine"}
    ),
    "a suite over a corpus": Case("eval @picture --data good.txt --suite latent --out good.txt", (".json",), 2),
    "a suite that was made before": Case(
        "eval @picture --data good.txt --suite latent", ("latent.json", *TAKEN), given={"picture/latent.json": "{}"}
    ),
    "force without a suite": Case("eval @gpt --data good.txt --force", ("--force", "suite"), 2),
    "a run over a run": Case("train gpt --data good.txt --out @gpt", ("gpt", "holds a run already", "--resume")),
    "a run over a file": Case("train gpt --data good.txt --out good.txt", ("good.txt", "not empty", "--out")),
    "word vectors over a run": Case("train cbow --data good.txt --out @gpt", ("gpt", "holds a run already")),
    "a comparison over other things": Case(
        "compare cbow glove --data good.txt --out there", ("there", "not empty"), given={"there": folder}
    ),
    "a comparison into a file": Case("compare cbow glove --data good.txt --out good.txt", ("good.txt", "not empty")),
    # ---- one process at a time ----
    "a run that is trained on another computer": Case(
        "train --out @gpt --resume",
        ("process 4711", "elsewhere", "2026-01-02 03:04:05", "remove gpt/.lock"),
        given={"gpt/results.json": unfinished, "gpt/.lock": lock_of_another_computer},
    ),
    # ---- what was written is what is read ----
    "weights with a bit that changed": Case(
        "generate @gpt the", ("gpt/model.safetensors", "damaged"), given={"gpt/model.safetensors": flipped}
    ),
    "weights that were cut short": Case(
        "eval @gpt --data good.txt", ("gpt/model.safetensors", "damaged"), given={"gpt/model.safetensors": truncated}
    ),
    "weights that are not numbers": Case(
        "eval @gpt --data good.txt", ("gpt/model.safetensors", "not numbers"),
        given={"gpt/model.safetensors": with_value(np.nan)},
    ),
    "weights that are infinite": Case(
        "generate @gpt the", ("gpt/model.safetensors", "infinite"),
        given={"gpt/model.safetensors": with_value(np.inf)}
    ),
    "weights that are infinite, converted": Case(
        "convert @gpt there", ("gpt", "not numbers"), given={"gpt/model.safetensors": with_value(-np.inf)}
    ),
    "weights that are not numbers, to start from": Case(
        "train gpt --data good.txt --from @gpt --out new", ("gpt/model.safetensors", "not numbers"),
        given={"gpt/model.safetensors": with_value(np.nan)},
    ),
    "frequencies that changed": Case(
        "eval @gpt --data good.txt", ("gpt/unigrams.npy", "damaged"), given={"gpt/unigrams.npy": flipped}
    ),
    "frequencies that were cut short": Case(
        "eval @gpt --data good.txt", ("gpt/unigrams.npy", "bytes"), given={"gpt/unigrams.npy": truncated}
    ),
    "no frequencies": Case(
        "eval @gpt --data good.txt", ("gpt/unigrams.npy", "missing"), given={"gpt/unigrams.npy": Path.unlink}
    ),
    "another tokenizer": Case(
        "generate @gpt the", ("gpt/tokenizer.json", "not this run's own"),
        given={"gpt/tokenizer.json": other_tokenizer}
    ),
    "another tokenizer, measured": Case(
        "eval @gpt --data good.txt", ("gpt/tokenizer.json",), given={"gpt/tokenizer.json": other_tokenizer}
    ),
    "another tokenizer, asked for tokens": Case(
        "tokenize @gpt the", ("gpt/tokenizer.json",), given={"gpt/tokenizer.json": other_tokenizer}
    ),
    "another tokenizer, converted": Case(
        "convert @gpt there", ("gpt/tokenizer.json",), given={"gpt/tokenizer.json": other_tokenizer}
    ),
    "labels in another order": Case(
        "classify @bow 'She sings .'", ("labels.json", "not this run's own"),
        given={"bow/label-labels.json": swapped_labels}
    ),
    "vectors that are not numbers": Case(
        "words nearest wv cat", ("wv", "'the'", "not finite"),
        given={"wv": vectors, "wv/vectors.npy": lambda path: np.save(path, np.full((8, 4), np.nan, np.float32))},
    ),
    "vectors that are fewer than their words": Case(
        "words nearest wv cat", ("wv", "vectors.npy", "rows"),
        given={"wv": vectors, "wv/vectors.npy": lambda path: np.save(path, np.ones((7, 4), np.float32))},
    ),
}  # fmt: skip
