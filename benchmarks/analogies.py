"""Analogies that the flagship is trained on: edits of any two sentences, from the built-in grammar and from books.

    python benchmarks/analogies.py harvest books.main.txt WORD_LIST HARVEST     parts of clauses, from books
    python benchmarks/analogies.py grammar POOL                                 pairs of sentences, from the grammar
    python benchmarks/analogies.py draw HARVEST POOL PAIRS COUNT [--keep-out FILE …] [--workers N]
    python benchmarks/analogies.py rows PAIRS OUT.tsv COUNT                     any pair beside any other of its edit
    python benchmarks/analogies.py files FOLDER OUT.tsv COUNT                   of sentence-edits and StylePTB

A row has before, after, before2, after2, given and result (objectives/analogies.py of the package). Edits are of a
feature: the subject's person or number, tense, aspect, modal, polarity, mood, politeness. What is edited comes from

- the grammar's training split, less what benchmarks/books.py keeps out to choose by: all families of text/edits.py
  and some more, each in both directions, and two at once;
- clauses with words of books (clauses.py), whose verbs are exchanged for others of a word list now and then;
- clauses as books have them, with whatever follows (harvest.py).

Besides, what is said may be exchanged ("They were tired. - They were here. + She was not here."), or a second clause
put behind. Some rows have contractions, and a few are written in small letters, or as tokens.

`files` is for a variant that is trained on the training part of what else is only measured: statements to questions
of sentence-edits, one change of tense or voice of StylePTB.

Donor and given sentence are drawn independently, so that they are often of different sources. No sentence has four
words in a row of those in the files named by --keep-out (the published sums), nor is it one of theirs.
"""

from __future__ import annotations

import argparse
import json
import lzma
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import accumulate, chain, combinations, count, islice
from pathlib import Path
from random import Random

from books import kept_out
from clauses import (
    HOW,
    MODALS,
    OPENINGS,
    PERSONS,
    PLURALS,
    WORDS,
    Clause,
    Phrase,
    Subject,
    Tail,
    changed,
    contracted,
    realise,
    sound,
    tokenized,
)  # fmt: skip
from harvest import Harvest, harvest

from lexigraph.evaluation.latent.arithmetic import combined
from lexigraph.evaluation.latent.edit_files import edit_families
from lexigraph.evaluation.latent.sentences import spelled
from lexigraph.text import constructions, grammar
from lexigraph.text.edits import COMMAND, EDITS, Edit

Pair = tuple[str, str]
Row = tuple[str, str, str, str, str, str]
LONGEST = 16  # words: all texts are padded to the longest in training
CLAUSES = 32_000  # of the grammar, which all edits are tried on,
TRIES = 1_500  # and all two edits at once
NEAR = ("near", "behind", "of", "with", "beside", "from", "under", "in")
POLITE = ("please", "can you", "could you", "will you", "would you")
TENSES = ("present", "past", "future")
NAMES = {
    "I": grammar.I,
    "you": grammar.YOU,
    "he": grammar.HE,
    "she": grammar.SHE,
    "we": grammar.WE,
    "they": grammar.THEY,
}

# ---- edits: (feature, value before, value after), the same for clauses of both sources -----------------------

Op = tuple[str, str, str]
OPS: dict[Op, float] = {}  # with how often each is drawn
for s in NAMES:
    OPS |= {("subject", s, t): 0.1 for t in NAMES if t != s}
OPS |= {
    ("subject", "he", "they"): 0.4,
    ("subject", "I", "we"): 0.4,
    ("subject", "he", "she"): 0.3,
    ("subject", "she", "he"): 0.3,
}
OPS |= {("number", "singular", "plural"): 2.5, ("noun", "singular", "plural"): 2.5}
OPS |= {("tense", s, t): 0.7 for s in TENSES for t in TENSES if s != t}
OPS |= {("aspect", "simple", t): 0.8 for t in ("progressive", "perfect")}
OPS |= {("modal", "", t): 0.4 for t in MODALS} | {("modal", "can", "could"): 0.3, ("modal", "must", "should"): 0.3}
OPS |= {("negative", "", "not"): 5.0, ("mood", "statement", "question"): 5.0, ("voice", "active", "passive"): 1.5}
OPS |= {("order", "", t): 0.8 for t in (*POLITE, "not")}
OPS |= {("order", "", "can you"): 1.2, ("order", "please", "can you"): 0.3, ("order", "can you", "could you"): 0.3}


