"""Windows that fit no model, and models that do not go on from each other."""

from tests.wrong.case import WRONG_USAGE, Case

SETTINGS = {  # what is set, and what the answer must name
    "longformer model.window=[4,4,4]": ("model.window has 3 numbers", "model.layers = 4"),
    "longformer-lm model.dilation=[1,2]": ("model.dilation has 2 numbers", "model.layers = 4"),
    "longformer model.window=[7]": ("model.window", "7 is odd"),
    "longformer-lm model.window=[0]": ("model.window must be",),
    "longformer model.window=[1000000000]": ("model.window must be", "65536"),
    "longformer model.dilation=[2]": ("model.dilation", 'model.globals = "none"'),
    "longformer-lm model.dilated_heads=5": ("model.dilated_heads = 5", "model.heads = 4"),
}


def trained(setting: str, names: tuple[str, ...]) -> Case:
    recipe, key = setting.split()
    return Case(f"train {recipe} --data good.txt --out o --set {key}", names, WRONG_USAGE)


CASES = {setting: trained(setting, names) for setting, names in SETTINGS.items()} | {
    "a width that the weights fix": Case(
        "train longformer --data good.txt --from @bert --out o --set model.dim=64", ("bert", "model.dim"), WRONG_USAGE
    ),
    "a bert from a longformer": Case(
        "train bert --data good.txt --from @longformer --out o", ("longformer", "cannot be the start"), WRONG_USAGE
    ),
    "a model that transformers does not have": Case(
        "convert @longformer-lm theirs", ("longformer-lm", "has no form in transformers")
    ),
}
