"""Ways to pre-train that contradict themselves, or ask for what the text or the system does not have."""

from tests.wrong.case import WRONG_USAGE, Case

TRAIN = "train {} --data good.txt --out run --set train.steps=2"
BERT = TRAIN.format("bert")
NEXT = f"{BERT} --set model.pooler=true --set objective.second=next"

CASES = {
    "a masking rate that falls over no steps": Case(
        f"{BERT} --set objective.final_mask_rate=0.15",
        ("objective.final_mask_rate", "objective.mask_steps"),
        WRONG_USAGE,
    ),
    "a masking rate that ends with everything masked": Case(
        f"{BERT} --set objective.final_mask_rate=1 --set objective.mask_steps=5",
        ("objective.final_mask_rate = 1.0", "less than 1"),
        WRONG_USAGE,
    ),
    "a masking rate below nothing": Case(
        f"{BERT} --set objective.final_mask_rate=-0.1", ("objective.final_mask_rate", "from 0 to 1"), WRONG_USAGE
    ),
    "a second task without its head": Case(
        f"{BERT} --set objective.second=order", ('objective.second = "order"', "model.pooler"), WRONG_USAGE
    ),
    "a second task that there is not": Case(
        f"{BERT} --set objective.second=previous", ("objective.second", "previous", "none, next, order"), WRONG_USAGE
    ),
    "next sentences of lines in no order": Case(
        NEXT, ('objective.second = "next"', "data.documents=blank"), WRONG_USAGE
    ),
    "next sentences of a stream": Case(
        f"{NEXT} --set data.unit=stream --set data.documents=blank",
        ('objective.second = "next"', "data.unit=line"),
        WRONG_USAGE,
    ),
    "the key of before for the order of sentences": Case(
        f"{BERT} --set objective.next_sentence=true",
        ("objective.next_sentence", 'objective.second = "order"'),
        WRONG_USAGE,
    ),
    "more causal rows than there are": Case(
        f"{TRAIN.format('gpt-bert')} --set objective.causal_share=1.5",
        ("objective.causal_share", "from 0 to 1"),
        WRONG_USAGE,
    ),
    "batches that grow to nothing": Case(
        f"{BERT} --set train.batch_growth=0", ("train.batch_growth", "from 1 to 1024"), WRONG_USAGE
    ),
    "growing batches of a system with memory": Case(
        f"{TRAIN.format('lstm-lm')} --set train.batch_growth=4",
        ("carries memory", "train.batch_growth=1"),
        WRONG_USAGE,
    ),
    "a gap for gpt-bert to fill that is none": Case("fill @gpt-bert 'She sings .'", ("has no gap to fill", "<mask>")),
    "vectors of gpt-bert": Case("encode @gpt-bert 'She sings .' --json", ("gpt-bert", "encode", "can:")),
}
