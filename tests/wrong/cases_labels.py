"""Texts with labels that no classifier can learn from, and questions that it cannot answer."""

from tests.wrong.case import WRONG_USAGE, Case

TRAIN = "train classifier --out run --set train.steps=1 --set data.split=1.0 --data"
FILMS = "a good film\tpraise\na bad film\tblame\n" * 20
ANY = f"{TRAIN} a.tsv --set train.batch_tokens=32"

CASES = {
    "texts without labels": Case(f"{TRAIN} good.txt", ("good.txt", "text, label", ".tsv"), WRONG_USAGE),
    "a row without its label": Case(
        f"{TRAIN} a.tsv", ("a.tsv", "line 41", "field 2"), given={"a.tsv": f"{FILMS}a fine film\n"}
    ),
    "an empty label": Case(
        f"{TRAIN} a.tsv", ("a.tsv, line 41", "label is empty"), given={"a.tsv": f"{FILMS}a fine film\t \n"}
    ),
    "an empty label in JSON": Case(
        f"{TRAIN} a.jsonl", ("a.jsonl, line 1", "label"), given={"a.jsonl": '{"text": "a film", "label": ""}\n'}
    ),
    "one label alone": Case(
        f"{TRAIN} a.tsv", ("label 'praise'", "two are needed"), given={"a.tsv": "a film\tpraise\n" * 40}
    ),
    "the last state of a bag": Case(
        f"{ANY} --set model.encoder=bag --set model.pooling=last",
        ('"last"', '"bag"', "mean"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "a weight of no class": Case(
        f"{ANY} --set 'objective.class_weights={{prais=2.0}}'",
        ("class_weights", "prais", "praise"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "filters over no words": Case(
        f"{ANY} --set model.widths=[0]", ("model.widths", "from 1 to"), WRONG_USAGE, given={"a.tsv": FILMS}
    ),
    "no filters": Case(
        f"{ANY} --set model.encoder=cnn --set model.widths=[]",
        ("model.widths", "cnn"),
        WRONG_USAGE,
        given={"a.tsv": FILMS},
    ),
    "an empty text to classify": Case("classify @classifier ''", ("is empty", "nothing to classify")),
    "an empty line to classify": Case("classify @bow", ("Text 2", "empty"), stdin="a film\n\na book\n"),
    "what attention took, without attention": Case(
        "classify @bow --weights 'a film'", ("bow", "attention"), WRONG_USAGE
    ),
    "word weights of a network": Case("classify @classifier --words 3", ("classifier", "bag of words"), WRONG_USAGE),
}
