"""Who is meant? Sentences with a pronoun whose referent one word decides, after Winograd's (Levesque et al. 2012).

    The candle did not fit into the basket because it was too big .         The candle was too big .     yes
                                                                            The basket was too big .     no
    The candle did not fit into the basket because it was too small .       and the other way round

A schema has two words that decide; each stands once with the one noun, once with the other. Sentences come in fours,
so that neither the words of a sentence nor those of the claim tell the answer. No noun and no name is in two parts:
what is learned is who is meant by the words that decide, not which noun is.

Nouns are those of the built-in grammar's lexicon.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lexigraph.text.lexicon import NOUNS

COUNTS = {"train": 400, "dev": 60, "test": 150}  # sentences in two forms, of each of which two claims are made
SHARES = {"train": (0.0, 0.5), "dev": (0.5, 0.75), "test": (0.75, 1.0)}  # of every list of nouns
YES, NO = "yes", "no"


class Claim(NamedTuple):
    """A sentence, what is said of it, and whether that is so."""

    sentence: str
    claim: str
    answer: str


class Schema(NamedTuple):
    """How a sentence and a claim are written, the kinds of its two nouns, and the word that means each of them."""

    sentence: str
    claim: str
    kinds: tuple[str, str]
    words: tuple[str, str]


SMALL, HOLDING = "small dishware", "portable storage"
WOMEN, MEN = "women", "men"
NAMES = {
    WOMEN: """Anna Maria Lucy Clara Ruth Emma Julia Sarah Alice Helen
        Nora Irene Kate Laura Eva Mary Rosa Grace Ida Jane""",
    MEN: """Tom Peter Henry Oliver Samuel David Martin George Paul Simon
        Frank Hugo Adam Oscar Leo Max John Victor Otto Ben""",
}
PERSONAL = (
    ("{a} thanked {b} because {who} had {word} help .", "{x} had {word} help .", ("received", "given")),
    ("{a} could not hear {b} because {who} was {word} .", "{x} was {word} .", ("deaf", "whispering")),
    (
        "{a} lost to {b} at chess because {who} was a {word} player .",
        "{x} was a {word} player .",
        ("worse", "better"),
    ),
    ("{a} lent {b} some money because {who} was {word} .", "{x} was {word} .", ("rich", "poor")),
    ("{a} visited {b} in hospital because {who} was {word} .", "{x} was {word} .", ("worried", "injured")),
)
SCHEMAS = (
    Schema(
        "The {a} did not fit into the {b} because it was too {word} .",
        "The {x} was too {word} .",
        (SMALL, HOLDING),
        ("big", "small"),
    ),
    Schema(
        "The {a} could not pull the {b} because it was too {word} .",
        "The {x} was too {word} .",
        ("beast", "vehicle furniture"),
        ("weak", "heavy"),
    ),
    Schema(
        "The {a} caught the {b} because it was so {word} .",
        "The {x} was so {word} .",
        ("beast", "fowl"),
        ("quick", "slow"),
    ),
    Schema(
        "The {a} passed the {b} because it was so {word} .",
        "The {x} was so {word} .",
        ("vehicle", "vehicle"),
        ("fast", "slow"),
    ),
    Schema(
        "We filled the {b} from the {a} until it was {word} .",
        "The {x} was {word} .",
        (HOLDING, "dishware portable"),
        ("empty", "full"),
    ),
    Schema(
        "The {a} fell through the {b} because it was so {word} .",
        "The {x} was so {word} .",
        (SMALL, "furniture"),
        ("heavy", "thin"),
    ),
    *(
        Schema(sentence.replace("{who}", pronoun), claim, (kind, kind), words)
        for sentence, claim, words in PERSONAL
        for kind, pronoun in ((WOMEN, "she"), (MEN, "he"))
    ),
)


def claims(part: str) -> Iterator[Claim]:
    """All of "train", "dev" or "test", always the same."""
    random = np.random.default_rng([17, list(COUNTS).index(part)])
    seen = set[str]()
    while len(seen) < COUNTS[part]:
        schema = SCHEMAS[random.integers(len(SCHEMAS))]
        a, b = (str(random.choice(nouns(kinds, part))) for kinds in schema.kinds)
        name = schema.sentence.format(a=a, b=b, word="")
        if a == b or name in seen:
            continue
        seen.add(name)
        for word, meant in zip(schema.words, (a, b), strict=True):
            for noun in (a, b):
                sentence, claim = schema.sentence.format(a=a, b=b, word=word), schema.claim.format(x=noun, word=word)
                yield Claim(sentence, claim, YES if noun == meant else NO)


def nouns(kinds: str, part: str) -> Sequence[str]:
    """The nouns or names of some kinds that a part has: of each kind a share, without the others'."""
    first, last = SHARES[part]
    found = list[str]()
    for kind in kinds.split():
        words = [word.split("/")[0] for word in (NAMES | NOUNS)[kind].split()]
        found += words[round(first * len(words)) : round(last * len(words))]
    return found
