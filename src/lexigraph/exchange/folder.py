"""Models from Hugging Face folders, and to them: files only, nothing is fetched and nothing is pickled.

    config.json              model_type says which family it is; FAMILIES names the module that knows its weights
    model.safetensors        or several files, and model.safetensors.index.json that says what is where
    preprocessor_config.json    of a model that reads pictures, in the place of the files of a tokenizer:
    tokenizer.json           with tokenizer_config.json and special_tokens_map.json, which name the special tokens
    lexigraph/               of folders that were written here: what has no place in the others (kept.py)

`import_folder` makes a run folder that `lexigraph.load` takes, `export_folder` a folder that transformers'
`AutoModel…from_pretrained` and `AutoTokenizer.from_pretrained` take. Both appear whole or not at all.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable, Mapping
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple, TypedDict, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from lexigraph import __version__
from lexigraph import recipe as recipes
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.exchange import kept
from lexigraph.exchange.replaceable import IMPORTED, was_exported, was_imported
from lexigraph.exchange.settings import Config, Exchange, PictureExchange, Settings, Tensors
from lexigraph.exchange.tokenizer_files import generation, special_names, tokenizer_content
from lexigraph.nn.network import Network, columns_of, skeleton
from lexigraph.outputs import free_folder
from lexigraph.recipe import Recipe
from lexigraph.registry import system
from lexigraph.run import FORMAT, Run, replacing
from lexigraph.stored import table_in
from lexigraph.text.readers import Json
from lexigraph.text.tokenizer import Tokenizer
from lexigraph.text.vocabularies import FINGERPRINTS, Vocabularies
from lexigraph.text.vocabulary import Added, Content
from lexigraph.weights import read_tensors, refuse_not_finite, run_weights, write_tensors

Value = TypeVar("Value")


class Index(TypedDict, total=False):
    """Of weights in several files, which is in which."""

    weight_map: dict[str, str]


class Family(NamedTuple):
    """What a model_type is here: our system, and the module that translates settings and weights."""

    system: str
    module: str

    def load(self) -> Exchange | PictureExchange:
        return cast(Exchange | PictureExchange, importlib.import_module(self.module))


FAMILIES: dict[str, Family] = {
    "gpt2": Family("gpt", "lexigraph.exchange.gpt2"),
    "gpt_neox": Family("gpt", "lexigraph.exchange.gpt_neox"),
    "bert": Family("bert", "lexigraph.exchange.bert"),
    "longformer": Family("longformer", "lexigraph.exchange.longformer"),
    "electra": Family("electra", "lexigraph.exchange.electra"),
    "xlnet": Family("xlnet", "lexigraph.exchange.xlnet"),
    "bart": Family("bart", "lexigraph.exchange.bart"),
    "t5": Family("t5", "lexigraph.exchange.t5"),
    "vit": Family("vit", "lexigraph.exchange.vit"),
}

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
TOKENIZER, SETTINGS, SPECIAL = "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"
GENERATION, PROCESSOR = "generation_config.json", "preprocessor_config.json"
SLOW = ("vocab.json", "merges.txt", "vocab.txt", "spiece.model", "tokenizer.model", "sentencepiece.bpe.model")
PICKLED = ("pytorch_model.bin", "pytorch_model.bin.index.json", "model.bin", "tf_model.h5", "flax_model.msgpack")
ROLES = {  # of our tokens: which of theirs serve, the first that there is
    "pad": ("pad_token",),
    "unk": ("unk_token",),
    "eos": ("eos_token", "sep_token"),
    "begin": ("bos_token", "cls_token"),
    "cls": ("cls_token",),
    "sep": ("sep_token",),
    "mask": ("mask_token",),
}
COMPUTED = ("position_ids", "token_type_ids", "attn.bias", "attention.bias", "masked_bias", "inv_freq")  # no weights


def convert(source: str | Path, out: str | Path, force: bool = False) -> Path:
    """A run becomes a Hugging Face folder, and any other folder is taken for one and becomes a run."""
    is_run = (Path(source) / "recipe.toml").exists() or not Path(source).exists()
    return export_folder(source, out, force) if is_run else import_folder(source, out, force)


# ---- from there ------------------------------------------------------------------------------------------------


def import_folder(source: str | Path, out: str | Path, force: bool = False) -> Path:
    """A run folder from a Hugging Face folder; `force` replaces one that was never trained."""
    source, out = Path(source), free_folder(out, "an imported run", force, was_imported)
    theirs = _config(source)
    family = _family(theirs.get("model_type"), source)
    exchange, tensors = family.load(), _weights(source)
    more = _wanted(exchange.config_from, weights=tensors.keys())
    fields = _told(lambda: exchange.config_from(theirs, **more), source / CONFIG)
    vocabularies = _vocabularies(exchange, source, theirs, tensors)
    kind = system(family.system).module().Config
    config = _config_of(kind, fields, source)
    facts = {"format": FORMAT, "lexigraph": __version__, "system": family.system, "from": str(source)}
    facts |= {IMPORTED: True, FINGERPRINTS: vocabularies.fingerprints()}
    with replacing(out) as temporary:
        temporary.mkdir()
        run = Run(temporary)
        run.write("config.json", facts | {"abilities": list(system(family.system).abilities)})
        usual = _recipe(family.system, config, vocabularies, source)
        run.write("recipe.toml", kept.recipe_of(source, usual, config).toml())
        wanted = _skeleton(_read_back(run, source), vocabularies, source).state_dict()
        weights = _told(lambda: exchange.weights_from(tensors, config), source)
        _check(weights, wanted, source)
        refuse_not_finite(weights, source)
        _check_all_taken(tensors, exchange.weights_to(weights, config), source)
        vocabularies.save(temporary)
        _save(weights, temporary / "model.safetensors")
        np.save(temporary / "unigrams.npy", kept.unigrams_of(source, _counted(vocabularies)))
        unknown: dict[str, object] = {"system": family.system, "steps": 0, "seed": 0, "scores": {}}
        run.write("results.json", kept.results_of(source, source / WEIGHTS, unknown))
    return out


def _config(source: Path) -> Settings:
    if not source.is_dir():
        raise LexigraphError(f"There is no folder {source}.")
    if not (source / CONFIG).exists():
        raise LexigraphError(f"{source} is incomplete: {CONFIG} is missing. Was it copied whole?")
    return table_in(source / CONFIG)


def _family(model_type: Json, source: Path) -> Family:
    if model_type not in FAMILIES:
        raise LexigraphError(
            f"{source} holds a model of type {model_type!r}, which is not supported; supported are: "
            f"{', '.join(FAMILIES)}."
        )
    return FAMILIES[model_type]


def _wanted(function: Callable[..., object], **known: Any) -> dict[str, Any]:
    """Of what is known, what a family's function asks for by name."""
    return {name: value for name, value in known.items() if name in signature(function).parameters}


