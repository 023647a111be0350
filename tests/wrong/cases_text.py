"""Texts that cannot be read."""

from tests.wrong.case import Case

CASES = {
    "no such text": Case("check nowhere.txt", ("nowhere.txt", "no such file")),
    "nothing in it": Case(
        "tokenize empty.txt --train bpe --out t.json", ("empty.txt", "empty"), given={"empty.txt": ""}
    ),
    "a tokenizer of no kind": Case("tokenize good.txt --train bqe --out t.json", ("bqe", "bpe"), code=2),
    "no weights": Case(
        "generate @gpt the", ("gpt", "model.safetensors"), given={"gpt/model.safetensors": lambda path: path.unlink()}
    ),
}
