"""The command line as a whole: its verbs are what the models can do."""

import inspect

import pytest
import typer

from lexigraph import cli
from lexigraph.registry import SYSTEMS

ABILITIES = sorted({ability for system in SYSTEMS.values() for ability in system.abilities})
MEASURING = {"diagnose", "compare-text"}  # they ask a model for several abilities and compare
COMMANDS = typer.main.get_command(cli.app).commands


def test_the_verbs_over_a_model_are_the_abilities_of_the_systems():
    panels = {name: command.rich_help_panel for name, command in COMMANDS.items()}
    verbs = {name for name, panel in panels.items() if panel in ("Abilities", "Sentence spaces")}
    assert verbs - MEASURING == set(ABILITIES)


@pytest.mark.parametrize("ability", ABILITIES)
def test_the_verb_of_an_ability_is_the_function_of_its_name_and_begins_with_the_run(ability):
    verb = inspect.unwrap(COMMANDS[ability].callback)
    assert verb.__name__ == ability
    assert next(iter(inspect.signature(verb).parameters)) == "run"


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_a_model_has_a_method_for_each_of_its_abilities(name):
    model = SYSTEMS[name].model_class()
    assert [ability for ability in SYSTEMS[name].abilities if not callable(getattr(model, ability, None))] == []


@pytest.mark.parametrize("group", [COMMANDS, COMMANDS["words"].commands], ids=["lexigraph", "words"])
def test_every_verb_says_what_it_does_and_so_does_every_option(group):
    for name, command in group.items():
        assert command.help, name
        options = [parameter for parameter in command.params if parameter.param_type_name == "option"]
        assert [option.name for option in options if not option.help] == [], name
