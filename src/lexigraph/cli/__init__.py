"""The command line: each verb is a few lines over train, load and the abilities of a model.

Results go to standard output, everything else to standard error, so that verbs can be piped. Exit codes: 0 done,
1 the work failed (a sentence, no traceback unless --debug), 2 wrong usage.

The modules beside this one hold the verbs as plain functions, which import what is slow inside them, so that
`lexigraph --help` loads no torch. To add a verb: write its function there and name it below.
"""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from lexigraph.cli import (
    answering,
    captioning,
    choosing,
    classifying,
    encoding,
    estimating,
    explaining,
    language,
    looking,
    matching,
    parsing,
    replaying,
    runs,
    sentences,
    spaces,
    statistical,
    tagging,
    text,
    training,
    translating,
    word_scores,
    words,
    writing,
)
from lexigraph.cli.options import first_process, notify
from lexigraph.errors import Interrupted, LexigraphError, UsageError

Verbs = dict[str, Callable[..., None]]

PANELS: dict[str, Verbs] = {  # as the help shows them
    "Training": {
        "train": training.train,
        "recipes": training.recipes,
        "explain": explaining.explain,
        "compare": training.compare,
    },
    "Text": {
        "check": text.check,
        "sentences": text.sentences,
        "search": text.search,
        "tokenize": text.tokenize,
        "convert": text.convert,
    },
    "Runs": {
        "demo": runs.demo,
        "info": runs.info,
        "eval": runs.evaluate,
        "replay": replaying.replay,
        "look": looking.look,
        "expand": sentences.expand,
        "weat": sentences.weat,
    },
    "Writing": {
        "generate": language.generate,
        "complete": language.complete,
        "score": language.score,
        "rank": language.rank,
        "translate": translating.translate,
        "align": translating.align,
        "summarise": writing.summarise,
        "caption": captioning.caption,
        "diagnose": language.diagnose,
        "compare-text": language.compare_text,
    },
    "Answering": {
        "answer": answering.answer,
        "classify": classifying.classify,
        "tag": tagging.tag,
        "parse": parsing.parse,
        "estimate": estimating.estimate,
        "choose": choosing.choose,
        "match": matching.match,
        "fill": encoding.fill,
    },
    "Sentence spaces": {
        "encode": spaces.encode,
        "decode": spaces.decode,
        "pictures": spaces.pictures,
        "read": spaces.read,
        "blend": spaces.blend,
        "solve": spaces.solve,
        "sample": spaces.sample,
        "neighbours": spaces.neighbours,
    },
}
WORDS: Verbs = {  # lexigraph words VERB
    "train": words.train,
    "nearest": words.nearest,
    "similarity": words.similarity,
    "analogy": words.analogy,
    "outlier": words.outlier,
    "eval": word_scores.evaluate,
    "curve": word_scores.curve,
    "map": words.draw,
    "debias": words.debias,
    "senses": words.senses,
    "search": words.search,
    "align": words.align,
}
STATISTICAL: Verbs = {  # lexigraph statistical VERB
    "train": statistical.train,
    "translate": statistical.translate,
    "align": statistical.align,
    "phrases": statistical.phrases,
}

app = typer.Typer(
    name="lexigraph",
    help="Train, evaluate, decode and look inside sequence models on your own text, offline.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
words_app = typer.Typer(name="words", help="Word vectors: train, ask, judge and draw them.", no_args_is_help=True)
statistical_app = typer.Typer(
    name="statistical", help="Translation by counting: alignments, phrases, n-grams.", no_args_is_help=True
)

for panel, verbs in PANELS.items():
    for name, verb in verbs.items():
        app.command(name, rich_help_panel=panel)(verb)
for name, verb in WORDS.items():
    words_app.command(name)(verb)
app.add_typer(words_app, rich_help_panel="Words")
for name, verb in STATISTICAL.items():
    statistical_app.command(name)(verb)
app.add_typer(statistical_app, rich_help_panel="Words")


@app.callback(invoke_without_command=True)
def _options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    if version:
        from lexigraph import __version__

        print(f"lexigraph {__version__}")
        raise typer.Exit


def main() -> NoReturn:
    """Run the command line; errors become a sentence and an exit code."""
    debug = "--debug" in sys.argv
    if debug:  # wherever it stands
        sys.argv.remove("--debug")
    if sys.argv[1:2] == ["solve"]:  # a sum that begins with a minus is no option
        sys.argv[2:] = [f" {word}" if re.match(r"-[^-].*\s", word) else word for word in sys.argv[2:]]
    _check_streams()
    warnings.showwarning = lambda message, *_, **__: notify(f"! {message}")
    try:
        app(standalone_mode=True)
    except Interrupted as stopped:
        if first_process():
            notify(str(stopped))
        raise SystemExit(0) from None
    except LexigraphError as error:
        if debug:
            raise
        notify(f"lexigraph: {error}")
        raise SystemExit(2 if isinstance(error, UsageError) else 1) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    except BrokenPipeError:  # the reader of a pipe had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(0) from None
    except OSError as error:  # a full disk, a folder that may not be written to
        if debug:
            raise
        notify(f"lexigraph: {error}")
        raise SystemExit(1) from None
    except (MemoryError, RuntimeError) as error:  # torch's is a RuntimeError
        if debug or not (isinstance(error, MemoryError) or "can't allocate memory" in str(error)):
            raise
        notify(f"lexigraph: there is not enough memory for what was asked: {str(error).rpartition('] ')[2]}")
        raise SystemExit(1) from None
    raise SystemExit(0)


def _check_streams() -> None:
    """Standard streams may be closed: what would be written to nowhere is refused, and the others are nothing."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115
    if sys.stderr is None:  # there is nowhere to say anything; its number must not become that of a file
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        notify("lexigraph: standard output is closed, so that results go nowhere: >/dev/null throws them away.")
        raise SystemExit(1)