def of_grammar(op: Op) -> Edit | None:
    """The same edit of the grammar's clauses, where it has it."""
    feature, old, new = op
    orders = {"": COMMAND, "please": ("request", "", False), "not": ("command", "", True)}
    orders |= {f"{modal} you": ("request", modal, False) for modal in ("can", "could", "will", "would")}
    if feature == "subject":
        return Edit("subject", NAMES[old], NAMES[new])
    if feature == "noun":
        return Edit("plural", False, True)
    if feature == "order":
        return Edit("order", orders[old], orders[new])
    if feature == "negative":
        return Edit("negative", False, True)
    if feature == "voice":
        return Edit("passive", False, True)
    return None if feature == "number" else Edit(feature, old, new)


# ---- sources ------------------------------------------------------------------------------------------------------


Pool = dict[str, list[Pair]]  # pairs of the grammar, by edit, family, or two families


def grammar_pool(seed: int = 0) -> Pool:
    """Pairs of sentences of the grammar's training split for all edits and families, and for two families at once."""
    seen = (c for c in constructions.clauses(None, seed, split="train") if not kept_out(c))
    clauses = list(islice(seen, CLAUSES))
    numbers = [Edit("subject", NAMES[a], NAMES[b]) for a, b in (("I", "we"), ("he", "they"), ("she", "they"))]
    each = {str(op): [edit] if (edit := of_grammar(op)) else numbers for op in OPS} | {
        f: [e] for f, e in EDITS.items()
    }
    pool: Pool = {}
    for name, changes in each.items():
        pairs = (edit.pair(c) for n, edit in enumerate(changes) for c in clauses[n :: len(changes)])
        pool[name] = list(filter(None, map(spelled_pair, filter(None, pairs))))
    for a in EDITS:
        for b in EDITS:
            if EDITS[a].feature != EDITS[b].feature:
                pairs = filter(None, (combined((a, b), c) for c in clauses[:TRIES]))
                pool[f"{a} + {b}"] = list(filter(None, map(spelled_pair, pairs)))
    return {name: pairs for name, pairs in pool.items() if len(pairs) > 10}


def spelled_pair(pair: tuple[grammar.Clause, grammar.Clause]) -> Pair | None:
    """As books spell it; None if one of them is kept out."""
    if any(constructions.split_of(c) != "train" or kept_out(c) for c in pair):
        return None
    first, second = (spelled(grammar.realise(c), spaced=False) for c in pair)
    return first, second


