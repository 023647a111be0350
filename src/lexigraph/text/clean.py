"""Clean lines of text by named rules, and by the word counts of a training text.

Every rule is a function of one line; a recipe names the rules and their order. `cleaner` puts them
together, and cleaning twice gives what cleaning once gave. The default order, on one line:

    unicode         composed characters (NFC), without invisible ones such as soft hyphens
    contractions    "don't" → "do nt", "she's" → "she s"
    numbers         "1,000", "3.14", "2nd", "1990s" → "<num>"; "5kg" → "<num> kg"; "mp3" stays a word
    percent_dollar  "5%" → "5 percent", "$5" → "dollar 5"
    space_symbols   "yes,no." → "yes , no ."
    drop_symbols    every other symbol → a space
    lower           lower case
    whitespace      one space between words, none at the ends
    max_tokens      a line of more tokens is dropped
    dictionary      a line with a word outside the dictionary is dropped

>>> clean = cleaner(DEFAULT)
>>> clean("She's paid $1,000 -- don't ask!")
'she s paid dollar <num> do nt ask !'
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, fields

from lexigraph.errors import UsageError
from lexigraph.registry import nearest

LineRule = Callable[[str], "str | None"]  # None drops the line


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the rules."""

    number: str = "<num>"  # what a number becomes: a word or a <word>, in lower case
    symbols: str = ".,!?;:"  # the symbols that stay, as tokens of their own
    max_tokens: int = 50  # the longest line that stays
    dictionary: Collection[str] | None = None  # the words that may occur

    def __post_init__(self) -> None:
        if not re.fullmatch(r"<[a-z]+>|[a-z]+", self.number):
            raise UsageError(f"The cleaning setting number is '{self.number}'; it must be one word in lower case.")
        if not self.symbols or any(unicodedata.category(s)[0] not in "PS" or s in "<>%$'’" for s in self.symbols):
            raise UsageError(
                f"The cleaning setting symbols is '{self.symbols}'; it must list symbols that stay, such as '.,!?', "
                "and no letters, digits, spaces or any of < > % $ '."
            )
        if self.max_tokens < 1:
            raise UsageError(f"The cleaning setting max_tokens is {self.max_tokens}; it must be at least 1.")


# ---- the rules ----

_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")  # soft hyphen, zero-width space, word joiner, byte order mark
_IN_WORD = r"(?:[^\W_]|[\u0300-\u036f])"  # letters, digits, and the accents of a letter that is not composed
_LONE_NOT = re.compile(rf"(?<!{_IN_WORD})(n)['’](t)(?!{_IN_WORD})", re.IGNORECASE)
_JOINED_NOT = re.compile(rf"(?<={_IN_WORD})(n)['’](t)(?!{_IN_WORD})", re.IGNORECASE)
_APOSTROPHE = re.compile(rf"(?<={_IN_WORD})['’](?=[^\W\d_])")
_FRACTION = "¼½¾⅐-⅞"
_NUMBER = re.compile(  # ½5 is one number: a 5 left behind would be the next one when the line is cleaned again
    rf"(?<!{_IN_WORD})(?:\.?\d+(?:[.,]\d+)*|[{_FRACTION}])[\d{_FRACTION}]*(?:(?:st|nd|rd|th|s)(?!{_IN_WORD}))?",
    re.IGNORECASE,
)


def _unicode(line: str) -> str:
    return line if line.isascii() else unicodedata.normalize("NFC", _INVISIBLE.sub("", line))


def _contractions(line: str) -> str:
    if "'" not in line and "’" not in line:
        return line
    return _APOSTROPHE.sub(" ", _JOINED_NOT.sub(r" \1\2", _LONE_NOT.sub(r"\1\2", line)))


def _lower(line: str) -> str:
    """Lower case; a composed line stays composed, though T̈ is two characters and ẗ is one."""
    lowered = line.lower()
    return unicodedata.normalize("NFC", lowered) if unicodedata.is_normalized("NFC", line) else lowered


