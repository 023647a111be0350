"""Pairs, similarities and choices that cannot be learned from, and parts that cannot be fine-tuned."""

from tests.wrong.case import WRONG_USAGE, Case

END = "--out run --set train.steps=1 --set train.batch_tokens=32 --set data.split=1.0"
FILMS = "a good film\tpraise\na bad film\tblame\n" * 20
PAIRS = "a film\ta movie\tsame\na film\ta book\tother\n" * 20
SCORES = "a film\ta movie\t4.5\na film\ta book\t1\n" * 20
QUESTION = '{"text": "the key", "choices": ["is", "are"], "label": 0}\n'

CASES = {
    "a pair without its second text": Case(
        f"train classifier-pairs --data a.tsv {END}",
        ("a.tsv", "line 41", "field 3"),
        given={"a.tsv": f"{PAIRS}a film\tsame\n"},
    ),
    "a pair whose second text is empty": Case(
        f"train classifier-pairs --data a.tsv {END}",
        ("a.tsv, line 41", "the other is empty", "both sides"),
        given={"a.tsv": f"{PAIRS}a film\t \tsame\n"},
    ),
    "pairs in JSON without the second field": Case(
        f"train classifier-pairs --data a.jsonl {END}",
        ("a.jsonl", "line 1", "other"),
        given={"a.jsonl": '{"text": "a film", "label": "same"}\n'},
    ),
    "texts where pairs are wanted": Case(
        f"train classifier-pairs --data a.tsv {END}", ("a.tsv", "field '3'"), given={"a.tsv": FILMS}
    ),
    "the name of a label's column that is none": Case(
        f'train classifier-tuned --data a.tsv {END} --set \'data.columns={{text="text",label="gold"}}\'',
        ("a.tsv", "gold", "label"),
        given={"a.tsv": f"text\tlabel\n{FILMS}"},
    ),
    "a similarity that is no number": Case(
        f"train similarity --data a.tsv {END}",
        ("a.tsv, line 41", "'high' is no number"),
        given={"a.tsv": f"{SCORES}a film\ta song\thigh\n"},
    ),
    "a similarity that is not finite": Case(
        f"train similarity --data a.tsv {END}",
        ("a.tsv, line 41", "nan", "finite"),
        given={"a.tsv": f"{SCORES}a film\ta song\tnan\n"},
    ),
    "a metric of another task": Case(
        f"train similarity --data a.tsv {END} --set train.metric=accuracy",
        ("train.metric", "accuracy", "pearson"),
        WRONG_USAGE,
        given={"a.tsv": SCORES},
    ),
    "choices that are no list": Case(
        f"train choices --data a.jsonl {END}",
        ("a.jsonl, line 2", "choices", "list"),
        given={"a.jsonl": QUESTION + '{"text": "the key", "choices": "is", "label": 0}\n'},
    ),
    "a single choice": Case(
        f"train choices --data a.jsonl {END}",
        ("a.jsonl, line 2", "choices", "at least"),
        given={"a.jsonl": QUESTION + '{"text": "the key", "choices": ["is"], "label": 0}\n'},
    ),
    "an empty choice": Case(
        f"train choices --data a.jsonl {END}",
        ("a.jsonl, line 2", "number 1 of choices", "empty"),
        given={"a.jsonl": QUESTION + '{"text": "the key", "choices": ["is", " "], "label": 0}\n'},
    ),
    "the number of no choice": Case(
        f"train choices --data a.jsonl {END}",
        ("a.jsonl, line 2", "label 2", "counted from 0"),
        given={"a.jsonl": QUESTION + '{"text": "the key", "choices": ["is", "are"], "label": 2}\n'},
    ),
    "a summary without a part": Case(
        f"train classifier --data a.tsv {END} --set model.pooling=summary --set model.encoder=bag",
        ('"summary"', "--from RUN", "parts.reader"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "a summary with something between": Case(
        f"train classifier-tuned --data a.tsv {END} --set model.encoder=lstm",
        ('"summary"', 'model.encoder = "bag"'),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "both orders of a text": Case(
        f"train classifier-tuned --data a.tsv {END} --set model.symmetric=true",
        ("model.symmetric", "model.pairs"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "the language of what is no language model": Case(
        f"train classifier-tuned --data a.tsv {END} --set objective.auxiliary=0.5",
        ("objective.auxiliary", "gpt"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "a part that does not read": Case(
        f"train classifier-tuned --data a.tsv {END} --from @seq2seq",
        ("seq2seq model", "cannot be the start", "classifier"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "a part of another shape": Case(
        f"train classifier-tuned --data a.tsv {END} --from @bert --set parts.reader.dim=32",
        ("part reader", "parts.reader.dim", "leave out"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "a part without a layer of that number": Case(
        f"train classifier --data a.tsv {END} --from @bert --set model.reader_layers=[9]",
        ("reader_layers", "layer 9"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "rates by layer without layers": Case(
        f"train bow --data a.tsv {END} --set train.layer_decay=0.8",
        ("train.layer_decay", "layer to layer"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "a growing rate by layer": Case(
        f"train classifier-tuned --data a.tsv {END} --set train.layer_decay=1.5",
        ("train.layer_decay", "from 0.001 to 1"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "a text to classify where pairs are": Case(
        "classify @classifier-pairs 'a film'", ("is no pair", "'a film'", "a tab between")
    ),
    "a pair without a second text to estimate": Case("estimate @similarity 'a film\t '", ("empty second text",)),
    "nothing to choose from": Case("choose @choices 'the key' 'is'", ("is no question", "two texts or more")),
}