class Source:
    """Draws pairs of sentences before and after an edit, or several edits at once."""

    def __init__(self, harvest: Harvest, pool: Pool, seed: int) -> None:
        self.harvest, self.pool, self.seed, self.random = harvest, pool, seed, Random(seed)

    # -- clauses with words of books

    def phrase(self) -> Phrase:
        random = self.random
        if random.random() < 0.22:
            return random.choice(self.harvest.predicates)
        found = random.choice(self.harvest.phrases)
        if random.random() < 0.2:  # any verb, so that forms are learned of all
            found = replace(found, verb=random.choice(self.harvest.verbs))
        return found

    def subject(self) -> Subject:
        random = self.random
        if random.random() < 0.35:
            found = random.choice(self.harvest.subjects)
            if random.random() < 0.2 and found.text[0].islower():  # the man near a door
                behind = random.choice(self.harvest.nouns)[random.random() < 0.3]
                found = Subject(f"{found.text} {random.choice(NEAR)} {behind}", found.agreement)
            return found
        return person(random.choice([*NAMES, "he", "she", "I", "it"]))

    def tail(self) -> Tail:
        if not self.harvest.tails or self.random.random() < 0.15:
            return Tail(f"as {self.random.choice(sorted(HOW))} as", None, None)
        return self.random.choice(self.harvest.tails)

    def clause(self) -> Clause:
        """Any clause: one of a book, or one that is put together."""
        random = self.random
        if random.random() < 0.35:
            return random.choice(self.harvest.clauses)
        while True:
            clause = Clause(self.subject(), self.phrase(), random.choice(TENSES))
            changes: dict[str, object] = {}
            if random.random() < 0.15:
                changes["aspect"] = random.choice(["progressive", "perfect"])
            elif random.random() < 0.15:
                changes |= {"modal": random.choice(MODALS), "tense": "present"}
            if random.random() < 0.15:
                changes["negative"] = True
            if random.random() < 0.15:
                changes["mood"] = "question"
            if random.random() < 0.1:
                changes["opening"] = random.choice(OPENINGS)
            if random.random() < 0.25:
                changes["tail"] = self.tail()
            if (other := changed(clause, **changes)) is not None:
                return other

    def command(self) -> Clause:
        tail = self.tail() if self.random.random() < 0.15 else None
        while True:
            clause = Clause(person("you"), self.phrase(), "present", mood="command", tail=tail)
            if sound(clause):
                return clause
            tail = None

    def book_pair(self, ops: Sequence[Op]) -> Pair | None:
        """A clause with words of books, before and after some edits."""
        clause: Clause | None = self.command() if any(op[0] == "order" for op in ops) else self.clause()
        noun = self.random.choice(self.harvest.nouns) if any(op[0] == "noun" for op in ops) else None
        number = self.random.choice([*PLURALS, "I", "he", "she"]) if any(op[0] == "number" for op in ops) else ""
        sides = []
        for side in (1, 2):
            for op in ops:
                clause = clause and self._with(clause, op[0], op[side], noun, number)
            if clause is None:
                return None
            sides.append(realise(clause))
        return sides[0], sides[1]

    def _with(self, clause: Clause, feature: str, value: str, noun: Pair | None, number: str) -> Clause | None:
        if feature == "subject":
            return changed(clause, subject=person(value))
        if feature == "noun" and noun:
            singular = value == "singular"
            return changed(clause, subject=Subject(noun[not singular], "third" if singular else "plural"))
        if feature == "number":
            return changed(clause, subject=person(number if value == "singular" else PLURALS[number]))
        if feature == "order":
            return changed(clause, negative=value == "not", polite="" if value == "not" else value)
        if feature == "negative":
            return changed(clause, negative=bool(value))
        if feature == "modal":
            return changed(clause, modal=value, tense="present", aspect="simple")
        if feature == "tense" and clause.modal:
            return None
        return changed(clause, **{feature: value})

    # -- any of them

    def pair(self, op: Op) -> Pair:
        """A pair for an edit, from any source that has it."""
        while True:
            drawn = self.random.random()
            if drawn < 0.3 and (known := self.pool.get(str(op))):
                found = self.random.choice(known)
            else:
                found = self.book_pair([op])
            if found and found[0] != found[1]:
                return found


def person(text: str) -> Subject:
    return Subject(text, PERSONS[text][2])


# ---- rows ---------------------------------------------------------------------------------------------------------

FEATURES_APART = ({"subject", "number", "noun"}, {"tense", "modal"}, {"aspect", "modal"}, {"aspect", "voice"})


def compatible(ops: Sequence[Op]) -> bool:
    """Whether edits may be made at once."""
    features = [op[0] for op in ops]
    if "order" in features or len(set(features)) < len(features):
        return False
    return not any(
        {first, second} <= group for first, second in combinations(features, 2) for group in FEATURES_APART
    )


HARD = ("passive", "dative", "fronting", "plural", "please", "could-you", "do-not")  # drawn twice as often
STYLES = {"": 0.82, "contracted": 0.11, "small": 0.03, "tokens": 0.02, "bare tokens": 0.02}  # most as books write
SHARES = {"family": 0.27, "two families": 0.08, "one": 0.41, "several": 0.18, "said": 0.06}  # of all rows


@dataclass(frozen=True)
class Kind:
    """Pairs that have the same edits, and where these may come from: some pairs of one kind, or of two."""

    share: float  # of all rows
    donors: list[tuple[float, list[str]]]  # how often, and the kinds


Keyed = tuple[str, Pair]  # edits and style, which are the name of a kind, and a pair


def drawn_pairs(source: Source, random: Random) -> Iterator[Keyed]:
    """Pairs without end: one edit, two or three, something else that is said."""
    ops, weights = list(OPS), list(OPS.values())
    for number in count():
        style = random.choices(list(STYLES), list(STYLES.values()))[0]
        drawn = random.random()
        if drawn < 0.58:
            op = random.choices(ops, weights)[0]
            pairs = [(_key([op]), source.pair(op))]
            if op[0] == "number" and random.random() < 0.15:  # `you` stays as it is
                same = changed(source.clause(), subject=person("you"))
                pairs = [(YOU_STAYS, (realise(same),) * 2)] if same else []
        elif drawn < 0.93:
            several = random.choices(ops, weights, k=2 if random.random() < 0.85 else 3)
            found = source.book_pair(several) if compatible(several) else None
            pairs = [(_key(several), found)] if found and found[0] != found[1] else []
        else:
            pairs = [(f"said {number} {source.seed}", pair) for pair in said_pairs(source, random)]
        yield from ((f"{key}|{style}", styled(pair, style)) for key, pair in pairs)


