"""Windows that there cannot be, scores by position of what predicts no next token, lists of no length."""

from tests.wrong.case import WRONG_USAGE, Case

EVAL = "eval @gpt --data good.txt"

CASES = {
    "a window longer than the context": Case(f"{EVAL} --window 33", ("32 tokens", "--window", "33"), WRONG_USAGE),
    "a window of no number": Case(f"{EVAL} --window many", ("--window", "integer"), WRONG_USAGE),
    "a window below nothing": Case(f"{EVAL} --window=-3", ("--window", "0"), WRONG_USAGE),
    "a stride without a window": Case(f"{EVAL} --stride 4", ("--stride", "--window N"), WRONG_USAGE),
    "a stride that leaves tokens out": Case(f"{EVAL} --window 8 --stride 9", ("8 tokens", "9"), WRONG_USAGE),
    "a classifier by position": Case(
        "eval @classifier --data good.txt --by-position", ("classifier", "--by-position"), WRONG_USAGE
    ),
    "a window for masked tokens": Case("eval @bert --data good.txt --window 8", ("bert", "--window"), WRONG_USAGE),
    "a picture by position as text": Case(f"{EVAL} --by-position --out a.txt", ("a.txt", ".png"), WRONG_USAGE),
    "a picture of nothing": Case(f"{EVAL} --out a.png", ("--out", "--by-position"), WRONG_USAGE),
    "a picture in the place of a text": Case(
        f"{EVAL} --by-position --out a.png", ("a.png", "--force"), given={"a.png": b"mine"}
    ),
    "a window of a suite": Case(f"{EVAL} --suite meaning --window 8", ("--window", "suites"), WRONG_USAGE),
    "lists of three tokens": Case("train classifier --data listops:3 --out o", ("listops:3", "from 4"), WRONG_USAGE),
    "lists without a length": Case("train classifier --data listops --out o", ("listops", "listops:100")),
    "lists for a tagger": Case(
        "train tagger --data listops:20 --out o", ("listops:20", "tokens and tags", "text and label"), WRONG_USAGE
    ),
    "a first window as long as the others": Case(
        "train shortformer --data good.txt --out o --set train.short_window=64 --set train.batch_tokens=128",
        ("train.short_window = 64", "64"),
        WRONG_USAGE,
    ),
    "a memory below nothing": Case(
        "train transformer-xl --data good.txt --out o --set model.memory=-1", ("model.memory", "-1"), WRONG_USAGE
    ),
    "heads that do not share the width": Case(
        "train transformer-xl --data good.txt --out o --set model.heads=3", ("model.dim", "model.heads = 3")
    ),
}
