"""The verbs of translation by counting: lexigraph statistical train, translate, align, phrases."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lexigraph.cli.options import (
    AsJson,
    FromFile,
    HeldOut,
    Printer,
    Quiet,
    Texts,
    TrainingText,
    answers,
    notify,
    print_table,
    read_texts,
)
from lexigraph.errors import UsageError

Folder = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that `statistical train` wrote.")]
Model = Annotated[int, typer.Option(min=1, max=2, help="IBM model 1, or 2, which knows places, too.")]
SHOWN = 8  # words of a habit


def train(
    data: TrainingText = None,
    out: Annotated[Path | None, typer.Option(help="The folder of the model.")] = None,
    valid: HeldOut = None,
    model: Model = 2,
    longest: Annotated[int, typer.Option(min=1, max=20, help="Words of a phrase.")] = 5,
    order: Annotated[int, typer.Option(min=1, max=10, help="Words of an n-gram.")] = 3,
    most: Annotated[int, typer.Option(min=1, help="So many pairs of --valid tune the weights.")] = 400,
    quiet: Quiet = False,
) -> None:
    """Learn to translate from pairs: a source, a tab and its target a line. --valid tunes the weights."""
    from lexigraph.run import refuse_occupied
    from lexigraph.statistical.translator import PhraseTranslator

    if out is None:
        raise UsageError("Say where the model goes: --out FOLDER.")
    refuse_occupied(out)
    pairs, held_out = _pairs(data), _pairs(valid)[:most] if valid else []
    say = (lambda text: None) if quiet else notify
    made = PhraseTranslator.train(pairs, tune=held_out, model=model, longest=longest, order=order, say=say)
    made.save(out)
    print(out)


def translate(
    folder: Folder,
    texts: Texts = None,
    file: FromFile = None,
    beam: Annotated[int, typer.Option(min=1, max=10_000, help="So many hypotheses of each length.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Translate each text."""
    from lexigraph.statistical.translator import PhraseTranslator

    model = PhraseTranslator.load(folder)

    def ask(texts: Sequence[str]) -> list[str]:
        return model.translate(texts, beam=beam)

    with Printer(as_json) as show:
        for text, found in answers(ask, read_texts(texts, file)):
            show(found, {"text": text, "translation": found})


def align(
    data: TrainingText = None,
    model: Model = 2,
    one_way: Annotated[
        bool, typer.Option("--one-way", help="From source to target alone: every word of a target has one link.")
    ] = False,
    gold: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The true links, a line each: say the error, too.")
    ] = None,
    show_habits: Annotated[
        bool, typer.Option("--habits", help="Words that come from none, and words that become several.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Align the words of pairs, learned from these pairs alone: 0-0 1-2 … for each. Words stand between spaces."""
    from lexigraph.evaluation.alignment import TrueLinks
    from lexigraph.statistical.ibm import IBMModel, habits
    from lexigraph.statistical.translator import align

    true = TrueLinks(gold) if gold else None
    pairs = [(source.split(), target.split()) for source, target in _pairs(data)]
    if one_way:
        made = IBMModel.train(pairs, model=model)
        found = [made.align(*pair) for pair in pairs]
    else:
        found = align(pairs, model)
    scores = true.scores(found) if true else None
    with Printer(as_json) as show:
        for (source, target), links in zip(pairs, found, strict=True):
            written = " ".join(f"{i}-{j}" for i, j in links)
            show(written, {"source": " ".join(source), "target": " ".join(target), "alignment": written})
    if scores:
        notify(str(scores))
    if show_habits:
        ways = habits(pairs, found)
        for title, rows in (("from none", ways.spurious), ("becomes", ways.fertile)):
            print_table(("word", title, "times"), [(w, f"{x:.2f}", f"{n:,}") for w, x, n in rows[:SHOWN]])
        notify("; ".join(f"{kind} {share:.1%}" for kind, share in ways.kinds.items()))


def phrases(
    folder: Folder,
    texts: Texts = None,
    file: FromFile = None,
    count: Annotated[int, typer.Option("-k", "--count", min=1, max=100, help="So many of each.")] = 5,
    as_json: AsJson = False,
) -> None:
    """What phrases become, with p(target | source) and p(source | target)."""
    import math

    from lexigraph.statistical.translator import PhraseTranslator

    model = PhraseTranslator.load(folder)
    with Printer(as_json) as show:
        for text in read_texts(texts, file):
            found = model.table.get(tuple(text.split()), [])
            if not found:
                notify(f"{text!r} is no phrase of the table.")
            for words, features in found[:count]:
                there, back = math.exp(features[0]), math.exp(features[1])
                line = f"{text}\t{' '.join(words)}\t{there:.3f}\t{back:.3f}"
                show(line, {"source": text, "target": " ".join(words), "there": there, "back": back})


def _pairs(names: list[str] | None) -> list[tuple[str, str]]:
    """The pairs of files."""
    from lexigraph.nn.translation import SOURCE, TARGET, pairs
    from lexigraph.recipe import Data
    from lexigraph.text.corpus import examples

    if not names:
        raise UsageError("There are no pairs: give --data FILE, a source, a tab and its target a line.")
    data = Data(train=tuple(names), unit="line", split=(1.0,))
    found = examples(data, pairs(), str)
    return [(str(each.values[SOURCE]), str(each.values[TARGET])) for each in found]
