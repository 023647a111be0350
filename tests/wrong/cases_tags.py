"""Words and frames with their tags: files that are not what they should be, and tags that do not fit together."""

from tests.wrong.case import Case

GOOD = "She\tPRON\tB-NP\nsings\tVERB\tB-VP\n\n"
SPANS = "--set model.scheme=BIOES --set data.split=[1.0]"


def train(system: str, file: str, *names: str, more: str = "", **given: str) -> Case:
    made = {name.replace("_", "."): content for name, content in given.items()}
    return Case(f"train {system} --data {file} --out out {more} --set train.steps=1", (file, *names), given=made)


def tags(content: str, *names: str, more: str = "") -> Case:
    return train("tagger", "a.conll", *names, more=more, a_conll=content)


CASES = {
    "a line that lacks a column": tags(GOOD * 9 + "He\tPRON\n", "line 28", "ends after column 2", "has 3 columns"),
    "a line with a column too many": tags(GOOD + "He\tPRON\tB-NP\tx\n", "line 4", "column 4", "has 3 columns"),
    "a file of words alone": tags("She\nsings\n\n", "line 1", "at least two columns"),
    "a sentence without end": tags("a\tX\n" * 100_001, "line 100001", "a blank line must end each sentence"),
    "a span that goes on without a beginning": Case(
        f"train tagger --data a.conll --out out {SPANS}",
        ("a.conll, line 7", "inconsistent", "BIO has no I-NP after O (a.conll, line 7, word 2)", "model.scheme"),
        given={"a.conll": "a\tB-NP\nb\tI-NP\nc\tO\n\nd\tO\n\nd\tO\ne\tI-NP\n\n"},
    ),
    "a span that goes on as another one": Case(
        f"train tagger --data a.conll --out out {SPANS}",
        ("a.conll, line 1", "inconsistent", "BIO has no I-VP after B-NP (a.conll, line 1, word 2)"),
        given={"a.conll": "a\tB-NP\nb\tI-VP\n\n" * 9},
    ),
    "a span that BIOES does not end": Case(
        f"train tagger --data a.conll --out out {SPANS}",
        ("a.conll, line 4", "BIOES has no end after B-NP (a.conll, line 4, word 1)"),
        given={"a.conll": "a\tB-NP\nb\tE-NP\n\na\tB-NP\n\n"},
    ),
    "tags that are none of spans": Case(
        f"train tagger --data a.conll --out out {SPANS}",
        ("a.conll, line 1, word 1", "'PRON' is no tag of a span", "model.scheme"),
        given={"a.conll": "She\tPRON\nsings\tVERB\n\n"},
    ),
    "tags of other words": Case(
        "train tagger --data a.jsonl --out out",
        ("a.jsonl, line 2", "2 words and 1 tags"),
        given={"a.jsonl": '{"tokens": ["a", "b"], "tags": ["X", "Y"]}\n{"tokens": ["a", "b"], "tags": ["X"]}\n' * 9},
    ),
    "a number in the place of a list of tags": Case(
        "train tagger --data a.jsonl --out out",
        ("a.jsonl, line 1", "2 words and 1 tags"),
        given={"a.jsonl": '{"tokens": ["a", "b"], "tags": 3}\n' * 9},
    ),
    "own vectors that do not fit": Case(
        "train tagger --data grammar --from a.vec --out out --set data.sentences=200 --set model.vectors=5",
        ("have 3 numbers", "5", "model.vectors"),
        code=2,
        given={"a.vec": "2 3\nthe 1 0 0\nshe 0 1 0\n"},
    ),
    "own vectors that cannot be added": Case(
        "train tagger --data grammar --from a.vec --out out --set data.sentences=200 --set model.joined=summed",
        ("cannot be added", "model.embedding = 3"),
        code=2,
        given={"a.vec": "2 3\nthe 1 0 0\nshe 0 1 0\n"},
    ),
    "frames that are no numbers": Case(
        "train frames --data a.jsonl --out out",
        ("a.jsonl, record 1", "no numbers"),
        given={"a.jsonl": '{"frames": [["a"], ["b"]], "tags": ["X", "Y"]}\n'},
    ),
    "frames of different widths": Case(
        "train frames --data a.jsonl --out out --set data.split=[1.0]",
        ("a.jsonl, line 2", "different shapes", "(2,)", "(1,)"),
        given={"a.jsonl": '{"frames": [[1, 2]], "tags": ["X"]}\n{"frames": [[1]], "tags": ["X"]}\n'},
    ),
    "a sequence that is not there": Case("tag @frames nowhere.npy", ("nowhere.npy", "cannot be read")),
}
