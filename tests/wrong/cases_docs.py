"""Questions about recipes and their keys that have no answer."""

from tests.wrong.case import WRONG_USAGE, Case

BROKEN = 'system = "gpt"\n[train\nsteps = 1\n'
UNKNOWN = 'system = "gpt"\n\n[train]\nstepps = 1\n'
NO_SYSTEM = "[train]\nsteps = 1\n"
STRANGE_SYSTEM = 'system = "gtp"\n'
WRONG_TYPE = 'system = "gpt"\n[model]\nlayers = "four"\n'
BELOW = 'system = "gpt"\n[model]\nlayers = 0\n'


def usage(command, *names, **given):
    return Case(command, names, code=WRONG_USAGE, given=given.get("given", {}))


CASES = {
    "no key at all": usage("explain", "KEY"),
    "an empty key": usage('explain ""', "no key ''", "sections"),
    "letters swapped": usage("explain train.warmpu", "train.warmpu", "'train.warmup'"),
    "letters swapped, no section": usage("explain warmpu", "warmpu", "'warmup'"),
    "the right name in the wrong section": usage("explain train.layers", "train.layers", "'model.layers'"),
    "a section that is none": usage("explain foo.bar", "foo.bar", "sections", "tokenizer"),
    "nothing like it": usage("explain qqqqqq", "qqqqqq", "explain SECTION"),
    "a key that has another name now": usage("explain train.graphs", "train.graphs", "train.cuda_graphs"),
    "a key that is gone": usage("explain train.greater_is_better", "train.greater_is_better", "leave it out"),
    "a key with its value": usage("explain train.steps=500", "without a value", "train.steps"),
    "only a value": usage("explain =5", "without a value"),
    "a recipe instead of a key": usage("explain gpt", "gpt", "recipes gpt --keys"),
    "keys of no model in particular": usage("explain model", "[model]", "--recipe gpt"),
    "objectives of no model in particular": usage("explain objective", "[objective]", "--recipe"),
    "a key that the recipe has not": usage("explain words.dim --recipe gpt", "words.dim", "gpt", "'model.dim'"),
    "a section that the recipe has not": usage("explain train --recipe skipgram", "skipgram", "[train]", "--keys"),
    "a network's key of word vectors": usage("explain model.heads --recipe cbow", "model.heads", "cbow"),
    "an unknown recipe": usage("explain train.steps --recipe gtp", "gtp", "'gpt'"),
    "two keys": usage("explain train.steps train.lr", "train.lr"),
    "an unknown option": usage("explain train.steps --recipes gpt", "--recipes"),
    "dots alone": usage("explain ..", "..", "sections"),
    "a dot behind it": usage("explain train.", "train."),
    "no recipe named": usage("recipes --keys", "--keys", "recipes gpt --keys"),
    "keys of an unknown recipe": usage("recipes gptt --keys", "gptt", "'gpt'"),
    "an unknown recipe's file": usage("recipes skip-gram", "skip-gram", "'skipgram'"),
    "a recipe file that is not there": Case("recipes mine.toml --keys", ("mine.toml", "No such file")),
    "a recipe file that is a folder": Case(
        "recipes mine.toml --keys", ("mine.toml", "directory"), given={"mine.toml": lambda path: path.mkdir()}
    ),
    "a recipe file that is no text": Case(
        "recipes mine.toml --keys", ("mine.toml", "cannot be read"), given={"mine.toml": b"\xff\xfe\x00"}
    ),
    "a recipe file that is no TOML": usage(
        "recipes mine.toml --keys", "mine.toml", "line 2", given={"mine.toml": BROKEN}
    ),
    "a recipe file with an unknown key": usage(
        "recipes mine.toml --keys", "mine.toml", "line 4", "stepps", "'steps'", given={"mine.toml": UNKNOWN}
    ),
    "a recipe file without a system": usage(
        "recipes mine.toml --keys", "mine.toml", "system", given={"mine.toml": NO_SYSTEM}
    ),
    "a question about a file without a system": usage(
        "explain train.steps --recipe mine.toml", "mine.toml", "system", given={"mine.toml": NO_SYSTEM}
    ),
    "a recipe file of an unknown system": usage(
        "recipes mine.toml --keys", "mine.toml", "line 1", "'gpt'", given={"mine.toml": STRANGE_SYSTEM}
    ),
    "a question about a file of an unknown system": usage(
        "explain model.layers --recipe mine.toml", "gtp", "'gpt'", given={"mine.toml": STRANGE_SYSTEM}
    ),
    "a recipe file with a word for a number": usage(
        "recipes mine.toml --keys", "line 3", "model.layers", "whole number", given={"mine.toml": WRONG_TYPE}
    ),
    "a recipe file with a number out of range": usage(
        "recipes mine.toml --keys", "line 3", "model.layers", "at least 1", given={"mine.toml": BELOW}
    ),
    "a recipe's text of a file that is no TOML": usage(
        "explain train.steps --recipe mine.toml", "mine.toml", "line 2", given={"mine.toml": BROKEN}
    ),
}
