"""Files as people have them, and what is wrong with some of them."""

import gzip
import zipfile
from pathlib import Path

from tests.wrong.case import WRONG_USAGE, Case

TRAIN = "train gpt --out run --set train.steps=1 --data"
PAIRS = "train transformer --out run --set train.steps=1 --data"
VECTORS = "words train skipgram --out v.vec --data"


def zipped(path: Path, **members: bytes | str) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/").replace("_", "."), content)


def cut_zip(path: Path) -> None:
    zipped(path, a_txt="text\n" * 1000)
    path.write_bytes(path.read_bytes()[:-40])


def damaged_zip(path: Path) -> None:
    zipped(path, a_txt="".join(f"{n * n} text\n" for n in range(5000)))
    data = bytearray(path.read_bytes())
    data[2000:2100] = bytes(100)
    path.write_bytes(data)


def encrypted_zip(path: Path) -> None:
    zipped(path, a_txt="text\n")
    data = bytearray(path.read_bytes())
    data[6] |= 1  # the flag of the member, and of its entry in the list
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)


def unknown_packing(path: Path) -> None:
    zipped(path, a_txt="text\n")
    data = bytearray(path.read_bytes())
    data[8] = data[data.index(b"PK\1\2") + 10] = 97
    path.write_bytes(data)


def parquet(**columns: list[object]):
    def made(path: Path) -> None:
        import pyarrow
        import pyarrow.parquet

        pyarrow.parquet.write_table(pyarrow.table(columns), path)

    return made


def cut_parquet(path: Path) -> None:
    parquet(text=["one", "two"])(path)
    path.write_bytes(path.read_bytes()[:-10])


def loop(path: Path) -> None:
    path.symlink_to(path)


