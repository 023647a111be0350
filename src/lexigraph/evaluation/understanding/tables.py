"""The suite's results as tables: what every contender scores, and by how much the model is better than each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lexigraph.evaluation.latent.tables import Table

BASELINES = ("majority", "commonest", "tf-idf", "word vectors")  # the first columns


def tables(results: Mapping[str, Any]) -> list[Table]:
    """All metrics, what the model adds, and the signature."""
    found = list(_measured(results["tasks"]))
    named = {name for _, _, each in found for name in each["contenders"]}
    names = sorted(named, key=lambda name: (BASELINES.index(name) if name in BASELINES else len(BASELINES), name))
    scores = [
        (task, labels, metric, *(_cell(each["contenders"].get(name, {}).get(metric)) for name in names))
        for task, labels, each in found
        for metric in next(iter(each["contenders"].values()))
        if metric not in ("setting", "dev")
    ]
    others = [name for name in names if any(name in each.get("better_than", {}) for _, _, each in found)]
    better = [
        (task, labels, each["model"], *(_gain(each["better_than"].get(name)) for name in others))
        for task, labels, each in found
        if "model" in each
    ]
    signature = [(name, str(value)) for name, value in results["signature"].items() if value]
    of_tasks = [
        (name, "; ".join(f"{key} {_plain(value)}" for key, value in task["signature"].items() if value))
        for name, task in results["tasks"].items()
    ]
    return [
        Table("scores (± half of the 95 % interval)", ("task", "labels", "metric", *names), scores),
        Table("better than", ("task", "labels", "model", *others), better),
        Table("signature", ("", ""), [*of_tasks, *signature]),
    ]


def _measured(tasks: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every task with all labels, and with some."""
    for name, task in tasks.items():
        if "contenders" in task:
            yield name, "all", task
        for labels, each in task.get("by_labels", {}).items():
            yield name, labels, each


def _cell(figure: Mapping[str, Any] | None) -> str:
    """A score, half of its interval, and its standard deviation over seeds."""
    if figure is None:
        return ""
    text, ends = f"{figure['value']:.3f}", figure["interval"]
    if ends:
        text += f" ±{(ends[1] - ends[0]) / 2:.3f}"
    return text + (f", seeds {figure['deviation']:.3f}" if len(figure["seeds"]) > 1 else "")


def _gain(difference: Mapping[str, Any] | None) -> str:
    if difference is None:
        return ""
    ends = difference["interval"]
    return f"{difference['value']:+.3f}" + (f" [{ends[0]:+.3f}, {ends[1]:+.3f}]" if ends else "")


def _plain(value: Any) -> str:
    return ", ".join(f"{key} {each}" for key, each in value.items()) if isinstance(value, Mapping) else str(value)
