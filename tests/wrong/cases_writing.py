"""Summaries, answers and tasks that make no sense: nothing to read, models that write nothing, unknown tasks."""

from tests.wrong.case import WRONG_USAGE, Case

TASK = {"pairs.tsv": "She sings .\tShe sang .\n", "past.tsv": "She sings .\tShe sang .\n"}
PREFIXES = """--set 'data.prefixes={ask="ask: "}' --set data.split=[1.0]"""


def usage(command: str, *names: str, **more) -> Case:
    return Case(command, names, code=WRONG_USAGE, **more)


def failed(command: str, *names: str, **more) -> Case:
    return Case(command, names, **more)


CASES = {
    "a summary of nothing": usage("summarise @transformer", "no text", "--file"),
    "a summary of an empty text": failed("summarise @transformer ''", "empty", "summarise"),
    "a summary of an empty line": failed("summarise @transformer", "Text 2 of 2", "empty", stdin="She sings .\n\n"),
    "a summary by what writes no text": failed("summarise @bert 'the dog'", "bert", "summarise", "can:"),
    "a summary by a language model": failed("summarise @gpt 'the dog'", "gpt", "summarise", "can:"),
    "a summary of no tokens": usage("summarise @transformer 'the dog' --longest -1", "--longest"),
    "an answer to nothing": failed("answer @transformer ' '", "empty", "answer"),
    "an answer by a tagger": failed("answer @tagger 'who ?'", "tagger", "answer", "can:"),
    "a task that the model has not": usage("translate @t5-edits 'She sings .' --to sing", "'sing'", "ask", "negate"),
    "no task, where there are several": usage("translate @t5-edits 'She sings .'", "--to", "ask"),
    "a mixture of texts": usage("translate @t5-edits 'She sings .' --to ask=0.5,past=0.5", "mixture", "--to ask"),
    "a task without a text": usage(
        f"train t5-edits --data past=past.tsv --out run {PREFIXES}", "'past'", "ask", given=TASK
    ),
    "pairs of no task": failed(
        f"train t5-edits --data pairs.tsv --out run {PREFIXES}",
        "pairs.tsv, line 1",
        "no task",
        "ask=FILE",
        given=TASK,
    ),
    "a temperature of nothing": usage(
        "train t5-edits --out run --set data.task_temperature=0", "data.task_temperature", "0.001"
    ),
    "a prefix language model of nothing": usage(
        "train prefix-lm --data pairs.tsv --out run --set parts.reader.tied=false",
        "gpt",
        "--from",
        "tied",
        given=TASK,
    ),
    "an unknown measure": usage(
        "train t5-edits --out run --set 'eval.measures=[\"meteor\"]'", "eval.measures", "rouge"
    ),
}
