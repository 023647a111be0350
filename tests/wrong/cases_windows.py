"""Windows that fit no model, and models that do not go on from each other."""

from tests.wrong.case import WRONG_USAGE, Case

TRAIN = "train {} --data good.txt --out o --set {}"

CASES = {
    "as many windows as there are no layers": Case(
        TRAIN.format("longformer", "model.window=[4,4,4]"), ("model.window has 3 numbers", "model.layers = 4"), WRONG_USAGE
    ),
    "as many dilations as there are no layers": Case(
        TRAIN.format("longformer-lm", "model.dilation=[1,2]"), ("model.dilation has 2 numbers",), WRONG_USAGE
    ),
    "half of an odd window": Case(TRAIN.format("longformer", "model.window=[7]"), ("model.window", "7 is odd"), WRONG_USAGE),
    "no window": Case(TRAIN.format("longformer-lm", "model.window=[0]"), ("model.window must be",), WRONG_USAGE),
    "a window of a billion": Case(
        TRAIN.format("longformer", "model.window=[1000000000]"), ("model.window must be", "65536"), WRONG_USAGE
    ),
    "dilation beside a global token": Case(
        TRAIN.format("longformer", "model.dilation=[2]"), ("model.dilation", 'model.globals = "none"'), WRONG_USAGE
    ),
    "more dilated heads than heads": Case(
        TRAIN.format("longformer-lm", "model.dilated_heads=5"), ("model.dilated_heads = 5", "model.heads = 4"), WRONG_USAGE
    ),
    "a width that a bert fixes": Case(
        "train longformer --data good.txt --from @bert --out o --set model.dim=64", ("bert", "model.dim"), WRONG_USAGE
    ),
    "a bert from a longformer": Case(
        "train bert --data good.txt --from @longformer --out o", ("longformer", "cannot be the start"), WRONG_USAGE
    ),
    "a model that transformers does not have": Case(
        "convert @longformer-lm theirs", ("longformer-lm", "has no form in transformers")
    ),
}  # fmt: skip
