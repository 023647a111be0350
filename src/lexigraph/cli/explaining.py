"""What the keys of recipes mean: the verb explain, and the table of `lexigraph recipes NAME --keys`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from lexigraph.cli.options import AsJson, print_json, print_table

if TYPE_CHECKING:
    from lexigraph.explain import Explanation
    from lexigraph.recipe import Recipe


def explain(
    key: Annotated[str, typer.Argument(metavar="KEY", help="train.warmup, warmup, or a section: train.")],
    recipe: Annotated[str | None, typer.Option(metavar="NAME", help="As this recipe has it.")] = None,
    as_json: AsJson = False,
) -> None:
    """What a key of recipes means: type, default, range, the systems that have it, recipes that set it and why."""
    from lexigraph import explain as explaining

    if key in explaining.NAMES:
        found = explaining.section_keys(key, recipe)
        if as_json:
            print_json([dataclasses.asdict(each) for each in found])
            return
        rows = [(each.name, each.default, each.allowed, each.about) for each in found]
        print_table(("key", "default", "allowed", "what it is"), rows)
        return
    explanations = explaining.explain(key, recipe)
    if as_json:
        print_json([dataclasses.asdict(each) for each in explanations])
        return
    print("\n\n".join("\n".join(_lines(each)) for each in explanations))


def _lines(explanation: Explanation) -> list[str]:
    """An explanation as a person reads it."""
    from lexigraph.explain import described

    key = explanation.key
    lines = [
        f"{key.name}: {key.about}",
        f"  allowed  {key.allowed}",
        f"  default  {key.default}",
        f"  systems  {described(key.systems)}",
    ]
    width = max((len(use.recipe) for use in explanation.uses), default=0)
    values = max((len(use.value) for use in explanation.uses), default=0)
    for use in explanation.uses:
        title = "recipes" if use is explanation.uses[0] else ""
        lines.append(f"  {title:<7}  {use.recipe:<{width}}  {use.value:<{values}}  {use.reason}".rstrip())
    return lines


def print_keys(recipe: Recipe) -> None:
    """Every key of a recipe: its value, default, what it may be and what it is."""
    from lexigraph.explain import recipe_keys

    rows = [(key.name, value, key.default, key.allowed, key.about) for key, value in recipe_keys(recipe)]
    print_table(("key", "value", "default", "allowed", "what it is"), rows)
