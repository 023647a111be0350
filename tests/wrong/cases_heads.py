"""Files of dependency trees, and parsers asked for what they cannot do."""

from tests.wrong.case import WRONG_USAGE, Case

TRAIN = "train parser --out run --set train.steps=1 --set 'data.split=[1.0]' --data"
FINE = "1\tDogs\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\trun\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


def second(*heads: str, ids: tuple[str, ...] = ()) -> dict[str, str]:
    """A file whose second sentence has these heads, from line 5 on: a remark stands in line 4."""
    numbers = ids or tuple(map(str, range(1, len(heads) + 1)))
    rows = (f"{n}\tword{n}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n" for n, head in zip(numbers, heads, strict=True))
    return {"a.conllu": FINE + "# sent_id = 2\n" + "".join(rows) + "\n"}


def heads(*given: str, names: tuple[str, ...], ids: tuple[str, ...] = ()) -> Case:
    return Case(f"{TRAIN} a.conllu", ("a.conllu", "line 5", *names), given=second(*given, ids=ids))


CASES = {
    "a head outside its sentence": heads("2", "0", "7", names=("word 3", "'word3'", "head 7", "3 words")),
    "a head that is no number": heads("2", "root", names=("word 2", "'root'", "number")),
    "a head that is missing": heads("2", "_", names=("word 2", "none for a head")),
    "a negative head": heads("0", "-1", names=("word 2", "'-1'")),
    "two roots": heads("0", "0", names=("word 2", "word 1", "one root")),
    "no root": heads("2", "1", names=("1 → 2 → 1", "no word has the head 0")),
    "a cycle beside a root": heads("0", "3", "2", names=("word 2", "2 → 3 → 2")),
    "a word that is its own head": heads("0", "2", names=("word 2", "2 → 2")),
    "the head of a contraction counted as a word": heads(
        "2", "0", "_", "5", ids=("1", "2", "2.1", "3"), names=("word 3", "head 5", "3 words")
    ),
    "a file without heads": Case(
        f"{TRAIN} a.conllu", ("a.conllu", "line 1", "'head'"), given={"a.conllu": "1\tDogs\tdog\tNOUN\n\n"}
    ),
    "a tree that is cut short": Case(
        f"{TRAIN} a.conllu",
        ("a.conllu", "line 3", "column 3"),
        given={"a.conllu": FINE.rstrip("\n") + "\n3\t.\t_\n\n"},
    ),
    "trees of a file of tags": Case(
        f"{TRAIN} a.conll",
        ("heads", "relations", "data.columns"),
        WRONG_USAGE,
        given={"a.conll": "Dogs N\nrun V\n\n"},
    ),
    "heads that do not fit their words": Case(
        f"{TRAIN} a.jsonl",
        ("a.jsonl, line 1", "2 words", "3 heads"),
        given={"a.jsonl": '{"tokens": "Dogs run", "heads": [2, 0, 2], "relations": "a b c", "tags": "a b c"}\n'},
    ),
    "a number in the place of a list of heads": Case(
        f"{TRAIN} a.jsonl",
        ("a.jsonl, line 1", "2 words", "1 heads"),
        given={"a.jsonl": '{"tokens": "Dogs run", "heads": 2, "relations": "a", "tags": 3}\n'},
    ),
    "parse of nothing": Case("parse @parser", ("--file",), WRONG_USAGE),
    "parse of a blank text": Case("parse @parser ' '", ("no words to parse",)),
    "parse of a whole book": Case(f"parse @parser '{'word ' * 400}'", ("400 words", "one sentence at a time")),
    "parse by a tagger": Case("parse @tagger 'She sings .'", ("tagger", "parse", "can:")),
    "tags of a parser": Case("tag @parser 'She sings .'", ("parser", "tag", "can:")),
    "a drawing over a file": Case("parse @parser 'She sings .' --svg good.svg", ("exists",), given={"good.svg": "x"}),
    "several drawings in one file": Case(
        "parse @parser 'She sings .' 'He slept .' --svg a.svg", ("a.svg", "folder"), WRONG_USAGE
    ),
    "a drawing nowhere": Case("parse @parser 'She sings .' --svg no/a.svg", ("no folder", "a.svg")),
}