YOU_STAYS = "you stays"


def _key(ops: Sequence[Op]) -> str:
    return " + ".join("-".join(op) for op in sorted(ops))


def styled(pair: Pair, style: str) -> Pair:
    """The pair as people write it."""
    ways: dict[str, Callable[[str], str]] = {
        "contracted": contracted,
        "small": str.lower,
        "tokens": tokenized,
        "bare tokens": lambda text: tokenized(text)[:-2],  # without the mark at the end, which tells questions apart
    }
    way = ways.get(style, str)
    return way(pair[0]), way(pair[1])


def said_pairs(source: Source, random: Random) -> list[Pair]:
    """Something else is said of two subjects, or a second clause comes behind, whatever the features."""
    old, new = source.phrase(), source.phrase()
    changes: Sequence[dict[str, object]] = [{"phrase": old}, {"phrase": new}]
    if (old.verb is None) != (new.verb is None) or random.random() < 0.4:
        changes = [{"tail": None}, {"tail": source.tail()}]
    pairs: list[Pair] = []
    for _ in range(40):
        before = changed(source.clause(), **changes[0])
        after = before and changed(before, **changes[1])
        if before and after and len(pairs) < 2:
            pairs.append((realise(before), realise(after)))
    return pairs if len(pairs) == 2 and pairs[0] != pairs[1] else []


def kinds(pairs: Mapping[str, Sequence[object]]) -> dict[str, Kind]:
    """What kinds there are, how often each is drawn and what may be beside it."""
    groups: dict[str, dict[str, float]] = {name: {} for name in SHARES}
    donors: dict[str, list[tuple[float, list[str]]]] = {}
    for name, some in pairs.items():
        edits, _, style = name.partition("|")
        each = edits.split(" + ")
        whole, apart = (1.0, [name]), (0.7, [])
        if name in EDITS:
            group, size = "family", 2 if name in HARD else 1
        elif "|" not in name:
            group, size, whole, apart = "two families", 1, (0.25, [name]), (0.75, each)
        elif edits.startswith("said"):
            group, size = "said", len(some)
        else:
            group, size = "several" if len(each) > 1 else "one", len(some)
            if len(each) > 1:
                whole, apart = (0.3, [name]), (0.7, [" + ".join(each[:-1]) + f"|{style}", f"{each[-1]}|{style}"])
            elif edits == "number-singular-plural":  # a noun's number does for a pronoun
                whole, apart = (0.7, [name]), (0.3, [f"noun-singular-plural|{style}"])
            elif edits == YOU_STAYS:
                whole = (1.0, [f"number-singular-plural|{style}"])
        usable = [
            (weight, others)
            for weight, others in (whole, apart)
            if others and all(len(pairs.get(other, ())) > (other == name) for other in others)
        ]
        if usable:
            groups[group][name], donors[name] = size, usable
    shares = {name: SHARES[g] * size / sum(own.values()) for g, own in groups.items() for name, size in own.items()}
    return {name: Kind(share, donors[name]) for name, share in shares.items()}


def rows(pairs: Mapping[str, Sequence[Pair]], seed: int = 0) -> Iterator[Row]:
    """Rows without end: donor and given sentence are any two of their kinds."""
    random, known = Random(seed), kinds(pairs)
    names, shares = list(known), list(accumulate(kind.share for kind in known.values()))
    while True:
        name = random.choices(names, cum_weights=shares)[0]
        target, donors = random.choice(pairs[name]), known[name].donors
        chosen = random.choices([some for _, some in donors], [weight for weight, _ in donors])[0]
        first, *second = (random.choice(pairs[donor]) for donor in chosen)
        if first != target:
            row = (*first, *(second[0] if second else ("", "")), *target)
            yield reversed_row(row) if random.random() < 1 / 3 else row


def reversed_row(row: Row) -> Row:
    before, after, before2, after2, given, result = row
    return after, before, after2, before2, result, given


# ---- files --------------------------------------------------------------------------------------------------------

HEADER = "before\tafter\tbefore2\tafter2\tgiven\tresult\n"
OF_FILES = [
    "subject_aux_inversion",
    *(f"styleptb: to the {change}" for change in ("future", "past", "present", "passive", "active")),
]
LONGEST_OF_FILES = 26  # words; nine tenths of the pairs