def _told(translate: Callable[[], Value], where: Path) -> Value:
    """What a family's function makes of settings or weights; what is wrong with them becomes a sentence."""
    try:
        return translate()
    except KeyError as missing:
        raise LexigraphError(f"{where} lacks {missing.args[0]}: it is incomplete, or of another kind.") from None
    except (RuntimeError, TypeError, ValueError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise LexigraphError(f"{where} does not fit together: {reason}") from None


def _config_of(kind: type, fields: Settings, source: Path) -> Config:
    """The settings as our Config, their types checked."""
    try:
        return recipes.section(recipes.Source(str(source / CONFIG), ""), "model", kind, fields)
    except UsageError as error:  # not what the user wrote, but what the file says
        raise LexigraphError(str(error)) from None


def _read_back(run: Run, source: Path) -> Recipe:
    """The recipe as any reader of the run will have it: numbers that make no sense are found here."""
    try:
        return run.recipe()
    except LexigraphError as error:
        reason = str(error).rpartition("recipe.toml")[2].partition(": ")[2]
        raise LexigraphError(f"{source / CONFIG} asks for what cannot be: {reason}") from None


def _skeleton(recipe: Recipe, vocabularies: Vocabularies, source: Path) -> Network:
    """The network that the config asks for, if there is memory for it."""
    try:
        return skeleton(recipe, vocabularies)
    except LexigraphError as error:
        raise LexigraphError(f"{source / CONFIG} asks for what cannot be: {error}") from None


def _weights(source: Path) -> Tensors:
    """All tensors, from one file or several."""
    if (source / WEIGHTS).exists():
        return read_tensors(source / WEIGHTS)
    if (source / INDEX).exists():
        positions = cast(Index, table_in(source / INDEX)).get("weight_map", {})
        files = _inside(source, positions)
        if missing := [name for name in files if not (source / name).is_file()]:
            raise LexigraphError(
                f"{source} is incomplete: {len(missing)} of {len(files)} files of weights are missing, as "
                f"{missing[0]}. Was it copied whole?"
            )
        tensors = {name: tensor for file in files for name, tensor in read_tensors(source / file).items()}
        if lost := sorted(positions.keys() - tensors.keys()):
            raise LexigraphError(f"{source}: {positions[lost[0]]} lacks {lost[0]}, which {INDEX} says it has.")
        return tensors
    if pickled := [name for name in PICKLED if (source / name).exists()]:
        raise LexigraphError(
            f"{source} has its weights as {pickled[0]} only, and such a file can run any program when it is read. "
            f"Lexigraph reads safetensors: have transformers write {WEIGHTS}, with model.save_pretrained(folder)."
        )
    raise LexigraphError(f"{source} is incomplete: there is neither {WEIGHTS} nor {INDEX}. Was it copied whole?")


def _inside(source: Path, positions: object) -> list[str]:
    """The files that an index names; one outside its folder is none of its weights."""
    if not isinstance(positions, dict) or not all(isinstance(name, str) for name in positions.values()):
        raise LexigraphError(f"{source / INDEX} is damaged: its weight_map does not say which file holds what.")
    files = sorted(set(positions.values()))
    for name in files:
        if not (source / name).resolve().is_relative_to(source.resolve()):
            raise LexigraphError(
                f"{source / INDEX} names {name}, which leads out of the folder: it is not opened. Copy the folder "
                "with the files themselves (cp -rL)."
            )
    return files


def _vocabularies(
    exchange: Exchange | PictureExchange, source: Path, theirs: Settings, tensors: Tensors
) -> Vocabularies:
    """What cuts texts, or of a model that reads pictures what its dots and classes are."""
    if not isinstance(exchange, PictureExchange):
        return Vocabularies({"text": _tokenizer(source, theirs, tensors)})
    if not (source / PROCESSOR).exists():
        raise LexigraphError(f"{source} is incomplete: {PROCESSOR} is missing. Was it copied whole?")
    processor = cast(Settings, table_in(source / PROCESSOR))
    return Vocabularies(_told(lambda: exchange.vocabularies_from(theirs, processor), source))


def _counted(vocabularies: Vocabularies) -> int:
    """How many tokens or classes there are, of which a baseline counts each."""
    return len(vocabularies.tokenizers().get("text") or vocabularies.labels("label"))


def _tokenizer(source: Path, theirs: Settings, tensors: Tensors) -> Tokenizer:
    """Their tokenizer, or ours if the folder was written by Lexigraph."""
    path, size = source / TOKENIZER, theirs.get("vocab_size")
    if not isinstance(size, int):
        raise LexigraphError(f"{source / CONFIG} does not say how many tokens there are (vocab_size).")
    if size > max((len(tensor) for tensor in tensors.values() if tensor.dim() > 1), default=0):
        raise LexigraphError(f"{source / CONFIG} asks for vocab_size = {size}: no table of weights has so many rows.")
    if not path.exists():
        if slow := [name for name in SLOW if (source / name).exists()]:
            raise LexigraphError(
                f"{source} has its tokenizer as {slow[0]} only: have transformers write {TOKENIZER}, with "
                "AutoTokenizer.from_pretrained(folder).save_pretrained(folder)."
            )
        raise LexigraphError(f"{source} is incomplete: {TOKENIZER} is missing. Was it copied whole?")
    content = cast(Content, table_in(path))
    first = theirs.get("decoder_start_token_id")
    start = {"start": first} if isinstance(first, int) else {}  # what a decoder is given first
    if "lexigraph" in content.get("model", {}):
        ours = Tokenizer.load(path)
        if len(ours) != size:
            raise LexigraphError(
                f"{path} has {len(ours)} tokens, the model {size} embeddings: they do not belong together."
            )
        return ours  # its file says which special token is which
    try:
        return Tokenizer.imported(content, _names(source, theirs, content), size).with_roles(start)
    except LexigraphError as error:
        raise LexigraphError(f"{source}: {error}") from None
    except Exception as error:  # Hugging Face raises bare Exception for whatever it cannot read
        raise LexigraphError(f"{path} is damaged or of a kind that is not known: {error}.") from None


def _names(source: Path, theirs: Settings, content: Content) -> dict[str, str]:
    """The special tokens by what they are for: as the tokenizer's files name them, or by ids of the config."""
    said: dict[str, str | Added] = {}
    for file in (SPECIAL, SETTINGS):
        if (source / file).exists():
            named = cast(dict[str, str | Added], table_in(source / file))
            said |= {key: value for key, value in named.items() if value}
    texts = {key: value["content"] if isinstance(value, dict) else value for key, value in said.items()
             if key.endswith("_token") and isinstance(value, dict | str)}  # fmt: skip
    vocabulary = {token["id"]: token["content"] for token in content.get("added_tokens", [])}
    for key in ("pad_token", "eos_token", "bos_token"):
        number = theirs.get(f"{key}_id")
        if key not in texts and isinstance(number, int) and number in vocabulary:
            texts[key] = vocabulary[number]
    found = {role: next((texts[key] for key in keys if key in texts), None) for role, keys in ROLES.items()}
    return {role: name for role, name in found.items() if name}


def _recipe(name: str, config: Config, vocabularies: Vocabularies, source: Path) -> Recipe:
    """A recipe that says what the model is; how to train it further is as the shipped recipe says."""
    usual, cut = recipes.read(name), vocabularies.tokenizers().get("text")
    return dataclasses.replace(
        usual,
        about=f"imported from {source.resolve().name}",
        data=dataclasses.replace(usual.data, train="", window=0, clean=(), rare=(), max_words=()),
        tokenizer=recipes.Tokenizer(kind=cut.kind, size=len(cut)) if cut else usual.tokenizer,  # type: ignore[arg-type]
        model=config,
        objective=type(usual.objective)(),
        expected=recipes.Expected(),
    )


def _check(weights: Tensors, wanted: Mapping[str, Tensor], source: Path) -> None:
    """The weights must be those of the network, all of them and no others."""
    if missing := sorted(wanted.keys() - weights.keys()):
        raise LexigraphError(f"{source} lacks weights: {_some(missing)} (as Lexigraph names them).")
    if foreign := sorted(weights.keys() - wanted.keys()):
        raise LexigraphError(f"{source} holds weights that have no place in this model: {_some(foreign)}.")
    for name, tensor in wanted.items():
        if weights[name].shape != tensor.shape:
            raise LexigraphError(
                f"{source}: {name} has the shape {tuple(weights[name].shape)}, and by {CONFIG} it must have "
                f"{tuple(tensor.shape)}."
            )


def _check_all_taken(tensors: Tensors, back: Tensors, source: Path) -> None:
    """Nothing of the file may be lost without a word, but for what is computed, or there twice."""
    prefixes = {name.split(".", 1)[0] + "." for name in back} | {""}
    taken = {name.removeprefix(prefix) for name in back for prefix in prefixes}
    left = [name for name in tensors if name not in taken and not name.endswith(COMPUTED)]
    left = [name for name in left if not any(_same(tensors[name], other) for other in back.values())]
    if left:
        raise LexigraphError(f"{source} holds weights that have no place in this model: {_some(sorted(left))}.")


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one.to(other.dtype), other)


