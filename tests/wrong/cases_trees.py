"""Trees in brackets that are none."""

from tests.wrong.case import WRONG_USAGE, Case

GOOD = "(1 (0 It) (1 works))\n"
TRAIN = "train recursive --data {} --out runs/a --set train.steps=1"


def training(text: str, *names: str) -> Case:
    return Case(TRAIN.format("a.trees"), ("a.trees", *names), given={"a.trees": text})


CASES = {
    "a tree that is not closed": training(GOOD + "(1 (0 It)\n" + GOOD, "line 2, column 1", "closing bracket"),
    "a bracket too many": training(GOOD + "(1 (0 It) (1 works)))\n", "line 2, column 21", "closes nothing"),
    "a node without words": training(GOOD + "(1 (0) (1 works))\n", "line 2, column 6", "(0) is empty"),
    "a word without a node": training(GOOD + "(1 It (1 works))\n", "line 2, column 7", "'It'"),
    "two trees on a line": training(GOOD.strip() + " " + GOOD, "line 1, column 22", "new line"),
    "text between trees": training(GOOD + "It works .\n", "line 2, column 1", "'It' stands outside"),
    "text that is no tree": Case(
        TRAIN.format("good.txt"), ("good.txt", "line 1, column 1", "'the' stands outside any tree")
    ),
    "a field that trees have not": Case(
        TRAIN.format("a.trees") + ' --set \'data.columns={tokens="tokens",tree="treee"}\'',
        ("treee", "tree"),
        given={"a.trees": GOOD},
        code=WRONG_USAGE,
    ),
    "a text and its label in the place of a tree": Case(
        TRAIN.format("a.tsv"), ("a.tsv, line 1", "no tree", "'1'", ".trees"), given={"a.tsv": "It works\t1\n" * 9}
    ),
    "words in the place of a tree": Case(
        TRAIN.format("a.jsonl"),
        ("a.jsonl, line 1", "no tree", "['x', 'y']", ".trees"),
        given={"a.jsonl": '{"tokens": ["It", "works"], "tree": ["x", "y"]}\n' * 9},
    ),
    "no brackets to classify": Case("classify @recursive 'It works'", ("tree in brackets", "'It' stands outside")),
    "one of several is no tree": Case(
        "classify @recursive '(0 it)' '(0 (0 it)'", ("Text 2", "column 1", "closing bracket")
    ),
    "word weights of a tree": Case(
        "classify @recursive --words 3 '(0 it)'", ("weight", "bag of words"), code=WRONG_USAGE
    ),
    "a drawing of what is no tree": Case(
        "classify @bow 'It works' --svg a.svg", ("drawn", "trees"), code=WRONG_USAGE
    ),
    "a drawing of another kind than SVG": Case(
        "parse @constituency 'It works' --svg a.png", ("a.png", "SVG", "tree.svg"), code=WRONG_USAGE
    ),
    "a sentence of no words to parse": Case("parse @constituency ' '", ("no words to parse",)),
    "a sentence too long to parse": Case(f"parse @constituency '{'it ' * 301}'", ("301 words", "at most 300")),
}
