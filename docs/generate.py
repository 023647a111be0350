"""Write the pages of docs/reference/ and the pictures of docs/images/ from the code: `make docs`.

    python docs/generate.py              # all of it
    python docs/generate.py --check      # write nothing; exit with 1 and name the pages that are out of date

Keys come from the dataclasses of recipes, commands from the command line itself, and the Python reference from
signatures and the first sentences of docstrings, so that there is one place for each text.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_type_hints

import typer

import lexigraph
from lexigraph import cli, explain
from lexigraph import recipe as recipes
from lexigraph.registry import SYSTEMS, WORD_VECTORS

DOCS = Path(__file__).parent
MADE = "<!-- Made by `make docs` from the code: do not edit. -->"
SECTIONS = {
    "data": "Which text, and how it is cut into examples. Word vectors have `train`, `columns` and `sentences` only.",
    "tokenizer": "How text becomes ids.",
    "train": "The loop: how long, how fast, on what, and when to validate.",
    "eval": "How validation and test are measured.",
    "words": "How words become vectors, for recipes of word vectors.",
    "expected": "The score that a recipe states.",
}
KINDS = {  # of systems, by what one of them can do: the page of its keys, and what it is called
    "translate": ("translator-keys.md", "Keys of translators", "write a text about another one"),
    "generate": ("model-keys.md", "Keys of language models", "go on with a text"),
    "encode": ("encoder-keys.md", "Keys of encoders", "make vectors of texts"),
    "": ("answer-keys.md", "Keys of predictors", "answer at once"),
}
PLUMBING = {  # what is public for the rest of the package, not for its users
    *(
        "finish",
        "score_lines",
        "rows",
        "reading_tokenizer",
        "space",
        "default_noise",
        "table",
        "mixture",
        "longer",
        "trial",
        "trial_of_lines",
        "align_lines",
        "estimate_lines",
        "cleaned",
        "one_pair",
        "read_pieces",
    ),
    *("continuations", "search", "translations", "hypotheses", "encode_flat", "analogies", "imported", "with_roles"),
    *("content", "head", "totals", "decoded", "scored"),
}


def main() -> None:
    pages = {
        "keys.md": keys(),
        **{page: model_keys(title, what, ability) for ability, (page, title, what) in KINDS.items()},
        "commands.md": commands("Commands", ["Training", "Text", "Runs"], COMMANDS),
        "model-commands.md": commands("Commands of models that write", ["Writing"], MODEL_COMMANDS),
        "answer-commands.md": commands("Commands of models that answer", ["Answering"], MODEL_COMMANDS),
        "space-commands.md": commands("Commands of sentence spaces", ["Sentence spaces"], SPACE_COMMANDS),
        "word-commands.md": group("Commands of word vectors", WORD_COMMANDS, "words", cli.WORDS),
        "statistical-commands.md": group(
            "Commands of translation by counting", STATISTICAL_COMMANDS, "statistical", cli.STATISTICAL
        ),
        "python.md": python(),
    }
    folder = DOCS / "reference"
    if "--check" in sys.argv:
        stale = [name for name, text in pages.items() if not _same(folder / name, text)]
        sys.exit(f"Out of date: {', '.join(stale)}. Run `make docs`." if stale else 0)
    folder.mkdir(exist_ok=True)
    for name, text in pages.items():
        (folder / name).write_text(text, encoding="utf-8")
    pictures(DOCS / "images")


def _same(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


def _page(*lines: str) -> str:
    return "\n".join([lines[0], "", MADE, "", *lines[1:]]).rstrip() + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


# keys of recipes


def keys() -> str:
    lines = [
        "# Keys of recipes",
        "A recipe is a TOML file of sections; `--set section.key=value` changes a key. The keys of `[model]` and",
        "`[objective]` belong to systems: keys of [language models](model-keys.md), [encoders](encoder-keys.md),",
        "[translators](translator-keys.md) and [predictors](answer-keys.md).",
        "`lexigraph explain KEY` shows a key with the recipes that set it and why, `lexigraph recipes NAME --keys`",
        "all keys of a recipe with their values.",
    ]
    for section, about in SECTIONS.items():
        lines += ["", f"## {section}", "", about, "", *_key_table(explain.section_keys(section))]
    return _page(*lines)


def model_keys(title: str, what: str, ability: str) -> str:
    lines = [
        f"# {title}",
        f"What `[model]` and `[objective]` of a recipe may hold, for systems that {what}. The other sections are "
        "those of [all recipes](keys.md).",
        "A part of a network, `[parts.NAME]`, has `system`, `vocabulary` and the keys of that system's model.",
    ]
    for name in (name for name in sorted(SYSTEMS) if _kind(name) == ability):
        recipe = next(each for each in recipes.names() if recipes.system_of(recipes.source(each).tables) == name)
        found = [key for part in ("model", "objective") for key in _keys_of(part, recipe)]
        lines += ["", f"## {name}", "", *_key_table(found)]
    return _page(*lines)


def _kind(name: str) -> str:
    """The first of KINDS that a system is of; one that names classes or writes captions is none but a predictor."""
    own = set(SYSTEMS[name].abilities)
    return next(ability for ability in KINDS if ability in own or not ability)


def _keys_of(section: str, recipe: str) -> list[explain.Key]:
    has_some = recipes.sections_of(recipes.read(recipe).system)[section].__dataclass_fields__
    return explain.section_keys(section, recipe) if has_some else []


def _key_table(found: list[explain.Key]) -> Iterator[str]:
    yield "| key | default | allowed | what it is |"
    yield "| --- | --- | --- | --- |"
    for key in found:
        yield f"| `{key.name}` | `{key.default}` | {_cell(key.allowed)} | {_cell(key.about)} |"


# commands

COMMANDS = (
    "`lexigraph VERB --help` shows the same on a terminal. Results go to standard output and all else to standard",
    "error; a verb exits with 0 when it is done, with 1 and a sentence when the work failed, and with 2 when it was",
    "asked in a wrong way. `--debug`, wherever it stands, shows the whole traceback of an error.",
    "",
    "More: commands of models that [write](model-commands.md) and [answer](answer-commands.md),",
    "[of sentence spaces](space-commands.md),",
    "[of word vectors](word-commands.md), [of translation by counting](statistical-commands.md).",
)
MODEL_COMMANDS = (
    "What a trained model can do; `lexigraph recipes` says which system can do what. `RUN` is a run folder or the",
    "name of a bundled model. Texts are arguments, or lines of standard input.",
    "",
    "More: [commands](commands.md), of models that [write](model-commands.md) and [answer](answer-commands.md),",
    "[of sentence spaces](space-commands.md), [of word vectors](word-commands.md).",
)
SPACE_COMMANDS = (
    "What a model does that has a vector for each sentence: the autoencoders `picture` and `lstm-autoencoder`, and",
    "as far as they have the ability, `bert` and `electra`.",
    "",
    "More: [commands](commands.md), [of models](model-commands.md), [of word vectors](word-commands.md).",
)
STATISTICAL_COMMANDS = (
    "",
    "IBM models, a phrase table, an n-gram model and a beam ([attention](../attention.md#before-networks)). More: "
    "[commands](commands.md), [of models](model-commands.md).",
)
WORD_COMMANDS = (
    "Wherever a file of vectors is expected, a run of word vectors serves, too.",
    "",
    "More: [commands](commands.md), [of models](model-commands.md), [of sentence spaces](space-commands.md).",
)


def commands(title: str, panels: list[str], lead: tuple[str, ...]) -> str:
    app: Any = typer.main.get_command(cli.app)
    lines = [f"# {title}", *lead]
    for panel in panels:
        lines += ["", f"## {panel}"]
        for name in cli.PANELS[panel]:
            lines += _command(f"lexigraph {name}", app.commands[name])
    return _page(*lines)


def group(title: str, about: Sequence[str], name: str, verbs: Iterable[str]) -> str:
    app: Any = typer.main.get_command(cli.app)
    lines = [f"# {title}", *about]
    for verb in verbs:
        lines += _command(f"lexigraph {name} {verb}", app.commands[name].commands[verb])
    return _page(*lines)


def _command(path: str, command: Any) -> Iterator[str]:
    hints = get_type_hints(inspect.unwrap(command.callback))
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.name in hints and each not in arguments]
    values = {each.name: each.metavar or _value(hints[each.name]) for each in options}
    needed = [f"{option.opts[0]} {values[option.name]}" for option in options if option.required]
    usage = " ".join([path, *(_argument(each) for each in arguments), *needed])
    yield from ("", f"### {path.removeprefix('lexigraph ')}", "")
    yield _cell(" ".join(command.help.split()))
    yield from ("", f"    {usage}{' [OPTIONS]' if len(options) > len(needed) else ''}", "")
    for each in arguments:
        if each.help:
            yield f"- `{_argument(each)}`: {_cell(each.help)}"
    for option in options:
        value = "" if option.is_flag else f" {values[option.name]}"
        default = "" if option.default in (None, False, "", ()) else f" Default: `{option.default}`."
        yield f"- `{option.opts[0]}{value}`: {_cell(option.help)}{default}"


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    many = argument.nargs == -1 and "..." not in name
    name = f"{name}..." if many else name
    return name if argument.required or name.startswith("[") else f"[{name}]"


def _value(hint: Any) -> str:
    """What stands behind an option: a number, a path or a text."""
    kinds = {int: "N", float: "NUMBER", Path: "PATH"}
    return next((word for kind, word in kinds.items() if hint is kind or kind in get_args(hint)), "TEXT")


# the Python reference


def python() -> str:
    """Public functions, what models can do, and the other public classes."""
    from lexigraph.abilities.textmodel import TextModel

    lines = [
        "# Python reference",
        "`import lexigraph` costs nothing: each name is loaded when it is first used. Errors that a user can mend",
        "are `lexigraph.LexigraphError`, whose text is a sentence.",
        "",
        "## Functions",
        "",
    ]
    public = {name: getattr(lexigraph, name) for name in lexigraph.__all__ if not name.startswith("_")}
    lines += [
        line for name, value in public.items() if inspect.isfunction(value) for line in _entry(value, "lexigraph.")
    ]
    lines += ["", "## Models", "", _first_sentence(TextModel), ""]
    lines += _members(TextModel)
    by_class: dict[type, list[str]] = {}
    for name, system in SYSTEMS.items():
        by_class.setdefault(system.model_class(), []).append(name)
    headings: dict[type, str] = {}  # of each class the model under which its methods are shown
    for kind, names in by_class.items():
        lines += ["", f"### {kind.__name__}: {', '.join(names)}", "", _first_sentence(kind), ""]
        as_before: dict[str, list[str]] = {}
        for ability in SYSTEMS[names[0]].abilities:
            home = next(each for each in kind.__mro__ if ability in vars(each))
            if headings.setdefault(home, kind.__name__) == kind.__name__:
                lines += [] if home is kind else _entry(getattr(kind, ability))
            else:
                as_before.setdefault(headings[home], []).append(f"`{ability}`")
        lines += _members(kind)
        lines += [f"- {', '.join(abilities)}: as {heading}" for heading, abilities in as_before.items()]
    lines += ["", f"## Word vectors ({WORD_VECTORS}), tokenizers, n-grams"]
    for kind in (value for value in public.values() if inspect.isclass(value)):
        if kind is not TextModel and not issubclass(kind, Exception):
            lines += ["", f"### {kind.__name__}", "", _first_sentence(kind), "", *_members(kind)]
    return _page(*lines)


def _members(kind: type) -> Iterator[str]:
    """The public methods and properties that a class brings."""
    for name, value in vars(kind).items():
        if name.startswith("_") or name in PLUMBING:
            continue
        if isinstance(value, classmethod | staticmethod):
            yield from _entry(value.__func__, f"{kind.__name__}.")
        elif inspect.isfunction(value):
            yield from _entry(value)
        elif (isinstance(value, property) or hasattr(value, "func")) and value.__doc__:
            yield f"- `{name}`: {_first_sentence(value)}"


class Shown(str):
    """An annotation or a default, as it is to be read."""

    def __repr__(self) -> str:
        return str(self)


def _entry(function: Any, prefix: str = "") -> Iterator[str]:
    signature = inspect.signature(function)
    given = [_readable(each) for each in signature.parameters.values() if each.name not in ("self", "cls")]
    shown = signature.replace(parameters=given, return_annotation=_annotation(signature.return_annotation))
    sentence = _first_sentence(function)
    yield f"- `{prefix}{function.__name__}{shown}`" + (f": {sentence}" if sentence else "")


def _readable(parameter: inspect.Parameter) -> inspect.Parameter:
    default = (
        Shown("…") if callable(parameter.default) and parameter.default is not inspect._empty else parameter.default
    )
    return parameter.replace(annotation=_annotation(parameter.annotation), default=default)


def _annotation(annotation: Any) -> Any:
    """Without the shapes of arrays, which docstrings tell."""
    return Shown(re.sub(r"\w+\[np\.ndarray, [^\]]*\]", "np.ndarray", str(annotation)))


def _first_sentence(value: Any) -> str:
    text = " ".join((inspect.getdoc(value) or "").split("\n\n")[0].split())
    return _cell(re.split(r"(?<=\.)\s(?=[A-Z`])", text)[0]).removesuffix(":")


# pictures

SENTENCES = (
    "The rain had stopped, but nobody went outside.",
    "Have you ever seen a lighthouse in winter?",
    "She counted the coins twice before she answered him.",
    "Tell me what you saw, and tell me slowly!",
)
PARSED = "Our shy friend who caught the rabbits wrote your letter in the morning ."
BLEND = ("I have never been so happy in my life.", "The old house stood alone upon the hill.")


def pictures(folder: Path) -> None:
    """What pages show: trees, gradients, a cliff, sentences with their pictures, the way from one to another."""
    folder.mkdir(exist_ok=True)
    (folder / "parse.svg").write_text(_tree(PARSED), encoding="utf-8")
    (folder / "phrases.svg").write_text(_phrases(PARSED), encoding="utf-8")
    (folder / "sentiment.svg").write_text(_sentiment(), encoding="utf-8")
    _gradient_flow(folder / "gradient-flow.png")
    _cliff(folder / "cliff.png")
    for plot in ("gradient-flow.png", "cliff.png"):
        _in_few_colours(folder / plot)
    books = lexigraph.load("books", device="cpu")
    _sheet(folder / "sentences.png", books.pictures(list(SENTENCES)), list(SENTENCES))
    path, _ = books.path_between(*BLEND, steps=5)
    _sheet(folder / "blend.png", books.pictures(path), [str(one) for one in books.blend(*BLEND, steps=5)])


def _tree(sentence: str) -> str:
    """A sentence of the built-in corpus with the arcs of its tree."""
    from lexigraph.drawing import arcs
    from lexigraph.text import dependencies

    words, tags, heads, relations = zip(*dependencies.tree(_clause(sentence)), strict=True)
    return arcs.draw(words, heads, relations, tags)


def _phrases(sentence: str) -> str:
    """A sentence of the built-in corpus with its phrases."""
    from lexigraph.drawing import nodes
    from lexigraph.text import phrases

    return nodes.draw(phrases.tree(_clause(sentence)))


def _clause(sentence: str) -> Any:
    from lexigraph.text import constructions, grammar

    return next(clause for clause in constructions.clauses(None) if grammar.realise(clause) == sentence)


def _sentiment() -> str:
    """What two negations make of a word of praise, at every node."""
    from lexigraph.drawing import nodes
    from lexigraph.text import sentiment
    from lexigraph.text.trees import parse

    tree = parse(
        "(S (NP I) (VP (V do) (RB not) (VB think) (SBAR (IN that) (S (NP (DT the) (NN film)) "
        "(VP (VBD was) (RB not) (ADJP (RB very) (JJ good)))))) (. .))"
    )
    return nodes.draw(sentiment.judged(tree), ["-1", "0", "+1"])


def _gradient_flow(file: Path) -> None:
    """The gradient of five untrained cells on its way back through random tokens: it vanishes, explodes, or stays."""
    import torch

    from lexigraph.models.rnn_lm import Config, Objective, RecurrentLanguageModel
    from lexigraph.text.vocabularies import Ids, Vocabularies
    from lexigraph.views import gradients
    from lexigraph.views.picture import save

    width, tokens = 64, 50
    cells = {
        "rnn": {"cell": "rnn"},
        "rnn-relu, 3 U": {"cell": "rnn-relu"},
        "lstm": {"cell": "lstm"},
        "lstm, forget_bias 3": {"cell": "lstm", "forget_bias": 3.0},
        "unitary": {"cell": "unitary"},
    }
    ids, flows = torch.randint(tokens, (32, 101), generator=torch.Generator().manual_seed(0)), []
    for name, settings in cells.items():
        torch.manual_seed(0)
        config = Config(layers=1, dim=width, scale=width**-0.5, **settings)
        network = RecurrentLanguageModel(config, Objective(), Vocabularies({"text": Ids(tokens)}))
        if settings["cell"] == "rnn-relu":
            with torch.no_grad():
                network.get_parameter("recurrent.blocks.0.kernel.weight_hh_l0").mul_(3)
        flows.append(gradients.flow_through(network, ids, name))
    save(gradients.picture(flows, "made by no run: untrained cells of 64 units"), file)


def _cliff(file: Path) -> None:
    """What `lexigraph look --cliff --out` draws."""
    from lexigraph.views import cliff
    from lexigraph.views.picture import save

    save(cliff.picture(cliff.paths()), file)


def _in_few_colours(file: Path) -> None:
    """A plot needs no more than a palette, and is a third as large with one."""
    from PIL import Image

    with Image.open(file) as plot:
        plot.convert("RGB").quantize(128).save(file, optimize=True)


def _sheet(file: Path, drawn: Any, captions: list[str]) -> None:
    import textwrap

    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(captions), figsize=(2.2 * len(captions), 2.6))
    for axis, pixels, caption in zip(axes, drawn, captions, strict=True):
        axis.imshow(pixels, interpolation="nearest")
        axis.set_axis_off()
        axis.set_title("\n".join(textwrap.wrap(caption, 26)), y=-0.05, va="top", fontsize=9)
    figure.tight_layout()
    figure.savefig(file, dpi=80, bbox_inches="tight", metadata={"Software": None})
    pyplot.close(figure)


if __name__ == "__main__":
    main()
