"""Our tokenizer as the files that transformers reads: special tokens are announced, and put around a text as the
model was trained with them, so that `model.generate(**tokenizer(text))` there goes on as `generate` does here."""

from __future__ import annotations

from lexigraph.exchange.settings import Settings
from lexigraph.nn.network import LanguageNetwork, MaskFiller, Network
from lexigraph.nn.translation import TranslationNetwork
from lexigraph.text.readers import Json
from lexigraph.text.tokenizer import IMPORTED, Tokenizer
from lexigraph.text.vocabulary import Added, Content


def special_names(tokenizer: Tokenizer, network: Network) -> dict[str, str | list[str]]:
    """Their names for our special tokens."""
    kept = ("pad", "unk", "eos", "cls", "sep", "mask")
    ids: dict[str, int] = {role: tokenizer.roles[role] for role in kept if role in tokenizer.roles}
    ids["bos"] = tokenizer.begin
    if isinstance(network, MaskFiller):
        ids |= {"mask": network.frame.mask, "cls": network.frame.begin, "sep": network.frame.end}
    elif "<mask>" in tokenizer.special:
        ids["mask"] = tokenizer.special["<mask>"]
    names = {f"{role}_token": tokenizer.token_of(i) for role, i in ids.items()}
    others = [name for name in tokenizer.special if name not in names.values() and not name.startswith("<unused-")]
    return names | ({"additional_special_tokens": others} if others else {})


def tokenizer_content(tokenizer: Tokenizer, network: Network, trained: bool) -> Content:
    """The content of their tokenizer.json.

    trained: whether the network was trained here, and so with our tokens around texts; one that was only brought here
        keeps what it came with.
    """
    content = tokenizer.content
    if tokenizer.kind == IMPORTED:
        model = content["model"].copy()
        model.pop("lexigraph", None)
        content = {**content, "model": model}
    else:
        content = {**content, "added_tokens": [_announced(name, i) for name, i in tokenizer.special.items()]}
    return {**content, "post_processor": _template(tokenizer, network)} if trained else content


def generation(config: Settings, banned: list[int]) -> Settings:
    """Their generation_config.json: what begins and ends a text, as in their config, and what is never written."""
    never: list[Json] = [*banned]
    return {key: value for key, value in config.items() if key.endswith("_token_id")} | {"suppress_tokens": never}


def around(tokenizer: Tokenizer, network: Network) -> tuple[list[int], list[int]]:
    """The tokens that stand before and behind a text when the network reads it."""
    if isinstance(network, LanguageNetwork):
        return [tokenizer.begin], []
    if isinstance(network, MaskFiller):
        return [network.frame.begin], [network.frame.end]
    return ([*network.lead], [network.end]) if isinstance(network, TranslationNetwork) else ([], [])


def _template(tokenizer: Tokenizer, network: Network) -> dict[str, Json]:
    """What puts special tokens around a text; of a pair, the second text ends as the first does."""
    before, behind = around(tokenizer, network)
    names = {i: tokenizer.token_of(i) for i in (*before, *behind)}

    def pieces(text: str, segment: int, tokens: list[int]) -> list[Json]:
        framed: list[Json] = [{"Sequence": {"id": text, "type_id": segment}}]
        return framed + [{"SpecialToken": {"id": names[i], "type_id": segment}} for i in tokens]

    first: list[Json] = [{"SpecialToken": {"id": names[i], "type_id": 0}} for i in before]
    first += pieces("A", 0, behind)
    known: dict[str, Json] = {name: {"id": name, "ids": [i], "tokens": [name]} for i, name in names.items()}
    return {"type": "TemplateProcessing", "single": first, "pair": first + pieces("B", 1, behind),
            "special_tokens": known}  # fmt: skip


def _announced(name: str, i: int) -> Added:
    return {"id": i, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": True}  # fmt: skip
