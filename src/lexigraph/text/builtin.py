"""The built-in corpora as records: made by an English grammar, so that every system can be trained without any data.

Wherever a file is expected, the name `grammar` means the one that has all fields, each from one clause, `sentiment`
praise and blame with their class (sentiment.py), `edits` sentences and what they are after one of several edits, each
a task (edits.py), `dates` dates in many forms (dates.py), `coded` sentences and what
they are in an invented language (coded.py), and names as `anbn:100` formal languages and other tests of memory
(languages.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice

import numpy as np

from lexigraph.errors import UsageError
from lexigraph.text import languages
from lexigraph.text.files import CODED, DATES, EDITS, GRAMMAR, SENTIMENT, UNSEEN_DATES
from lexigraph.text.readers import Record, Value

Fields = Mapping[str, Value]


def sentences(count: int, name: str = GRAMMAR) -> Iterator[str]:
    """So many sentences of a built-in corpus, or strings of the language of that name."""
    if lengths := languages.named(name):
        return languages.strings(lengths, count)
    if name != GRAMMAR:
        ((fields, make),) = CORPORA[name].items()
        return (str(values[fields[0]]) for values in islice(make(), count))
    from lexigraph.text import constructions  # its lexicon takes a while

    return constructions.sentences(count)


def records(fields: Sequence[str], count: int, name: str = GRAMMAR) -> Iterator[Record]:
    """So many records with these fields, of a built-in corpus or of a language."""
    if lengths := languages.named(name):
        found = languages.records(lengths, fields, count)
        if found is None:
            raise UsageError(
                f"{name} has no records of {' and '.join(fields)}; it has {languages.fields_of(lengths)}."
            )
        yield from (Record(values, number, number + 1) for number, values in enumerate(found))
        return
    makers = CORPORA[name]
    maker = next((make for known, make in makers.items() if set(fields) <= set(known)), None)
    if maker is None:
        known = "; ".join(" and ".join(names) for names in makers)
        raise UsageError(
            f"The built-in corpus {name} has no records of {' and '.join(fields)}; it has those of {known}."
        )
    for number, values in enumerate(islice(maker(), count)):
        yield Record(dict(values), number, number + 1)


def _questions() -> Iterator[Fields]:
    """Statements and what asks for them: `He sang .` and `Did he sing ?`"""
    from lexigraph.text import edits

    with_do, without = edits.edit_pairs("ask-do", None), edits.edit_pairs("ask-auxiliary", None)
    for both in zip(with_do, without, strict=True):
        yield from ({"source": source, "target": target} for source, target in both)


TASKS = {  # of the corpus `edits`: the edits that each stands for
    "ask": ("ask-do", "ask-auxiliary"),  # He sang . Did he sing ?
    "negate": ("not-do", "not-auxiliary"),  # He sang . He did not sing .
    "past": ("present-past",),  # She sings . She sang .
    "passive": ("passive",),  # He ate it . It was eaten by him .
    "plural": ("plural",),  # The key is old . The keys are old .
}


def _edits() -> Iterator[Fields]:
    """Sentences, what they are after an edit, and the name of the edit."""
    from lexigraph.text import edits

    made = {task: [edits.edit_pairs(family, None) for family in families] for task, families in TASKS.items()}
    while True:
        for task, families in made.items():
            for source, target in map(next, families):
                yield {"source": source, "target": target, "direction": task}


def _analogies() -> Iterator[Fields]:
    """Two sentences before and after the same edit; the second one's result is to be found."""
    from lexigraph.text import edits

    families = [edits.edit_quadruples(family, 1 << 40, split="train") for family in edits.EDITS]
    for quadruples in zip(*families, strict=True):
        for before, after, given, result in quadruples:
            yield {"before": before, "after": after, "before2": "", "after2": "", "given": given, "result": result}


