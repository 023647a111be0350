"""What cannot be looked at, and pictures that cannot be drawn where they should go."""

from __future__ import annotations

from tests.wrong.case import WRONG_USAGE, Case


def usage(command: str, *names: str, code: int = WRONG_USAGE, **more) -> Case:
    return Case(command, names, code=code, **more)


CASES = {
    "look at nothing": usage("look @lstm-lm the", "--gradients", "--cliff"),
    "look at two things": usage("look @lstm-lm the --gradients --gates", "one thing at a time"),
    "look into no run": usage("look --gradients", "Name the run"),
    "the cliff of a run": usage("look @lstm-lm --cliff", "--cliff", "leave the run out"),
    "gradients beside nothing": usage("look @lstm-lm the --gates --beside lstm-lm", "--beside", "--gradients"),
    "gradients of what goes along no text": usage("look @bert 'the dog' --gradients", "bert", "recurrent"),
    "gradients of a transformer": usage("look @gpt 'the dog' --gradients", "gpt", "no recurrent state"),
    "gradients of numbers": usage("look @regressor 'the dog' --gradients", "regressor", "recurrent"),
    "gradients of one token": usage("look @lstm-lm '' --gradients", "no two tokens"),
    "gates of a transformer": usage("look @gpt 'the dog' --gates", "gpt", "no gates"),
    "gates of a cell without": usage("look @rnn-lm 'the dog' --gates", "rnn", "no gates"),
    "gates along two texts": usage("look @lstm-lm a b --gates", "one text", "2"),
    "attention of a recurrent translator": usage("look @seq2seq 'a dog\tdog' --attention", "seq2seq", "--alignment"),
    "a head that is not there": usage("look @gpt 'the dog' --attention --head 'blocks.7 1'", "blocks.7 1"),
    "a head of gates": usage("look @lstm-lm 'the dog' --gates --head 'blocks.0 1'", "--head", "--attention"),
    "layers of a model that mixes none": usage("look @bert --layers", "mixes no layers", "--file tags.conll"),
    "a probe without tags": usage(
        "look @bert --layers --file tags.conll", "tags.conll", "tags", given={"tags.conll": "She\nsings\n\n"}, code=1
    ),
    "a probe of too few words": usage(
        "look @bert --layers --file tags.conll", "1 times", "20", given={"tags.conll": "He A\n\nShe B\n\n"}
    ),
    "a probe of standard input": usage("look @bert --layers --file -", "--layers", "--file tags.conll"),
    "a probe of a file that is not there": usage("look @bert --layers --file none.conll", "none.conll", code=1),
    "a picture of another kind": usage("look --cliff --out cliff.txt", "cliff.txt", ".png"),
    "a picture over a file": Case("look --cliff --out p.png", ("p.png", "--force"), given={"p.png": "mine"}),
    "steps back 1": usage("look @lstm-lm a --gradients --steps 1", "--steps"),
    "a sequence that is no JSON": Case("estimate @regressor 'the dog'", ("The text", "the dog", "[[0.3, 1]")),
    "a line of several that is no sequence": Case(
        "estimate @regressor", ("Text 2 of 2", "the dog"), stdin="[[1, 2]]\nthe dog\n"
    ),
    "a sequence of other vectors": Case("estimate @regressor '[[1, 2, 3]]'", ("The text has 3 numbers", "2")),
    "the second sequence uneven": Case(
        "estimate @regressor", ("Text 2 of 2", "different lengths"), stdin="[[1, 2]]\n[[1, 2], [3]]\n"
    ),
    "lengths that make no sense": usage(
        "train lstm-lm --data anbn:9-3 --out run", "anbn:9-3", "as in anbn:100"
    ),
    "a language model of numbers": usage("train lstm-lm --data adding:20 --out run", "adding", "regressor"),
    "sums of letters": usage("train regressor --data anbn:20 --out run", "anbn:20", "text"),
}  # fmt: skip
