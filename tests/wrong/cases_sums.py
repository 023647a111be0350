"""Sums that cannot be read or made, and tables of them that cannot be replayed."""

from __future__ import annotations

from tests.wrong.case import WRONG_USAGE, Case

LONG = " ".join(["dog"] * 5000)


def solved(expression: str, *names: str) -> Case:
    """A sum that gets a sentence, for it alone."""
    return Case("solve @picture", names, stdin=f"{expression}\n")


def table(content: str | bytes, *names: str) -> Case:
    """A table that gets a sentence with its name."""
    return Case("replay @picture sums.tsv", ("sums.tsv", *names), given={"sums.tsv": content})


SUMS = {
    "a parenthesis that is never closed": solved("0.5 (a - b + c", "parenthesis", "character 5", "never closed"),
    "a parenthesis that was never opened": solved("a - b) + c", "parenthesis", "character 6", "closes none"),
    "a parenthesis in a sentence that is not closed": solved("He ran (fast. - She ran.", "character 8", "closed"),
    "a sentence that begins with a parenthesis": solved("(Softly) he ran.", "character 10", "quotes"),
    "a quote that is never closed": solved('a - "b + c', "quote", "character 5", "never closed"),
    "a typographic quote that is never closed": solved("“a - b", "quote", "character 1", "never closed"),
    "an empty term": solved("a - + b", "no sentence", "'-'", "character 5"),
    "an empty parenthesis": solved("a - ()", "no sentence", "character 6"),
    "empty quotes": solved('a - "" + b', "quotes", "character 5", "no sentence"),
    "a sum that ends with a sign": solved("a +", "no sentence", "'+'"),
    "a term too long": solved(f"a - {LONG} + b", "character 5", "tokens", "at most"),
    "a factor that is a word": solved("half (a - b)", "'half'", "character 1", "no number"),
    "a factor with a comma": solved("a - 0,5 (a - b)", "'0,5'", "character 5", "no number"),
    "a factor that is a fraction": solved('1/2 "a"', "'1/2'", "no number"),
    "a factor that is not finite": solved("nan * a", "factor nan", "character 1"),
    "a factor too large": solved("99999999 A", "factor 99999999", "1000000"),
    "a factor alone": solved("a - 0.5", "0.5", "character 5", "stands alone"),
    "a sum that cancels behind parentheses": solved("2 (She sings .) - 2.0 She sings .", "cancels to nothing"),
    "the second of two sums": Case("solve @picture a '(b'", ("Text 2 of 2", "parenthesis", "character 1")),
}
TABLES = {
    "no table": Case("replay @picture nowhere.tsv", ("nowhere.tsv", "no such file")),
    "an empty table": table("", "empty"),
    "a table of blanks": table("\n \n", "empty"),
    "a table without rows": table("expression\tintended\n", "no rows"),
    "a table without a header": table("He ran .\tShe ran .\n", "line 1", "column is missing", "`expression`"),
    "a table with a column missing": table("from\tto\nHe ran .\tShe ran .\n", "line 1", "'t' is missing"),
    "a table with a misspelt column": table("expresion\tintended\na\tb\n", "line 1", "'expresion'", "'expression'"),
    "a table with a column twice": table("text\ttext\na\tb\n", "line 1", "'text'", "twice"),
    "a row with a cell too many": table("text\tintended\na\tb\nc\td\te\n", "line 3", "3 cells"),
    "a row that asks nothing": table("text\tintended\na\tb\n\tb\n", "line 3", "nothing"),
    "a row that asks two things": table("text\texpression\na\ta - b\n", "line 2", "two experiments"),
    "an interpolation without its end": table("from\tto\tt\na\t\t0.5\n", "line 2", "'to' is empty"),
    "an interpolation at a word": table("from\tto\tt\na\tb\thalf\n", "line 2", "t is 'half'", "number"),
    "a score in words": table("text\tscore\na\tgood\n", "line 2", "score is 'good'", "number"),
    "an unreadable sum in a table": table("expression\na - b\n\na - (b\n", "line 4", "parenthesis", "character 5"),
    "a sum that cancels in a table": table("expression\nShe sings . - She sings .\n", "line 2", "cancels"),
    "the second sum that cancels": table("expression\na\nShe sings . - She sings .\n", "line 3", "cancels"),
    "a sentence too long in a table": table(f"text\na\n{LONG}\n", "line 3", "tokens", "at most"),
    "a table in Latin-1": table("text\nna\xefve\n".encode("latin-1"), "UTF-8"),
    "an unknown spelling": Case(
        "replay @picture sums.tsv --written-as book",
        ("'book'", "books"),
        code=WRONG_USAGE,
        given={"sums.tsv": "text\na\n"},
    ),
    "a page that is there": Case(
        "replay @picture sums.tsv --out page.html",
        ("page.html", "--force"),
        given={"sums.tsv": "text\na\n", "page.html": "mine"},
    ),
    "a page that is no page": Case(
        "replay @picture sums.tsv --out page.png",
        ("page.png", ".html"),
        code=WRONG_USAGE,
        given={"sums.tsv": "text\na\n"},
    ),
    "a model without vectors": Case(
        "replay @gpt sums.tsv", ("gpt", "no sentence vectors"), given={"sums.tsv": "text\na\n"}
    ),
}

CASES = SUMS | TABLES