CASES = {
    # ---- several, folders, patterns ----
    "the second of two is not there": Case(f"{TRAIN} good.txt --data gone.txt", ("gone.txt", "no such file")),
    "a misspelt one of two": Case(f"{TRAIN} good.txt --data god.txt", ("god.txt", "good.txt")),
    "two formats": Case(
        f"{TRAIN} good.txt --data a.tsv", ("several formats", "good.txt", "a.tsv"), given={"a.tsv": "a\tb\n"}
    ),
    "an empty folder": Case(f"{TRAIN} texts", ("texts", "no files"), given={"texts": lambda path: path.mkdir()}),
    "an empty folder, checked": Case(
        "check texts", ("texts", "no files"), given={"texts": lambda path: path.mkdir()}
    ),
    "a folder of folders": Case(f"{TRAIN} t", ("t", "no files"), given={"t/a/b": lambda path: path.mkdir()}),
    "a folder of pictures": Case(
        f"{TRAIN} t", ("t", "no text", "2 .png"), given={"t/a.png": b"\x89PNG\0", "t/b.png": b"\x89PNG\0"}
    ),
    "a folder of hidden files": Case("check t", ("t", "hidden"), given={"t/.a.txt": "text\n"}),
    "a folder of empty files": Case("check t", ("t", "1 empty"), given={"t/a.txt": ""}),
    "a folder of blank files": Case("check t", ("t", "1 empty"), given={"t/a.txt": "\n\n"}),
    "a folder of office files": Case("check t", ("t", ".docx"), given={"t/a.docx": b"PK\3\4\0"}),
    "a folder of mixed formats": Case(
        f"{TRAIN} t", ("t", "several formats"), given={"t/a.txt": "a\n", "t/b.jsonl": '{"text": "b"}\n'}
    ),
    "a folder with a text that is none": Case(
        "check t", ("t/b.txt", "line 1", "Latin-1"), given={"t/a.txt": "fine\n", "t/b.txt": b"caf\xe9\n"}
    ),
    "a run as text": Case(f"{TRAIN} @gpt", ("gpt", "several formats")),
    "a pattern that fits nothing": Case(f"{TRAIN} 'texts/*.txt'", ("texts/*.txt", "no file fits")),
    "a pattern that fits folders only": Case("check 't*'", ("t*", "no file fits"), given={"t1/x.png": b"\0"}),
    "a pattern over formats": Case("check '*.*'", ("several formats",), given={"b.csv": "text\na\n"}),
    "an unclosed bracket": Case("check 'good[.txt'", ("good[.txt", "no file fits")),
    "patterns for sentences": Case("sentences 'x*.txt'", ("x*.txt", "no file fits")),
    "a pattern for a tokenizer": Case("tokenize 'x*.txt' --train bpe --out t.json", ("x*.txt", "no file fits")),
    "a pattern for held-out text": Case(f"{TRAIN} good.txt --valid 'v*.txt'", ("v*.txt", "no file fits")),
    "a folder to test on, empty": Case(
        f"{TRAIN} good.txt --test t", ("t", "no files"), given={"t": lambda path: path.mkdir()}
    ),
    "a folder to evaluate on, empty": Case(
        "eval @gpt --data t", ("t", "no files"), given={"t": lambda path: path.mkdir()}
    ),
    "several for a suite": Case(
        "eval @gpt --suite latent --data good.txt --data good.txt", ("one --data",), WRONG_USAGE
    ),
    "a link to itself": Case("check me.txt", ("me.txt",), given={"me.txt": loop}),
    "no name": Case(f"{TRAIN} ''", ("--data",), WRONG_USAGE),
    # ---- archives ----
    "a zip that was cut": Case(f"{TRAIN} a.zip", ("a.zip", "damaged"), given={"a.zip": cut_zip}),
    "a zip that is none": Case("check a.zip", ("a.zip", "rename it"), given={"a.zip": "plain text\n"}),
    "a zip of nothing": Case("check a.zip", ("a.zip", "no files"), given={"a.zip": zipped}),
    "an empty zip file": Case("check a.zip", ("a.zip", "damaged"), given={"a.zip": b""}),
    "a damaged member": Case("check a.zip", ("a.zip/a.txt", "damaged"), given={"a.zip": damaged_zip}),
    "an encrypted member": Case(f"{TRAIN} a.zip", ("a.zip", "a.txt", "encrypted"), given={"a.zip": encrypted_zip}),
    "a zip bomb": Case(
        f"{TRAIN} a.zip",
        ("a.zip", "a.txt", "bomb"),
        given={"a.zip": lambda path: zipped(path, a_txt=b"a" * (40 << 20))},
    ),
    "packed in an unknown way": Case(
        "check a.zip", ("a.zip", "a.txt", "cannot be read"), given={"a.zip": unknown_packing}
    ),
    "a zip of pictures": Case(
        "check a.zip", ("a.zip", "no text", ".png"), given={"a.zip": lambda path: zipped(path, a_png=b"\0\0")}
    ),
    "a zip in a zip": Case(
        "check a.zip", ("a.zip", ".zip in a .zip"), given={"a.zip": lambda path: zipped(path, b_zip=b"PK")}
    ),
    "a zip of several formats": Case(
        f"{TRAIN} a.zip",
        ("a.zip", "several formats"),
        given={"a.zip": lambda path: zipped(path, a_txt="a\n", b_csv="text\na\n")},
    ),
    "a member that is not there": Case(
        "check a.zip/c.txt", ("a.zip", "c.txt", "no member"), given={"a.zip": lambda path: zipped(path, a_txt="a\n")}
    ),
    "a member in Latin-1": Case(
        "check a.zip",
        ("a.zip/a.txt", "line 1", "unzip -p a.zip a.txt | iconv"),
        given={"a.zip": lambda path: zipped(path, a_txt=b"caf\xe9\n")},
    ),
    "names that lead out of the zip": Case(
        "check a.zip", ("a.zip", "no files"), given={"a.zip": lambda path: zipped(path, **{"..__a_txt": "a\n"})}
    ),
    "bz2 that is none": Case("check a.txt.bz2", ("a.txt.bz2",), given={"a.txt.bz2": "plain\n"}),
    "a tar": Case("check a.tar", ("a.tar", "unpack"), given={"a.tar": b"\0" * 600}),
    "a gz in a gz's name only": Case(
        f"{VECTORS} a.txt", ("a.txt", ".gz"), given={"a.txt": gzip.compress(b"some text\n")}
    ),
    # ---- tables ----
    "an unclosed quotation mark": Case(
        f"{TRAIN} a.csv", ("a.csv", "line 3", "never closed"), given={"a.csv": 'text\nfine\n"not closed\nmore\n'}
    ),
    "an unclosed quotation mark, checked": Case(
        "check a.csv", ("a.csv", "never closed"), given={"a.csv": 'text\n"not closed\n' + "x\n" * 500}
    ),
    "a quotation mark inside": Case(
        f"{TRAIN} a.csv", ("a.csv", "line 2", "double"), given={"a.csv": 'text\n"a" b\n'}
    ),
    "a field without end": Case(
        f"{TRAIN} a.csv", ("a.csv", "never closed"), given={"a.csv": 'text\n"' + "word\n" * 250_000}
    ),
    "no column of that name": Case(
        f"{TRAIN} a.csv", ("a.csv", "line 1", "text", "review"), given={"a.csv": "id,review\n1,fine\n"}
    ),
    "a misspelt column": Case(
        f"{TRAIN} a.csv --set 'data.columns={{text=\"revew\"}}'",
        ("a.csv", "revew", "review"),
        given={"a.csv": "id,review\n1,fine\n"},
    ),
    "a row that is too short": Case(
        f"{TRAIN} a.csv", ("a.csv", "line 3", "field 2"), given={"a.csv": "id,text\n1,fine\n2\n"}
    ),
    "a header and nothing else": Case(f"{TRAIN} a.csv", ("a.csv", "header"), given={"a.csv": "id,text\n"}),
    "an empty table": Case(f"{TRAIN} a.csv", ("a.csv", "empty"), given={"a.csv": ""}),
    "pairs without a target": Case(
        f"{PAIRS} a.csv", ("a.csv", "target"), given={"a.csv": "source,other\nein Haus,a house\n"}
    ),
    "plain text for pairs": Case(f"{PAIRS} good.txt", ("good.txt", "source, target", ".tsv"), WRONG_USAGE),
    "vectors of a table without text": Case(
        f"{VECTORS} a.csv", ("a.csv", "text"), given={"a.csv": "id,review\n1,fine\n"}
    ),
    "a column of numbers beyond the row": Case(
        f"{TRAIN} a.csv --set 'data.columns={{text=\"7\"}}'", ("a.csv", "'7'"), given={"a.csv": "id,text\n1,fine\n"}
    ),
    "parquet without text": Case(
        f"{TRAIN} a.parquet", ("a.parquet", "text", "review"), given={"a.parquet": parquet(review=["a", "b"])}
    ),
    "parquet of numbers": Case(
        f"{TRAIN} a.parquet", ("a.parquet", "number"), given={"a.parquet": parquet(text=[1, 2])}
    ),
    "parquet of nothing": Case(
        f"{TRAIN} a.parquet", ("a.parquet", "nothing"), given={"a.parquet": parquet(text=[None, None])}
    ),
    "parquet that is none": Case("check a.parquet", ("a.parquet", "damaged"), given={"a.parquet": "plain text\n"}),
    "parquet that was cut": Case(f"{TRAIN} a.parquet", ("a.parquet", "damaged"), given={"a.parquet": cut_parquet}),
    "parquet in a gz": Case("check a.parquet.gz", ("a.parquet.gz", "unpack"), given={"a.parquet.gz": b"\x1f\x8b"}),
    "parquet of lists of numbers": Case(
        f"{TRAIN} a.parquet", ("a.parquet", "text", "list"), given={"a.parquet": parquet(text=[[1], [2]])}
    ),
    # ---- encodings ----
    "UTF-16 that was cut": Case(
        f"{TRAIN} a.txt", ("a.txt", "UTF-16", "cut short"), given={"a.txt": "hello\n".encode("utf-16")[:-1]}
    ),
    "UTF-16 that is half a pair": Case(
        "check a.txt", ("a.txt", "UTF-16"), given={"a.txt": b"\xff\xfea\0\x00\xdcb\0"}
    ),
    "UTF-16 without a mark": Case(
        f"{TRAIN} a.txt",
        ("a.txt", "data.encoding=utf-16-le", "iconv -f UTF-16LE"),
        given={"a.txt": "hello world\n".encode("utf-16-le")},
    ),
    "Windows-1252": Case(
        f"{TRAIN} a.txt",
        ("a.txt", "line 2", "data.encoding=cp1252", "iconv -f WINDOWS-1252 -t UTF-8 a.txt > a.utf8.txt"),
        given={"a.txt": b"fine\n\x93quoted\x94\n"},
    ),
    "Latin-1 in a name with spaces": Case(
        "check 'my text.txt'",
        ("iconv -f ISO-8859-1 -t UTF-8 'my text.txt' > 'my text.utf8.txt'",),
        given={"my text.txt": b"caf\xe9\n"},
    ),
    "an encoding that there is not": Case(
        f"{TRAIN} a.txt --set data.encoding=cp1525",
        ("data.encoding", "cp1525", "cp1252"),
        WRONG_USAGE,
        given={"a.txt": "a\n"},
    ),
    "an encoding of bytes": Case("check good.txt --encoding zlib", ("zlib", "data.encoding"), WRONG_USAGE),
    "the wrong encoding": Case(
        "check a.txt --encoding ascii", ("a.txt", "line 1", "ascii"), given={"a.txt": b"caf\xe9\n"}
    ),
    "UTF-8 that turns into Latin-1": Case(
        "check a.txt --encoding latin-1",
        ("a.txt", "line 200001"),
        given={"a.txt": "é\n".encode() * 200_000 + b"caf\xe9\n"},
    ),
    # ---- standard input ----
    "nothing on standard input": Case(f"{TRAIN} -", ("Standard input is empty",)),
    "nothing on standard input, checked": Case("check -", ("Standard input is empty",)),
    "blank standard input": Case("sentences -", ("standard-input", "empty"), stdin="\n \n"),
    "nothing to learn vectors from": Case(f"{VECTORS} -", ("Standard input is empty",)),
    # ---- sentences, words ----
    "sentences over a file": Case("sentences good.txt --out good.txt", ("good.txt", "exists already")),
    "sentences of a folder of pictures": Case("sentences t", ("t", "no text"), given={"t/a.png": b"\0"}),
    "sentences as a stream": Case(
        f"{TRAIN} good.txt --split-sentences --set data.unit=stream", ("data.split_sentences", "stream"), WRONG_USAGE
    ),
    "sentences of pairs": Case(
        f"{PAIRS} a.tsv --split-sentences", ("data.split_sentences",), WRONG_USAGE, given={"a.tsv": "a\tb\n"}
    ),
    "an unknown way to cut words": Case(f"{VECTORS} good.txt --set split=elisions", ("words.split",), WRONG_USAGE),
}
