"""Clean lines of text by named rules, and a corpus by the two published stages.

Every rule is a pure function of one line; a recipe names the rules and their order. `cleaner` puts them
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

import difflib
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields

from lexigraph.errors import UsageError

LineRule = Callable[[str], "str | None"]  # None drops the line

NUMBER = "<num>"
KEPT_SYMBOLS = ".,!?;:"
LONGEST = 50


@dataclass(frozen=True, slots=True)
class Settings:
    """What the rules can be told."""

    number: str = NUMBER  # what a number becomes: a word or a <word>, in lower case
    symbols: str = KEPT_SYMBOLS  # the symbols that stay, as tokens of their own
    max_tokens: int = LONGEST  # the longest line that stays
    dictionary: Collection[str] | None = None  # the words that may occur


@dataclass(frozen=True, slots=True)
class Rule:
    """A named cleaning rule: how to make its function, what it does, and which rules it must precede."""

    make: Callable[[Settings], LineRule]
    purpose: str
    before: tuple[str, ...] = ()
    because: str = ""


# ---- the rules ----

_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]")
_NOT = re.compile(r"n['’]t(?![^\W_])", re.IGNORECASE)
_APOSTROPHE = re.compile(r"(?<=[^\W_])['’](?=[^\W\d_])")
_FRACTION = "¼½¾⅐-⅞"
_NUMBER = re.compile(
    rf"(?<![^\W_])(?:\.?\d+(?:[.,]\d+)*[{_FRACTION}]?|[{_FRACTION}])(?:(?:st|nd|rd|th|s)(?![^\W_]))?",
    re.IGNORECASE,
)
_SYMBOL_WORDS = {"%": "percent", "$": "dollar"}
_SYMBOL_WORD = re.compile("[%$]")


def unicode(line: str) -> str:
    """Compose characters (NFC) and remove invisible ones: soft hyphen, zero-width space, word joiner, BOM."""
    return line if line.isascii() else unicodedata.normalize("NFC", _INVISIBLE.sub("", line))


def contractions(line: str) -> str:
    """Split contractions while their apostrophes are there.

    >>> contractions("don't she's o'clock")
    'do nt she s o clock'
    """
    if "'" not in line and "’" not in line:
        return line
    return _APOSTROPHE.sub(" ", _NOT.sub(_split_not, line))


def _split_not(match: re.Match[str]) -> str:
    letters = match.group()
    before = match.string[match.start() - 1 : match.start()]
    return (" " if before.isalnum() else "") + letters[0] + letters[-1]


def numbers(line: str, token: str = NUMBER) -> str:
    """Make every number one token; digits inside a word that begins with a letter ("mp3") stay.

    >>> numbers("the 2nd of 1,000 weighs 3.5kg")
    'the <num> of <num> weighs <num> kg'
    """
    return _NUMBER.sub(lambda match: _spaced(match, token), line)


def percent_dollar(line: str) -> str:
    """Write % as "percent" and $ as "dollar".

    >>> percent_dollar("$5 is 10%")
    'dollar 5 is 10 percent'
    """
    return _SYMBOL_WORD.sub(lambda match: _spaced(match, _SYMBOL_WORDS[match.group()]), line)


def space_symbols(line: str, symbols: str = KEPT_SYMBOLS) -> str:
    """Put spaces around the symbols that stay.

    >>> space_symbols("yes,no.")
    'yes , no .'
    """
    return _spacer(symbols)(line)


def drop_symbols(line: str, symbols: str = KEPT_SYMBOLS, tokens: Collection[str] = (NUMBER, "<unk>")) -> str:
    """Put a space for each symbol that is neither kept nor part of a token such as <num>.

    Letters, accents and digits of every script stay, and so do the joiners that Persian and Indic words need.

    >>> drop_symbols("(well-known) <num> & co.")
    ' well known  <num>   co.'
    """
    return _dropper(symbols, tokens)(line)


def lower(line: str) -> str:
    """Write in lower case."""
    return line.lower()


def whitespace(line: str) -> str:
    """Leave one space between words and none at the ends."""
    return " ".join(line.split())


def max_tokens(line: str, most: int = LONGEST) -> str | None:
    """Drop a line of more than `most` tokens."""
    return line if len(line.split()) <= most else None


def in_dictionary(line: str, dictionary: Collection[str]) -> str | None:
    """Drop a line with a word that is not in the dictionary; symbols and tokens such as <num> always are."""
    return line if all(word in dictionary or not _is_word(word) for word in line.split()) else None


def _is_word(token: str) -> bool:
    return not (token.startswith("<") and token.endswith(">")) and any(map(str.isalpha, token))


def _spaced(match: re.Match[str], token: str) -> str:
    """The token, with a space on each side where a neighbour touches it."""
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    return f"{' ' if before and not before.isspace() else ''}{token}{' ' if after and not after.isspace() else ''}"


def _spacer(symbols: str) -> Callable[[str], str]:
    symbol = re.compile(f"[{re.escape(symbols)}]")
    return lambda line: symbol.sub(lambda match: _spaced(match, match.group()), line)


class _SymbolTable(dict[int, str]):
    """For str.translate: a space for a symbol, the character itself otherwise; filled as characters are met."""

    def __init__(self, symbols: str) -> None:
        super().__init__({ord(symbol): symbol for symbol in symbols + "\u200c\u200d"})

    def __missing__(self, code: int) -> str:
        character = chr(code)
        self[code] = character if unicodedata.category(character)[0] in "LMN" else " "
        return self[code]


def _dropper(symbols: str, tokens: Collection[str]) -> Callable[[str], str]:
    table = _SymbolTable(symbols)
    marked = [re.escape(token) for token in tokens if token.startswith("<")]
    token = re.compile(f"({'|'.join(marked)})", re.IGNORECASE) if marked else None

    def drop(line: str) -> str:
        if token is None or "<" not in line:
            return line.translate(table)
        parts = token.split(token.sub(lambda match: _spaced(match, match.group()), line))
        return "".join(part if place % 2 else part.translate(table) for place, part in enumerate(parts))

    return drop


def _make_dictionary(settings: Settings) -> LineRule:
    if settings.dictionary is None:
        raise UsageError("The cleaning rule 'dictionary' needs a dictionary: a set of words or a word list.")
    dictionary = frozenset(settings.dictionary)
    return lambda line: in_dictionary(line, dictionary)


_GONE = "the symbols that it looks for would be gone"
RULES: dict[str, Rule] = {
    "unicode": Rule(
        lambda settings: unicode,
        "composed characters (NFC), no invisible ones",
        ("contractions", "numbers", "percent_dollar", "space_symbols", "drop_symbols", "lower", "whitespace"),
        "the other rules look at composed characters",
    ),
    "contractions": Rule(
        lambda settings: contractions,
        "don't → do nt, she's → she s",
        ("numbers", "percent_dollar", "space_symbols", "drop_symbols"),
        "apostrophes must still be there",
    ),
    "numbers": Rule(
        lambda settings: lambda line: numbers(line, settings.number),
        "numbers and ordinals → one token",
        ("space_symbols", "drop_symbols"),
        "the points and commas inside numbers must still be there",
    ),
    "percent_dollar": Rule(
        lambda settings: percent_dollar, "% → percent, $ → dollar", ("space_symbols", "drop_symbols"), _GONE
    ),
    "space_symbols": Rule(
        lambda settings: _spacer(settings.symbols),
        "spaces around the symbols that stay",
        ("whitespace",),
        "white space is put in order last",
    ),
    "drop_symbols": Rule(
        lambda settings: _dropper(settings.symbols, {NUMBER, "<unk>", settings.number}),
        "other symbols dropped",
        ("whitespace",),
        "dropped symbols leave spaces",
    ),
    "lower": Rule(lambda settings: lower, "lower case"),
    "whitespace": Rule(lambda settings: whitespace, "one space between words"),
    "max_tokens": Rule(
        lambda settings: lambda line: max_tokens(line, settings.max_tokens), "lines of more tokens dropped"
    ),
    "dictionary": Rule(_make_dictionary, "lines with words outside the dictionary dropped"),
}
DROPPING = ("max_tokens", "dictionary")  # these see the line as it will be, so they come last
DEFAULT = tuple(name for name in RULES if name not in DROPPING)


# ---- rules together ----


def cleaner(names: Sequence[str], **settings: object) -> LineRule:
    """Make the function that applies the named rules in order; it returns None for a line to drop.

    A line that ends up empty is dropped. Settings are the fields of `Settings`: number, symbols, max_tokens,
    dictionary.

    >>> cleaner(["lower", "max_tokens"], max_tokens=2)("Three words here") is None
    True
    """
    chosen = _settings(settings)
    _check_names(names)
    _check_order(names)
    steps = [RULES[name].make(chosen) for name in names]

    def clean(line: str) -> str | None:
        current: str | None = line
        for step in steps:
            current = step(current)  # type: ignore[arg-type]
            if current is None:
                return None
        return current if current and not current.isspace() else None

    return clean


def _settings(given: dict[str, object]) -> Settings:
    known = [setting.name for setting in fields(Settings)]
    for name in given:
        if name not in known:
            raise UsageError(f"There is no cleaning setting '{name}'. {_nearest(name, known)}")
    settings = Settings(**given)  # type: ignore[arg-type]
    if not re.fullmatch(r"<[a-z]+>|[a-z]+", settings.number):
        raise UsageError(
            f"The cleaning setting number is '{settings.number}'; it must be a word in lower case, such as 'number' "
            "or '<num>'."
        )
    wrong = [
        symbol for symbol in settings.symbols if unicodedata.category(symbol)[0] not in "PS" or symbol in "<>%$'’"
    ]
    if wrong or not settings.symbols:
        raise UsageError(
            f"The cleaning setting symbols is '{settings.symbols}'; it must list symbols that stay, such as "
            f"'{KEPT_SYMBOLS}', and no letters, digits, spaces or any of < > % $ '."
        )
    if settings.max_tokens < 1:
        raise UsageError(f"The cleaning setting max_tokens is {settings.max_tokens}; it must be at least 1.")
    return settings


def _check_names(names: Sequence[str]) -> None:
    for name in names:
        if name == "rare":
            raise UsageError(
                "The cleaning rule 'rare' needs the counts of a whole corpus: set it by a stage, not among the rules "
                "for a line."
            )
        if name not in RULES:
            raise UsageError(f"There is no cleaning rule '{name}'. {_nearest(name, list(RULES))}")
    for name in names:
        if list(names).count(name) > 1:
            raise UsageError(f"The cleaning rule '{name}' is named twice. Name it once.")


def _check_order(names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        rule = RULES[name]
        for earlier in names[:place]:
            if earlier in rule.before:
                raise UsageError(
                    f"The cleaning rule '{name}' comes after '{earlier}', where it cannot work: {rule.because}. "
                    f"Put '{name}' before '{earlier}'."
                )
            if earlier in DROPPING and name not in DROPPING:
                raise UsageError(
                    f"The cleaning rule '{name}' comes after '{earlier}', which judges finished lines. "
                    f"Put '{name}' before '{earlier}'."
                )


def _nearest(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"Did you mean '{close[0]}'?" if close else f"There are: {', '.join(known)}."


# ---- a whole corpus ----


@dataclass(frozen=True, slots=True)
class Stage:
    """Words seen at most `rare` times leave their lines; then lines of more than `max_tokens` tokens go."""

    rare: int
    max_tokens: int


PUBLISHED_STAGES = (Stage(10, 50), Stage(20, 20))


class CleanCorpus:
    """The cleaned lines of a corpus, as often as they are asked for; only word counts are held in memory."""

    def __init__(
        self,
        lines: Callable[[], Iterable[str]],
        clean: LineRule,
        stages: Sequence[Stage],
        dictionary: Collection[str] | None,
    ) -> None:
        self._lines = lines
        self._clean = clean
        self._stages = tuple(stages)
        self._dictionary = None if dictionary is None else frozenset(dictionary)
        self._words: list[frozenset[str]] = []  # the words that each counted stage keeps

    def __iter__(self) -> Iterator[str]:
        while len(self._words) < len(self._stages):
            self._words.append(self._count(len(self._words)))
        return self._after(len(self._stages))

    def _count(self, stage: int) -> frozenset[str]:
        counts: Counter[str] = Counter()
        for line in self._after(stage):
            counts.update(line.split())
        return frozenset(word for word, count in counts.items() if count > self._stages[stage].rare)

    def _after(self, stages: int) -> Iterator[str]:
        """The lines as the first `stages` stages leave them."""
        for line in self._lines():
            text = self._clean(line)
            for stage, words in zip(self._stages[:stages], self._words, strict=False):
                if text:
                    text = max_tokens(" ".join(filter(words.__contains__, text.split())), stage.max_tokens)
            if text and self._dictionary is not None and stages == len(self._stages):
                text = in_dictionary(text, self._dictionary)
            if text:
                yield text


def clean_corpus(
    lines: Callable[[], Iterable[str]],
    rules: Sequence[str] = DEFAULT,
    stages: Sequence[Stage] = PUBLISHED_STAGES,
    dictionary: Collection[str] | None = None,
    **settings: object,
) -> CleanCorpus:
    """Clean a corpus line by line, then stage by stage.

    Each stage reads the corpus once to count the words that the stages before it left, drops the words seen at
    most `rare` times, then the lines of more than `max_tokens` tokens. With a dictionary, lines with a word
    outside it go at the end. Lines left empty go too. The counts are kept, so that reading again is one pass.

    Args:
        lines: called for each pass; gives the raw lines from the beginning, the same each time.
        rules: names for `cleaner`; `settings` are its settings.
        stages: none leaves rare words and long lines in.
        dictionary: the words that may occur.
    """
    for stage in stages:
        if stage.rare < 0 or stage.max_tokens < 1:
            raise UsageError(f"{stage} cannot be: rare must be at least 0 and max_tokens at least 1.")
    return CleanCorpus(lines, cleaner(rules, **settings), stages, dictionary)
