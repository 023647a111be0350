"""The verbs of models with a vector for a text that are no ability of theirs: expand, weat."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lexigraph.cli.options import AsJson, Device, Force, RunArgument, load_model, notify, print_json, print_table
from lexigraph.errors import AbilityError, UsageError


def expand(
    run: RunArgument,
    vectors: Annotated[Path, typer.Argument(metavar="VECTORS", help="Own word vectors: a file or a run of them.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The new run folder.")],
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """A sentence encoder that knows all words of own vectors, by a linear map from their space into its table."""
    from lexigraph.exchange import expanded

    folder, added = expanded.expand(run, vectors, out, force)
    if as_json:
        print_json({"run": str(folder), "words": added})
        return
    notify(f"{added:,} words more.")
    print(folder)


def weat(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A run that encodes texts, or word vectors.")],
    x: Annotated[str, typer.Option("-x", help="Words X, with commas,")],
    y: Annotated[str, typer.Option("-y", help="against words Y,")],
    a: Annotated[str, typer.Option("-a", help="as they go with words A")],
    b: Annotated[str, typer.Option("-b", help="rather than with words B.")],
    template: Annotated[
        list[str] | None, typer.Option(metavar="'This is {}.'", help="A sentence for each word; may be given again.")
    ] = None,
    pooling: Annotated[str | None, typer.Option(help="Of an encoder: mean of its tokens' vectors, or cls.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Of permutations, where there are too many.")] = 0,
    as_json: AsJson = False,
    device: Device = "auto",
) -> None:
    """Unwanted associations (WEAT; of sentences: SEAT): effect size and p-value of X and Y going with A and B."""
    from lexigraph.run import holds_word_vectors

    X, Y, A, B = ([word.strip() for word in group.split(",") if word.strip()] for group in (x, y, a, b))
    if model.is_file() or holds_word_vectors(model):
        from lexigraph.words import bias
        from lexigraph.words.vectors import WordVectors

        if template or pooling:
            raise UsageError("Words have their vectors without a sentence: leave out --template and --pooling.")
        found = bias.weat(WordVectors.load(model), X, Y, A, B, seed=seed)
    else:
        from lexigraph.abilities.vectors import Vectors
        from lexigraph.evaluation.associations import TEMPLATES, associations

        loaded = load_model(model, device)
        if not isinstance(loaded, Vectors):
            can = ", ".join(loaded.abilities)
            raise AbilityError(f"This {loaded.recipe.system} model has no vectors of texts; it can: {can}.")
        templates = template or TEMPLATES
        found = associations(loaded, X, Y, A, B, templates=templates, pooling=pooling, seed=seed)
    if as_json:
        print_json({"effect": found.effect, "p": found.p})
        return
    print_table(("effect size d", "p"), [(f"{found.effect:.3f}", f"{found.p:.4f}")])