def _replacer(pattern: re.Pattern[str], token: Callable[[str], str]) -> Callable[[str], str]:
    """Replace each match by its token, with a space on each side where a neighbour touches it."""

    def spaced(match: re.Match[str]) -> str:
        before = match.string[match.start() - 1 : match.start()]
        after = match.string[match.end() : match.end() + 1]
        left, right = (" " if beside and not beside.isspace() else "" for beside in (before, after))
        return f"{left}{token(match.group())}{right}"

    return lambda line: pattern.sub(spaced, line)


class _SymbolTable(dict[int, str]):
    """For str.translate: letters, accents, digits and the symbols given stay, all else becomes a space."""

    def __init__(self, symbols: str) -> None:
        super().__init__({ord(symbol): symbol for symbol in symbols})

    def __missing__(self, code: int) -> str:
        self[code] = chr(code) if unicodedata.category(chr(code))[0] in "LMN" else " "
        return self[code]


def _drop_symbols(settings: Settings) -> LineRule:
    table = _SymbolTable(settings.symbols + "\u200c\u200d")  # Persian and Indic words need these joiners
    tokens = sorted({token for token in ("<num>", "<unk>", settings.number) if token.startswith("<")})
    token = re.compile(f"({'|'.join(tokens)})", re.IGNORECASE)
    space = _replacer(token, str)

    def drop(line: str) -> str:
        if "<" not in line:
            return line.translate(table)
        parts = token.split(space(line))  # every second part is a token, which keeps its brackets
        return "".join(part if place % 2 else part.translate(table) for place, part in enumerate(parts))

    return drop


def _dictionary(settings: Settings) -> LineRule:
    if settings.dictionary is None:
        raise UsageError("The cleaning rule 'dictionary' needs a dictionary: a set of words or a word list.")
    known = frozenset(settings.dictionary)

    def may_occur(token: str) -> bool:  # symbols and tokens such as <num> always may
        return token in known or (token[0] == "<" and token[-1] == ">") or not any(map(str.isalpha, token))

    return lambda line: line if all(map(may_occur, line.split())) else None


_WORDS = {"%": "percent", "$": "dollar"}
RULES: dict[str, Callable[[Settings], LineRule]] = {  # what each does stands at the top
    "unicode": lambda settings: _unicode,
    "contractions": lambda settings: _contractions,
    "numbers": lambda settings: _replacer(_NUMBER, lambda number: settings.number),
    "percent_dollar": lambda settings: _replacer(re.compile("[%$]"), _WORDS.__getitem__),
    "space_symbols": lambda settings: _replacer(re.compile(f"[{re.escape(settings.symbols)}]"), str),
    "drop_symbols": _drop_symbols,
    "lower": lambda settings: _lower,
    "whitespace": lambda settings: lambda line: " ".join(line.split()),
    "max_tokens": lambda settings: lambda line: line if len(line.split()) <= settings.max_tokens else None,
    "dictionary": _dictionary,
}
DEFAULT = tuple(RULES)[:-2]
ORDER = (  # rule, the rules that it must precede, why
    ("unicode", DEFAULT[1:], "the other rules look at composed characters"),
    ("contractions", DEFAULT[2:6], "the apostrophes must still be there"),
    ("numbers", DEFAULT[4:6], "the points and commas inside numbers must still be there"),
    ("percent_dollar", DEFAULT[4:6], "the symbols that it looks for must still be there"),
    ("space_symbols", ("whitespace",), "white space is put in order last"),
    ("drop_symbols", ("whitespace",), "dropped symbols leave spaces"),
    *((rule, ("max_tokens", "dictionary"), "these judge finished lines") for rule in DEFAULT),
)


# ---- rules together ----


