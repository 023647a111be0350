"""A table of English verbs, found in text: bases that are used as verbs there, with the forms that occur.

Irregular forms are listed; a regular one is spelled by rule, and where two spellings are possible (stopped,
stoped), the text decides. A word is a verb if it stands behind `to`, `will` and the like, and its past stands
behind a pronoun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise


def listed(words: str) -> frozenset[str]:
    return frozenset(words.split())


IRREGULAR = """
arise arose arisen|awake awoke awoken|bear bore borne|beat beat beaten|become became become|begin began begun
bend bent bent|bet bet bet|bid bade bidden|bind bound bound|bite bit bitten|bleed bled bled|blow blew blown
break broke broken|breed bred bred|bring brought brought|build built built|burn burned burned|burst burst burst
buy bought bought|cast cast cast|catch caught caught|choose chose chosen|cling clung clung|come came come
cost cost cost|creep crept crept|cut cut cut|deal dealt dealt|dig dug dug|do did done|draw drew drawn
dream dreamed dreamed|drink drank drunk|drive drove driven|eat ate eaten|fall fell fallen|feed fed fed
feel felt felt|fight fought fought|find found found|flee fled fled|fling flung flung|fly flew flown
forbid forbade forbidden|forget forgot forgotten|forgive forgave forgiven|forsake forsook forsaken
freeze froze frozen|get got got|give gave given|go went gone|grind ground ground|grow grew grown|hang hung hung
have had had|hear heard heard|hide hid hidden|hit hit hit|hold held held|hurt hurt hurt|keep kept kept
kneel knelt knelt|know knew known|lay laid laid|lead led led|lean leaned leaned|leap leaped leaped
learn learned learned|leave left left|lend lent lent|let let let|lie lay lain|light lit lit|lose lost lost
make made made|mean meant meant|meet met met|mistake mistook mistaken|overcome overcame overcome
overhear overheard overheard|overtake overtook overtaken|pay paid paid|put put put|quit quit quit|read read read
rid rid rid|ride rode ridden|ring rang rung|rise rose risen|run ran run|say said said|see saw seen
seek sought sought|sell sold sold|send sent sent|set set set|shake shook shaken|shed shed shed|shine shone shone
shoot shot shot|show showed shown|shrink shrank shrunk|shut shut shut|sing sang sung|sink sank sunk|sit sat sat
slay slew slain|sleep slept slept|slide slid slid|sling slung slung|slit slit slit|smell smelled smelled
speak spoke spoken|speed sped sped|spell spelled spelled|spend spent spent|spill spilled spilled|spin spun spun
spit spat spat|split split split|spoil spoiled spoiled|spread spread spread|spring sprang sprung
stand stood stood|steal stole stolen|stick stuck stuck|sting stung stung|stink stank stunk
stride strode stridden|strike struck struck|string strung strung|strive strove striven|swear swore sworn
sweep swept swept|swell swelled swollen|swim swam swum|swing swung swung|take took taken|teach taught taught
tear tore torn|tell told told|think thought thought|throw threw thrown|thrust thrust thrust|tread trod trodden
understand understood understood|undo undid undone|undertake undertook undertaken|upset upset upset
wake woke woken|wear wore worn|weave wove woven|weep wept wept|win won won|wind wound wound
withdraw withdrew withdrawn|withstand withstood withstood|wring wrung wrung|write wrote written
rewrite rewrote rewritten|rebuild rebuilt rebuilt|repay repaid repaid|foresee foresaw foreseen
overlook overlooked overlooked
"""
BEFORE_BASES = listed("to will would could can must should may might shall cannot can't won't wouldn't couldn't")
PRONOUNS = listed("i you he she it we they")
NO_VERBS = listed("be am is are was were been being not never ever so as like well own down up out us")
VOWELS = "aeiou"


@dataclass(frozen=True)
class Verb:
    """The five forms of a verb."""

    base: str
    third: str
    past: str
    participle: str
    ing: str


def third(base: str) -> str:
    """
    >>> third("carry"), third("push"), third("play")
    ('carries', 'pushes', 'plays')
    """
    if base.endswith("y") and base[-2:-1] not in VOWELS:
        return base[:-1] + "ies"
    if base in ("do", "go", "undo") or base.endswith(("s", "x", "z", "ch", "sh")):
        return base + "es"
    return "has" if base == "have" else base + "s"


def spellings(base: str, ending: str) -> list[str]:
    """How `ed` or `ing` may be added, the likeliest first.

    >>> spellings("stop", "ed"), spellings("smile", "ing"), spellings("cry", "ed")
    (['stoped', 'stopped'], ['smiling', 'smileing'], ['cried'])
    """
    if base.endswith("e") and not base.endswith(("ee", "ye", "oe")):
        if ending == "ing" and base.endswith("ie"):
            return [base[:-2] + "ying"]
        return [base[:-1] + ending] + ([base + ending] if ending == "ing" else [])
    if base.endswith("e"):
        return [base + (ending if ending == "ing" else "d")]
    if ending == "ed" and base.endswith("y") and base[-2:-1] not in VOWELS:
        return [base[:-1] + "ied"]
    found = [base + ending]
    if len(base) > 2 and base[-1] not in VOWELS + "wxy" and base[-2] in VOWELS and base[-3] not in VOWELS:
        found.append(base + base[-1] + ending)
    return found


def verbs_in(sentences: Iterable[list[str]], least: int = 12) -> dict[str, Verb]:
    """The verbs of sentences (words in lower case), by base; each seen so often as one."""
    seen: Counter[str] = Counter()
    bases: Counter[str] = Counter()  # words where only a base may stand
    told: Counter[str] = Counter()  # words behind a pronoun
    for words in sentences:
        seen.update(words)
        for first, second in pairwise(words):
            if first in BEFORE_BASES:
                bases[second] += 1
            elif first in PRONOUNS:
                told[second] += 1
    irregular = {row.split()[0]: row.split()[1:] for line in IRREGULAR.split("\n") for row in line.split("|") if row}
    found = {}
    for base, count in bases.items():
        if count < least or base in NO_VERBS or not base.isalpha() or base in BEFORE_BASES:
            continue
        silent = base + "e" in bases  # hoped and hoping are of hope, not of hop
        regular = max(spellings(base, "ed")[silent:] or spellings(base, "ed"), key=lambda form: seen[form])
        past, participle = irregular.get(base, (regular, regular))
        ing = max(spellings(base, "ing")[silent:] or spellings(base, "ing"), key=lambda form: seen[form])
        if told[past] >= 5 and seen[ing] >= 5 and (base in irregular or count >= 0.04 * seen[base]):
            found[base] = Verb(base, third(base), past, participle, ing)
    return found