def _some(names: list[str]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


# ---- to there --------------------------------------------------------------------------------------------------


def export_folder(run: str | Path, out: str | Path, force: bool = False) -> Path:
    """A Hugging Face folder from a run folder; `force` replaces such a folder."""
    opened, out = Run.open(run), free_folder(out, "a Hugging Face model", force, was_exported)
    recipe = opened.recipe()
    vocabularies = Vocabularies.load(opened, columns_of(recipe))
    network = skeleton(recipe, vocabularies)
    exchange, config = _written(recipe, vocabularies)
    weights = run_weights(opened)
    refuse_not_finite(weights, opened.path)
    trained = not opened.finished or bool(opened.json("results.json").get("steps"))
    _check(weights, network.state_dict(), opened.path)
    ours = {name: tensor.float() for name, tensor in weights.items()}
    if isinstance(exchange, PictureExchange):
        theirs = exchange.weights_to(ours, recipe.model)
        contents: dict[str, object] = {
            CONFIG: config | {"dtype": "float32"},
            PROCESSOR: exchange.processor_to(vocabularies),
        }
    else:
        more = _wanted(exchange.weights_to, pad=vocabularies.tokenizer().pad)
        theirs = exchange.weights_to(ours, recipe.model, **more)
        contents = _with_tokenizer(config, vocabularies.tokenizer(), network, recipe, trained)
    with replacing(out) as temporary:
        temporary.mkdir()
        for name, content in contents.items():
            text = json.dumps(content, indent=None if name == TOKENIZER else 2, ensure_ascii=False)
            (temporary / name).write_text(text + "\n", encoding="utf-8")
        _save(theirs, temporary / WEIGHTS, {"format": "pt"})
        kept.write(opened, recipe, temporary, temporary / WEIGHTS)
    return out


def _with_tokenizer(
    config: Settings, tokenizer: Tokenizer, network: Network, recipe: Recipe, trained: bool
) -> dict[str, object]:
    """The files of a model that reads text, beside its weights."""
    config |= {"pad_token_id": tokenizer.pad, "eos_token_id": tokenizer.eos, "bos_token_id": tokenizer.begin}
    if "start" in tokenizer.roles:
        config["decoder_start_token_id"] = tokenizer.roles["start"]
    names = special_names(tokenizer, network)
    banned = sorted(set(tokenizer.special.values()) - {tokenizer.eos})
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False,
                "model_max_length": recipe.model.context, "split_special_tokens": True}  # fmt: skip
    return {
        CONFIG: config | {"dtype": "float32"},
        TOKENIZER: tokenizer_content(tokenizer, network, trained),
        GENERATION: generation(config, banned),
        SETTINGS: settings | names,
        SPECIAL: names,
    }


def _written(recipe: Recipe, vocabularies: Vocabularies) -> tuple[Exchange | PictureExchange, Settings]:
    """The family that can hold this model, and its config.json."""
    modules = [family.load() for family in FAMILIES.values() if family.system == recipe.system]
    if not modules:
        systems = ", ".join(dict.fromkeys(family.system for family in FAMILIES.values()))
        raise LexigraphError(f"This {recipe.system} model has no form in transformers; these have: {systems}.")
    errors = []
    for exchange in modules:
        try:
            if isinstance(exchange, PictureExchange):
                return exchange, exchange.config_to(recipe.model, vocabularies)
            tokenizer = vocabularies.tokenizer()
            more = _wanted(exchange.config_to, pad=tokenizer.pad)
            return exchange, exchange.config_to(recipe.model, len(tokenizer), **more)
        except LexigraphError as error:
            errors.append(str(error))
    raise LexigraphError(" ".join(errors))


# ---- both ------------------------------------------------------------------------------------------------------


def _save(tensors: Tensors, path: Path, metadata: dict[str, str] | None = None) -> None:
    whole = {name: tensor.detach().clone().contiguous() for name, tensor in tensors.items()}
    write_tensors(whole, path, metadata)