def cleaner(names: Sequence[str], **settings: object) -> LineRule:
    """Make the function that applies the named rules in order; it returns None for a line to drop.

    A line that ends up empty is dropped. Settings are the fields of `Settings`: number, symbols, max_tokens,
    dictionary.

    >>> cleaner(["lower", "max_tokens"], max_tokens=2)("Three words here") is None
    True
    """
    known = [setting.name for setting in fields(Settings)]
    for name in settings:
        if name not in known:
            raise UsageError(f"There is no cleaning setting '{name}'{nearest(name, known)}")
    chosen = Settings(**settings)  # type: ignore[arg-type]
    for place, name in enumerate(names):
        if name not in RULES:
            hint = "; set it by a stage, which counts words" if name == "rare" else nearest(name, RULES)
            raise UsageError(f"There is no cleaning rule '{name}'{hint}")
        if name in names[:place]:
            raise UsageError(f"The cleaning rule '{name}' is named twice. Name it once.")
    for rule, later, because in ORDER:
        for other in later:
            if rule in names and other in names and names.index(rule) > names.index(other):
                raise UsageError(f"The cleaning rule '{rule}' must come before '{other}': {because}.")
    return _in_turn([RULES[name](chosen) for name in names])


def _in_turn(steps: Sequence[LineRule]) -> LineRule:
    def clean(line: str) -> str | None:
        text: str | None = line
        for step in steps:
            if text is None:
                return None
            text = step(text)
        return text if text and not text.isspace() else None

    return clean


@dataclass(frozen=True, slots=True)
class Stage:
    """Words seen at most `rare` times leave their lines; then lines of more than `max_tokens` tokens go."""

    rare: int
    max_tokens: int

    def __post_init__(self) -> None:
        if self.rare < 0 or self.max_tokens < 1:
            raise UsageError(f"{self} cannot be: rare must be at least 0 and max_tokens at least 1.")


PUBLISHED_STAGES = (Stage(10, 50), Stage(20, 20))


def fitted_cleaner(
    lines: Callable[[], Iterable[str]],
    rules: Sequence[str],
    stages: Sequence[Stage] = (),
    dictionary: Collection[str] | None = None,
    **settings: object,
) -> LineRule:
    """Make the function that cleans a line by rules, then by stages whose word counts come from a training text.

    Each stage reads the training text once, to count the words that the stages before it left there. Validation
    and test lines are then cleaned by the same counts. A line that ends up empty is dropped.

    Args:
        lines: called once for each stage; gives the raw lines of the training text from the beginning.
        rules: names for `cleaner`; `settings` are its settings.
        dictionary: the words that may occur; a line that has another one after the stages is dropped.
    """
    steps = [cleaner(rules, **settings)]
    for stage in stages:
        clean, counts = _in_turn(steps), Counter[str]()
        for line in lines():
            counts.update((clean(line) or "").split())
        steps.append(_stage_rule(stage, frozenset(word for word, count in counts.items() if count > stage.rare)))
    if dictionary is not None:
        steps.append(cleaner(["dictionary"], dictionary=dictionary))
    return _in_turn(steps)


def without_dictionary(rules: Sequence[str]) -> list[str]:
    """The rules for a text that a trained model is given: a dictionary only chooses the lines that it learns from."""
    return [rule for rule in rules if rule != "dictionary"]


def dictionary_words(entries: Iterable[str], rules: Sequence[str]) -> frozenset[str]:
    """The words of a word list as cleaning leaves them in a text, where "Don't" is "do nt".

    >>> sorted(dictionary_words(["Don't", "cat"], ["contractions", "lower"]))
    ['cat', 'do', 'nt']
    """
    clean = cleaner(without_dictionary(rules))
    return frozenset(word for entry in entries for word in (clean(entry) or "").split())


def known_words(rules: Sequence[str], known: Collection[str], longest: int) -> LineRule:
    """The outcome of `fitted_cleaner` as a rule: words other than these leave a line, and long lines are dropped."""
    return _in_turn([cleaner(rules), _stage_rule(Stage(0, longest), frozenset(known))])


def _stage_rule(stage: Stage, frequent: frozenset[str]) -> LineRule:
    def keep_frequent(line: str) -> str | None:
        words = [word for word in line.split() if word in frequent]
        return " ".join(words) if len(words) <= stage.max_tokens else None

    return keep_frequent
