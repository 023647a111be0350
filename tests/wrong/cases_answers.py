"""What abilities and verbs cannot answer: texts, numbers, files, pictures and runs that make no sense for them."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

from tests.wrong.case import WRONG_USAGE, Case

NO_TEXT = ("no text", "--file", "standard input")
LONG = " ".join(["dog"] * 5000)
UNDERSTANDING = "eval @bert --suite understanding"


def saved(array: np.ndarray):
    """A .npy file."""

    def make(path: Path) -> None:
        np.save(path, array)

    return make


def picture(kind: str, side: int = 64, **options: object) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (side, side), (9, 99, 199)).save(buffer, kind, **options)
    return buffer.getvalue()


def usage(command: str, *names: str, **more) -> Case:
    return Case(command, names, code=WRONG_USAGE, **more)


def failed(command: str, *names: str, **more) -> Case:
    return Case(command, names, **more)


NOTHING_ASKED = {
    f"{verb} of nothing": usage(f"{verb} @{run}", *NO_TEXT)
    for verb, run in {
        "generate": "gpt",
        "complete": "gpt",
        "score": "gpt",
        "rank": "gpt",
        "fill": "bert",
        "translate": "transformer",
        "classify": "bow",
        "tag": "tagger",
        "estimate": "regressor",
        "choose": "choices",
        "look --gradients": "lstm-lm",
        "tokenize": "gpt",
        "solve": "picture",
        "blend": "picture",
        "encode --json": "picture",
        "words nearest": "skipgram",
        "words similarity": "skipgram",
        "words analogy": "skipgram",
        "words outlier": "skipgram",
    }.items()
}
TWO_WAYS = {
    f"{verb} of arguments and a file": usage(f"{verb} @{run} the --file good.txt", "--file", "both")
    for verb, run in {"score": "gpt", "fill": "bert", "tag": "tagger", "classify": "bow", "tokenize": "gpt"}.items()
}
MISSING_FILE = {
    f"{verb} of a file that is not there": failed(f"{verb} @{run} --file nowhere.txt", "nowhere.txt", "no such file")
    for verb, run in {"generate": "gpt", "score": "gpt", "translate": "transformer", "tag": "tagger"}.items()
}
NO_RUN = {
    f"{verb} by no run": failed(f"{verb} nowhere the", "nowhere")
    for verb in (
        "generate",
        "score",
        "fill",
        "tag",
        "classify",
        "estimate",
        "translate",
        "encode --json",
        "info",
        "words nearest",
    )
    if verb != "info"
} | {"info of no run": failed("info nowhere", "nowhere")}
CANNOT = {
    f"{run} asked to {verb}": failed(f"{verb} @{run} {rest}", run, verb, "can:")
    for verb, run, rest in (
        ("generate", "bert", "the"),
        ("complete", "bow", "the"),
        ("translate", "gpt", "the"),
        ("fill", "gpt", "the"),
        ("tag", "gpt", "the"),
        ("classify", "tagger", "the"),
        ("estimate", "bow", "[[1,2]]"),
        ("encode", "gpt", "the --json"),
        ("sample", "bert", ""),
        ("rank", "picture", "a b"),
        ("solve", "gpt", "a"),
        ("neighbours", "gpt", "a --among good.txt"),
        ("read", "gpt", "good.txt"),
    )
}
NUMBERS = {
    "beam 0": usage("generate @gpt the --beam 0", "--beam"),
    "a beam wider than memory": usage("complete @gpt the --beam 1000000000", "--beam"),
    "a negative count": usage("generate @gpt the -n -1", "--count"),
    "count 0": usage("sample @picture -n 0", "--count"),
    "a huge count": usage("sample @picture -n 99999999999", "--count"),
    "no new tokens": usage("generate @gpt the --max-new 0", "--max-new"),
    "more new tokens than memory": usage("generate @gpt the --max-new 99999999999", "--max-new"),
    "temperature nan": usage("generate @gpt the --temperature nan", "temperature", "nan"),
    "temperature inf": usage("generate @gpt the --temperature inf", "temperature", "inf"),
    "a negative temperature": usage("generate @gpt the --temperature -1", "temperature", "-1"),
    "a temperature in words": usage("generate @gpt the --temperature warm", "--temperature", "number"),
    "top-p 2": failed("generate @gpt the --top-p 2", "top_p", "2"),
    "top-p nan": failed("generate @gpt the --top-p nan", "top_p", "nan"),
    "top-k -1": usage("generate @gpt the --top-k -1", "--top-k"),
    "a negative seed": usage("generate @gpt the --seed -1", "--seed"),
    "several best texts": usage("generate @gpt the -n 2 --beam 3", "--beam", "--count"),
    "alpha nan": usage("complete @gpt the --alpha nan", "alpha", "nan"),
    "no endings": usage("complete @gpt the --n-best 0", "--n-best"),
    "fillings -k 0": usage("fill @bert 'a <mask>' -k 0", "-k"),
    "neighbours -k 0": usage("neighbours @picture the --among good.txt -k 0", "-k"),
    "search -k 0": usage("search good.txt the -k 0", "-k"),
    "blend in one step": usage("blend @picture a b --steps 1", "--steps"),
    "a component below 0": usage("sample @picture --component -1", "--component"),
    "sampling at nan": usage("sample @picture --temperature nan", "temperature", "nan"),
    "noise nan": failed("solve @picture 'She sings .' --noise nan", "noise"),
    "words -k 0": usage("words nearest @skipgram the -k 0", "--count"),
    "beams in words": usage("diagnose @gpt --file good.txt --beams one,two", "--beams", "one,two"),
    "diagnose nothing": usage("diagnose @gpt --file good.txt --limit 0", "--limit"),
}
TEXTS = {
    "a gap that is not there": failed("fill @bert 'the dog' ", "no gap", "<mask>"),
    "the second without a gap": failed("fill @bert 'a <mask>' 'the dog'", "Text 2 of 2", "no gap"),
    "nothing to tag": failed("tag @tagger ''", "no words"),
    "an empty text to encode": failed("encode @picture '' --json", "empty"),
    "an empty line to encode": failed("encode @picture --json", "Text 2 of 3", "empty", stdin="a\n\nb\n"),
    "a text too long": failed(f"encode @picture '{LONG}' --json", "tokens", "at most"),
    "a source too long": failed(f"translate @transformer '{LONG}'", "tokens", "at most"),
    "only texts too long to draw": failed(f"pictures @picture '{LONG}' --out drawn", "tokens", "at most"),
    "a translation without its target": failed("score @transformer 'She sings .'", "no target", "tab"),
    "the second pair without its target": failed(
        "score @transformer", "Text 2 of 2", "no target", stdin="a\tb\nShe sings .\n"
    ),
    "the beginning of a translation": usage("score @transformer 'a\tb' --prefix", "--prefix"),
    "the beginning of a sentence": usage("score @picture 'She sings .' --prefix", "--prefix"),
    "a sum that cancels": failed("solve @picture 'She sings . - She sings .'", "cancels to nothing"),
    "a sum that is empty": failed("solve @picture ''", "empty"),
    "a blend of one": usage("blend @picture 'She sings .'", "two texts"),
    "a blend of four without weights": usage("blend @picture a b c d", "weights"),
    "weights in words": usage("blend @picture a b --weights half,half", "--weights", "half"),
    "ranked by luck": usage("rank @gpt a b --by luck", "luck", "gain"),
    "weat without a set": usage("weat @bert -x the -y a -b cat", "-a"),
    "weat with an empty set": usage("weat @bert -x the -y a -a , -b cat", "set A"),
    "a template without a place": usage("weat @bert -x the -y a -a dog -b cat --template 'It is .'", "{}", "It is ."),
    "templates for words": usage("weat @skipgram -x the -y a -a dog -b cat --template 'It is {}.'", "--template"),
    "weat of a language model": failed("weat @gpt -x the -y a -a dog -b cat", "vectors of texts", "generate"),
    "more words for a language model": failed("expand @gpt good.txt --out wide", "sentence encoders"),
    "meaning of a language model": usage("eval @gpt --suite meaning --data .", "encode texts", "generate"),
    "meaning without its sets": failed("eval @bert --suite meaning --data good.txt", "sts-b", "sick"),
    "meaning with a judge": usage("eval @bert --suite meaning --data . --judge @gpt", "--judge", "latent"),
    "an unknown task": usage(f"{UNDERSTANDING} --data grammar --tasks pronoun", "'pronoun'", "'pronouns'"),
    "a task without its file": failed(f"{UNDERSTANDING} --data . --tasks rte", "rte", "train.tsv"),
    "a task without files at all": usage(f"{UNDERSTANDING} --data grammar --tasks rte", "rte", "--data"),
    "tasks in no folder": usage(f"{UNDERSTANDING} --data nowhere", "nowhere", "grammar"),
    "more labels than there are": usage(
        f"{UNDERSTANDING} --data grammar --tasks pronouns --labels 9999", "1,600", "9,999"
    ),
    "labels in words": usage(f"{UNDERSTANDING} --data grammar --labels few", "--labels", "few"),
    "an unknown key of fine-tuning": usage(
        f"{UNDERSTANDING} --data grammar --tasks pronouns --set train.step=1", "train.step", "train.steps"
    ),
    "a model of nothing to understand": usage(
        "eval @regressor --suite understanding --data grammar", "regressor", "part"
    ),
    "tasks of no suite": usage("eval @bert --data good.txt --tasks trec", "--tasks", "understanding"),
    "tasks of another suite": usage("eval @bert --suite meaning --data . --tasks trec", "--tasks", "understanding"),
    "a suite that is none": usage("eval @bert --suite means --data .", "means", "meaning"),
    "one word of two": usage("words similarity @skipgram the", "two words"),
    "two words of three": usage("words analogy @skipgram the a", "three words"),
    "a line with two words of three": usage("words analogy @skipgram", "line 1", "three words", stdin="the a\n"),
    "a word without a vector": failed("words nearest @skipgram zzyzx", "zzyzx"),
    "nothing to look for": usage("search good.txt ''", "nothing to look for"),
    "nowhere to look": usage("search cats", "where to look", "cats"),
}
FILES = {
    "vectors without a place": usage("encode @picture the", "--out", "--json"),
    "vectors in another format": usage("encode @picture the --out vectors.txt", "vectors.txt", ".npy"),
    "pictures without a place": usage("pictures @picture the", "--out"),
    "texts and vectors to draw": usage("pictures @picture the --vectors v.npy --out drawn", "--vectors"),
    "no vectors": failed("decode @picture nowhere.npy", "nowhere.npy"),
    "vectors that are text": failed("decode @picture good.txt", "good.txt", ".npy"),
    "vectors of another model": failed(
        "decode @picture v.npy", "numbers each", "(2, 3)", given={"v.npy": saved(np.ones((2, 3), np.float32))}
    ),
    "vectors of words": failed(
        "decode @picture v.npy", "v.npy", "numbers", given={"v.npy": saved(np.array([["a"]]))}
    ),
    "no picture": failed("read @picture nowhere.png", "nowhere.png"),
    "a picture of another program": failed(
        "read @picture p.png", "p.png", "--any", given={"p.png": lambda path: path.write_bytes(picture("PNG"))}
    ),
    "a picture as JPEG": failed(
        "read @picture p.jpg", "p.jpg", "--any", given={"p.jpg": lambda path: path.write_bytes(picture("JPEG"))}
    ),
    "a text as a picture": failed("read @picture good.txt --any", "good.txt", "no picture"),
    "a picture cut short": failed(
        "read @picture p.png --any", "p.png", given={"p.png": lambda path: path.write_bytes(picture("PNG")[:90])}
    ),
    "a picture of a hundred million pixels": failed(
        "read @picture p.png --any",
        "p.png",
        "too large",
        given={"p.png": lambda path: Image.new("L", (10_000, 10_000)).save(path)},
    ),
    "neighbours among nothing": usage("neighbours @picture the", "--among"),
    "neighbours in a file that is not there": failed("neighbours @picture the --among nowhere.txt", "nowhere.txt"),
    "an index that is a file of another kind": failed(
        "neighbours @picture the --among good.txt --index good.txt", "good.txt", "no index"
    ),
    "an index that is a run": failed(
        "neighbours @picture the --among good.txt --index gpt", "gpt", "no index", given={"gpt/config.json": "{}"}
    ),
    "an unknown measure": usage("neighbours @picture the --among good.txt --measure luck", "luck", "cosine"),
    "search in a file that is not there": failed("search nowhere.txt the", "nowhere.txt", "no such file"),
    "search in a folder without text": failed("search folder the", "folder", given={"folder/a.png": b"\x89PNG"}),
    "search in bytes": failed("search b.txt the", "b.txt", "UTF-16", given={"b.txt": b"\xff\xfe\x00 the"}),
    "search by two ways": usage("search good.txt the --model gpt --vectors sg", "--vectors", "--model"),
    "an index without a model": usage("search good.txt the --index kept", "--index", "--model"),
    "search by a model without vectors": failed("search good.txt the --model @gpt", "neighbours", "can:"),
    "search by vectors that are not there": failed("search good.txt the --vectors nowhere", "nowhere"),
}
RESUMED = {
    "resume with another learning rate": failed(
        "train --out @gpt --resume --set train.lr=1.0", "train.lr", "train.steps"
    ),
    "resume with another model": failed("train --out @gpt --resume --set model.dim=32", "model.dim"),
    "resume with fewer steps": usage("train --out @gpt --resume --set train.steps=1", "train.steps", "2 steps"),
    "resume by epochs": usage("train --out @gpt --resume --set train.epochs=3", "train.steps", "train.epochs"),
    "resume without checkpoints": failed(
        "train --out @gpt --resume --set train.steps=9",
        "gpt",
        "checkpoints",
        given={"gpt/checkpoints": lambda path: __import__("shutil").rmtree(path)},
    ),
    "finished vectors for longer": failed(
        "train --out @skipgram --resume --set words.epochs=9", "skipgram", "--from"
    ),
    "resumed vectors of another width": failed("train --out @skipgram --resume --set words.dim=9", "words.dim"),
}

CASES = NOTHING_ASKED | TWO_WAYS | MISSING_FILE | NO_RUN | CANNOT | NUMBERS | TEXTS | FILES | RESUMED