def _constructions() -> Iterator[Fields]:
    """Sentences and the name of their construction: `passive`, `wh-question` …"""
    from lexigraph.text import constructions, grammar

    for clause in constructions.clauses(None):
        yield {"text": grammar.realise(clause), "label": clause.construction}


def _paraphrases() -> Iterator[Fields]:
    """Two sentences, and whether they say the same or another thing."""
    from lexigraph.text import meanings

    for text, other, same in meanings.paraphrases():
        yield {"text": text, "other": other, "label": "same" if same else "other"}


def _similarities() -> Iterator[Fields]:
    """Two sentences, and how much of what they say is the same."""
    from lexigraph.text import meanings

    return ({"text": text, "other": other, "number": number} for text, other, number in meanings.similarities())


def _agreement() -> Iterator[Fields]:
    """A subject, two forms of a verb, and the number of the one that agrees: `The key to the cabinets`: `is`."""
    from lexigraph.text import edits

    random = np.random.default_rng(0)
    for item in edits.agreement_items(1 << 40):
        label = int(random.integers(2))
        choices = [item.wrong, item.right] if label else [item.right, item.wrong]
        yield {"text": item.prefix, "choices": choices, "label": label}


def _judgements() -> Iterator[Fields]:
    """Praise, blame and neither."""
    from lexigraph.text import sentiment

    return ({"text": text, "label": label} for text, label in sentiment.items())


def _dates(unseen: bool = False) -> Iterator[Fields]:
    """Dates as somebody writes them, and in ISO 8601."""
    from lexigraph.text import dates

    return ({"source": text, "target": iso} for text, iso in dates.pairs(unseen))


def _coded() -> Iterator[Fields]:
    """Sentences, what they are in an invented language, and which word comes from which: `0-0 1-3`."""
    from lexigraph.text import coded

    for source, target, links in coded.pairs():
        yield {"source": " ".join(source), "target": " ".join(target), "alignment": coded.written(links)}


def _parts() -> Iterator[Fields]:
    """Words, and which of them are the subject, the objects and the place of the clause, as B-, I- and O tags."""
    from lexigraph.text import constructions, grammar

    for clause in constructions.clauses(None):
        words = grammar.realise(clause).split()
        tags = ["O"] * len(words)
        parts = [("OBJECT", each) for each in clause.objects] + [("PLACE", clause.place)]
        for name, part in [("SUBJECT", clause.subject), *parts]:
            for case in ("subject", "object"):
                phrase = grammar.spoken(part, case).split()
                first = next((n for n in range(len(words)) if phrase and _same(words[n:], phrase, tags[n:])), None)
                if first is not None:
                    tags[first : first + len(phrase)] = [f"B-{name}", *[f"I-{name}"] * (len(phrase) - 1)]
                    break
        yield {"tokens": words, "tags": tags}


def _constituents() -> Iterator[Fields]:
    """Words, their tags, and the phrases that they form."""
    from lexigraph.text import constructions, phrases

    for clause in constructions.clauses(None):
        tree = phrases.tree(clause)
        yield {"tokens": list(tree.words), "tags": tree.tags, "phrases": tree.phrases}


def _judged_trees() -> Iterator[Fields]:
    """Trees with the sentiment of every node: praise, blame or neither."""
    from lexigraph.text import sentiment

    return ({"tokens": list(tree.words), "tree": list(tree.spans)} for tree in sentiment.trees())


def _trees() -> Iterator[Fields]:
    """Words, the head that each hangs on, the relation between them, and the word's part of speech."""
    from lexigraph.text import constructions, dependencies

    for clause in constructions.clauses(None):
        words = dependencies.tree(clause)
        fields = zip(("tokens", "tags", "heads", "relations"), zip(*words, strict=True), strict=True)
        yield {name: [str(each) for each in values] for name, values in fields}


def _asked() -> Iterator[Fields]:
    """Passages, a question about each, and its answer; some have none."""
    from lexigraph.text import passages

    for passage, question, answer, begin in passages.passages():
        yield {"context": passage, "question": question, "answer": answer, "answer_start": begin}


