"""Analogies that the flagship is trained on: edits of any two sentences, from the built-in grammar and from books.

    python benchmarks/analogies.py harvest books.main.txt WORD_LIST HARVEST     parts of clauses, from books
    python benchmarks/analogies.py grammar POOL                                 pairs of sentences, from the grammar
    python benchmarks/analogies.py draw HARVEST POOL OUT.tsv COUNT [--keep-out FILE …] [--workers N]
    python benchmarks/analogies.py files FOLDER OUT.tsv COUNT                   of sentence-edits and StylePTB

A row has before, after, before2, after2, given and result (objectives/analogies.py of the package). Edits are of a
feature: the subject's person or number, tense, aspect, modal, polarity, mood, politeness. What is edited comes from

- the grammar's training split, less what benchmarks/books.py keeps out to choose by: all families of text/edits.py
  and some more, each in both directions, and two at once;
- plain clauses with words of books (clauses.py), whose verbs are exchanged for others of a word list now and then;
- book sentences as they are, denied and asked.

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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from itertools import islice
from pathlib import Path
from random import Random

from books import kept_out
from clauses import (
    AUXILIARIES,
    DETERMINERS,
    HOW,
    MODALS,
    OPENINGS,
    PERSONS,
    PLURALS,
    TAILS,
    WORDS,
    Clause,
    Harvest,
    Phrase,
    Subject,
    changed,
    harvest,
    realise,
    sound,
)  # fmt: skip

from lexigraph.evaluation.latent.arithmetic import combined
from lexigraph.evaluation.latent.edit_files import edit_families
from lexigraph.evaluation.latent.sentences import spelled
from lexigraph.text import constructions, grammar
from lexigraph.text.edits import COMMAND, EDITS, Edit

Pair = tuple[str, str]
Row = tuple[str, str, str, str, str, str]
LONGEST = 16  # words: all texts are padded to the longest in training
CLAUSES = 16_000  # of the grammar, which all edits are tried on,
TRIES = 1_500  # and all two edits at once
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
OPS |= {("negative", "", "not"): 4.0, ("mood", "statement", "question"): 4.0}
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
        self.harvest, self.pool, self.random = harvest, pool, Random(seed)

    # -- clauses with words of books

    def phrase(self) -> Phrase:
        random = self.random
        if random.random() < 0.22:
            return random.choice(self.harvest.predicates)
        found = random.choice(self.harvest.phrases)
        if random.random() < 0.3:  # any verb, so that forms are learned of all
            found = replace(found, verb=random.choice(self.harvest.verbs))
        return found

    def subject(self) -> Subject:
        if self.random.random() < 0.3:
            return self.random.choice(self.harvest.subjects)
        return person(self.random.choice([*NAMES, "he", "she", "I", "it"]))

    def clause(self) -> Clause:
        """Any clause."""
        random = self.random
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
            if random.random() < 0.12:
                changes["tail"] = random.choice(TAILS).replace("{how}", random.choice(sorted(HOW)))
            if (other := changed(clause, **changes)) is not None:
                return other

    def book_pair(self, ops: Sequence[Op]) -> Pair | None:
        """A clause with words of books, before and after some edits."""
        clause: Clause | None = self.clause()
        if any(op[0] == "order" for op in ops):
            clause = Clause(person("you"), self.phrase(), mood="command")
            if not sound(clause):
                return None
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

    # -- book sentences as they are

    def sentence_pair(self, op: Op) -> Pair | None:
        """A book sentence denied or asked."""
        text = self.random.choice(self.harvest.sentences)
        words = text[:-1].split()
        place = next((n for n, word in enumerate(words) if word in AUXILIARIES | {"has", "had", "have"}), 0)
        if not place or "not" in words or "never" in words or text[-1] != ".":
            return None
        subject, auxiliary, rest = words[:place], words[place], words[place + 1 :]
        if op[0] == "negative":
            denied = ["cannot"] if auxiliary == "can" else [auxiliary, "not"]
            return text, " ".join([*subject, *denied, *rest]) + "."
        if subject[0] not in ("I", "I'm") and not _name(subject[0]):
            subject = [subject[0].lower(), *subject[1:]]
        return text, " ".join([auxiliary.capitalize(), *subject, *rest]) + "?"

    # -- any of them

    def pair(self, op: Op) -> Pair:
        """A pair for an edit, from any source that has it."""
        while True:
            drawn = self.random.random()
            if drawn < 0.25 and op[0] in ("negative", "mood"):
                found = self.sentence_pair(op)
            elif drawn < 0.5 and (known := self.pool.get(str(op))):
                found = self.random.choice(known)
            else:
                found = self.book_pair([op])
            if found and found[0] != found[1]:
                return found


def person(text: str) -> Subject:
    return Subject(text, PERSONS[text][2])


def _name(word: str) -> bool:
    return word.lower() not in DETERMINERS and word.lower() not in PERSONS


# ---- rows ---------------------------------------------------------------------------------------------------------

FEATURES_APART = ({"subject", "number", "noun"}, {"tense", "modal"}, {"aspect", "modal"}, {"mood"}, {"negative"})


def compatible(first: Op, second: Op) -> bool:
    """Whether two edits may be made at once."""
    if "order" in (first[0], second[0]) or first[0] == second[0]:
        return False
    return not any({first[0], second[0]} <= group for group in FEATURES_APART)


def rows(harvest: Harvest, pool: Pool, seed: int) -> Iterator[Row]:
    """Rows without end."""
    source, random = Source(harvest, pool, seed), Random(seed + 1)
    ops, weights = list(OPS), list(OPS.values())
    families, two = list(EDITS), [name for name in pool if " + " in name]
    while True:
        drawn = random.random()
        if drawn < 0.30:
            row = family_row(source, random, random.choice(families))
        elif drawn < 0.38:
            row = two_families_row(source, random, random.choice(two))
        elif drawn < 0.78:
            row = one_row(source, random, random.choices(ops, weights)[0])
        else:
            first, second = random.choices(ops, weights, k=2)
            row = two_row(source, random, first, second) if compatible(first, second) else None
        if row:
            yield reversed_row(row) if random.random() < 1 / 3 else row


def family_row(source: Source, random: Random, family: str) -> Row | None:
    """An edit of the grammar, from any sentence to any other."""
    pairs = source.pool[family]
    (a, b), (given, result) = random.choice(pairs), random.choice(pairs)
    return (a, b, "", "", given, result) if a != given else None


def two_families_row(source: Source, random: Random, families: str) -> Row:
    """Two edits of the grammar at once, from one or two other sentences."""
    both = source.pool[families]
    if random.random() < 0.25:
        return (*random.choice(both), "", "", *random.choice(both))
    first, second = (random.choice(source.pool[family]) for family in families.split(" + "))
    return (*first, *second, *random.choice(both))


def one_row(source: Source, random: Random, op: Op) -> Row | None:
    """An edit from any sentence to any other, of whatever source."""
    first, (given, result) = source.pair(op), source.pair(op)
    if op[0] == "number" and random.random() < 0.15:  # `you` stays as it is
        clause = source.clause()
        if (same := changed(clause, subject=person("you"))) is not None and not clause.phrase.bound:
            given = result = realise(same)
    if op[0] == "number" and random.random() < 0.3:  # a noun's number does for a pronoun, and the other way round
        first = source.pair(("noun", "singular", "plural"))
    return (*first, "", "", given, result) if first[0] != given else None


def two_row(source: Source, random: Random, first: Op, second: Op) -> Row | None:
    """Two edits at once: both of one other sentence, or each of its own."""
    both = next(filter(None, (source.book_pair([first, second]) for _ in range(20))), None)
    if both is None or both[0] == both[1]:
        return None
    if random.random() < 0.3:
        donor = next(filter(None, (source.book_pair([first, second]) for _ in range(20))), None)
        return (*donor, "", "", *both) if donor else None
    return (*source.pair(first), *source.pair(second), *both)


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


def refused(files: Sequence[Path]) -> Callable[[Row], bool]:
    """Whether a row has a sentence of these files, or four words in a row of one."""
    lines = (line for file in files for line in file.read_text(encoding="utf-8").splitlines())
    texts = [re.split(r"(?<=[.?!])\s*[-+]?\s*", cell) for line in lines for cell in line.split("\t")]
    runs = set().union(*(grams(text) for cell in texts for text in cell)) if files else set()
    whole = {" ".join(WORDS.findall(text.lower())) for cell in texts for text in cell}

    def check(row: Row) -> bool:
        return any(grams(text) & runs or " ".join(WORDS.findall(text.lower())) in whole for text in row if text)

    return check


def draw(arguments: tuple[Path, Path, int, int, list[Path]]) -> list[str]:
    """So many lines."""
    file, pool, count, seed, keep_out = arguments
    bad = refused(keep_out)
    with lzma.open(pool, "rt", encoding="utf-8") as stream:
        known = {name: [(a, b) for a, b in pairs] for name, pairs in json.load(stream).items()}
    drawn = rows(Harvest.load(file), known, seed)
    kept = (row for row in drawn if max(text.count(" ") for text in row) < LONGEST and not bad(row))
    return ["\t".join(row) for row in islice(kept, count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    wanted = {"harvest": ("text", "word_list", "out"), "grammar": ("out",), "draw": ("harvest", "pool", "out"),
              "files": ("folder", "out")}  # fmt: skip
    parts = {name: verbs.add_parser(name) for name in wanted}
    for name, files in wanted.items():
        for file in files:
            parts[name].add_argument(file, type=Path)
    for name in ("draw", "files"):
        parts[name].add_argument("count", type=int)
    parts["draw"].add_argument("--keep-out", type=Path, nargs="*", default=[])
    parts["draw"].add_argument("--workers", type=int, default=1)
    given = parser.parse_args()
    if given.verb == "harvest":
        words = given.word_list.read_text(encoding="utf-8").splitlines()
        harvest(given.text.read_text(encoding="utf-8").splitlines(), words).save(given.out)
    elif given.verb == "grammar":
        with lzma.open(given.out, "wt", encoding="utf-8") as stream:
            json.dump(grammar_pool(), stream)
    elif given.verb == "files":
        lines = ("\t".join(row) for row in islice(file_rows(given.folder), given.count))
        given.out.write_text(HEADER + "".join(f"{line}\n" for line in lines), encoding="utf-8")
    else:
        share = -(-given.count // given.workers)
        jobs = [(given.harvest, given.pool, share, 100 + n, given.keep_out) for n in range(given.workers)]
        with given.out.open("w", encoding="utf-8") as file, ProcessPoolExecutor(given.workers) as pool:
            file.write(HEADER)
            for lines in pool.map(draw, jobs):
                file.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