def file_rows(folder: Path, seed: int = 0) -> Iterator[Row]:
    """Rows without end of the training halves of pairs in files, both ways round."""
    random, families = Random(seed), edit_families(folder)
    known = {
        name: [pair for pair in families[name][0] if max(text.count(" ") for text in pair) < LONGEST_OF_FILES]
        for name in OF_FILES
    }
    while True:
        pairs = known[random.choice(OF_FILES)]
        (a, b), (given, result) = random.choice(pairs), random.choice(pairs)
        row = (a, b, "", "", given, result)
        if a != given:
            yield reversed_row(row) if random.random() < 1 / 3 else row


def grams(text: str) -> set[tuple[str, ...]]:
    """The runs of four words of a text."""
    words = WORDS.findall(text.lower())
    return {tuple(words[n : n + 4]) for n in range(len(words) - 3)}


def refused(files: Sequence[Path]) -> Callable[[Sequence[str]], bool]:
    """Whether a row has a sentence of these files, or four words in a row of one."""
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    texts = [re.split(r"(?<=[.?!])\s*[-+]?\s*", cell) for line in lines for cell in line.split("\t")]
    runs = set().union(*(grams(text) for cell in texts for text in cell)) if files else set()
    whole = {" ".join(WORDS.findall(text.lower())) for cell in texts for text in cell}

    def check(row: Sequence[str]) -> bool:
        return any(grams(text) & runs or " ".join(WORDS.findall(text.lower())) in whole for text in row if text)

    return check


def draw(arguments: tuple[Path, Path, int, int, Sequence[Path]]) -> list[Keyed]:
    """So many pairs."""
    file, pool, wanted, seed, keep_out = arguments
    bad, source = refused(keep_out), Source(Harvest.load(file), read_json(pool), seed)
    kept = (found for found in drawn_pairs(source, Random(seed + 1)) if fits(found[1]) and not bad(found[1]))
    return list(islice(kept, wanted))


def fits(pair: Pair) -> bool:
    return max(text.count(" ") for text in pair) < LONGEST


def read_json(file: Path) -> dict[str, list[Pair]]:
    with lzma.open(file, "rt", encoding="utf-8") as stream:
        return {name: [(a, b) for a, b in pairs] for name, pairs in json.load(stream).items()}


def write_json(file: Path, pairs: Mapping[str, Sequence[Pair]]) -> None:
    with lzma.open(file, "wt", encoding="utf-8", preset=1) as stream:
        json.dump(pairs, stream)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    wanted = {"harvest": ("text", "word_list", "out"), "grammar": ("out",), "draw": ("harvest", "pool", "out"),
              "rows": ("pairs", "out"), "files": ("folder", "out")}  # fmt: skip
    parts = {name: verbs.add_parser(name) for name in wanted}
    for name, files in wanted.items():
        for file in files:
            parts[name].add_argument(file, type=Path)
    for name in ("draw", "rows", "files"):
        parts[name].add_argument("count", type=int)
    parts["draw"].add_argument("--keep-out", type=Path, nargs="*", default=[])
    parts["draw"].add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    if given.verb == "harvest":
        words = given.word_list.read_text(encoding="utf-8").splitlines()
        harvest(given.text.read_text(encoding="utf-8").splitlines(), words).save(given.out)
    elif given.verb == "grammar":
        write_json(given.out, grammar_pool())
    elif given.verb == "draw":
        bad, known = refused(given.keep_out), read_json(given.pool)
        pairs = {
            name: [pair for pair in some if fits(pair) and not bad(pair)]
            for name, some in known.items()
            if not name.startswith("(")  # an edit: part of what is drawn
        }
        share = -(-given.count // given.workers)
        jobs = [(given.harvest, given.pool, share, 100 + n, given.keep_out) for n in range(given.workers)]
        with ProcessPoolExecutor(given.workers) as workers:
            for name, pair in chain.from_iterable(workers.map(draw, jobs)):
                pairs.setdefault(name, []).append(pair)
        write_json(given.out, {name: some for name, some in pairs.items() if some})
    else:
        drawn = rows(read_json(given.pairs)) if given.verb == "rows" else file_rows(given.folder)
        lines = ("\t".join(row) + "\n" for row in islice(drawn, given.count))
        with given.out.open("w", encoding="utf-8") as file:
            file.writelines([HEADER, *lines])


if __name__ == "__main__":
    main()