def _same(words: list[str], phrase: list[str], tags: list[str]) -> bool:
    """Whether words begin with a phrase, whatever the case of the first letter, and have no tags yet."""
    begin = [word.lower() for word in words[: len(phrase)]]
    return begin == [word.lower() for word in phrase] and set(tags[: len(phrase)]) == {"O"}


def _scenes() -> Iterator[Fields]:
    """A coloured shape on a dark ground, and its name: 8-bit pictures of 16 × 16 dots."""
    random = np.random.default_rng(0)
    down, across = np.mgrid[:16, :16]
    while True:
        size, y, x = random.integers(3, 6), *random.integers(5, 11, 2)
        shapes = {
            "square": (abs(down - y) < size) & (abs(across - x) < size),
            "disc": (down - y) ** 2 + (across - x) ** 2 < size**2,
            "cross": ((abs(down - y) < 2) | (abs(across - x) < 2)) & (abs(down - y) + abs(across - x) <= 2 * size),
        }
        name = random.choice(list(shapes))
        ground, colour = random.integers(0, 60, (16, 16, 3)), random.integers(100, 256, 3)
        image = np.where(shapes[str(name)][..., None], colour, ground)
        yield {"image": image.astype(np.uint8), "label": str(name)}


def _captions() -> Iterator[Fields]:
    """Two shapes, and each of the sentences that say where they are."""
    from lexigraph.text import scenes

    for picture, sentences in scenes.scenes():
        for sentence in sentences:
            yield {"image": picture, "caption": sentence}


def _sums() -> Iterator[Fields]:
    """The adding problem at a length that is soon learned."""
    made = languages.sums(languages.Lengths("adding", 5, 15), 1 << 40)
    return (dict(zip(languages.SUM, values, strict=True)) for values in made)


def _signals() -> Iterator[Fields]:
    """A noisy signal that rises, falls or stays, in segments with these names: one frame alone does not tell which.

    A frame has two numbers: the signal, and the same ten times as large and noisier.
    """
    random = np.random.default_rng(0)
    slopes = {"falling": -1.0, "level": 0.0, "rising": 1.0}
    while True:
        tags: list[str] = []
        while len(tags) < 20:
            tags += [str(random.choice(list(slopes)))] * int(random.integers(4, 12))
        signal = np.cumsum([slopes[tag] for tag in tags]) + random.normal(0, 3)
        noise = random.normal(size=(2, len(tags))) * [[0.3], [10.0]]
        yield {"frames": (np.stack([signal, 10 * signal]) + noise).T.astype(np.float32), "tags": tags}


Makers = dict[tuple[str, ...], Callable[[], Iterator[Fields]]]  # by the fields of what they make
MAKERS: Makers = {
    ("source", "target"): _questions,
    ("text", "label"): _constructions,
    ("tokens", "tags"): _parts,
    ("tokens", "heads", "relations", "tags"): _trees,
    ("tokens", "tags", "phrases"): _constituents,
    ("tokens", "tree"): _judged_trees,
    ("context", "question", "answer"): _asked,
    ("image", "label"): _scenes,
    ("image", "caption"): _captions,
    languages.SUM: _sums,
    ("frames", "tags"): _signals,
    ("before", "after", "before2", "after2", "given", "result"): _analogies,
    ("text", "other", "label"): _paraphrases,
    ("text", "other", "number"): _similarities,
    ("text", "choices", "label"): _agreement,
}
CORPORA: dict[str, Makers] = {
    GRAMMAR: MAKERS,
    SENTIMENT: {("text", "label"): _judgements},
    EDITS: {("source", "target", "direction"): _edits},
    DATES: {("source", "target"): _dates},
    CODED: {("source", "target", "alignment"): _coded},
    UNSEEN_DATES: {("source", "target"): partial(_dates, unseen=True)},
}
