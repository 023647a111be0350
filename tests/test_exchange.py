"""Models to and from Hugging Face folders: complete round trips, and clear sentences for what cannot be read."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import lexigraph
from lexigraph import cli
from lexigraph.api import evaluate, train
from lexigraph.decoding.sampling import generate as greedy
from lexigraph.errors import LexigraphError
from lexigraph.exchange.folder import FAMILIES, export_folder, import_folder
from lexigraph.run import Run
from lexigraph.text.tokenizer import Tokenizer

os.environ["HF_HUB_OFFLINE"] = "1"
transformers = pytest.importorskip("transformers")
transformers.utils.logging.set_verbosity_error()

TEXT_FAMILIES = [
    name for name, family in FAMILIES.items() if family.system != "vit"
]  # tests/parity/test_vit.py has it
TEXTS = ["She laughed .", "Did they open the old door ?", "naïve café 🙂", "  two  spaces\n", "<eos> [MASK] </s>", ""]
SENTENCE = "she laughed did they open the old door a bird sang could you bring lamp he is not tired . ?"
WORDS = SENTENCE.split()


# ---- tiny models of theirs ---------------------------------------------------------------------------------------


def byte_level(special: list[str]) -> Any:
    """A byte-level BPE tokenizer as GPT-2's and BART's: special tokens last and first."""
    import tokenizers as hf

    made = hf.Tokenizer(hf.models.BPE())
    made.pre_tokenizer = hf.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = hf.decoders.ByteLevel()
    alphabet = hf.pre_tokenizers.ByteLevel.alphabet()
    trainer = hf.trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    made.train_from_iterator([SENTENCE] * 3, trainer)
    made.add_special_tokens(special)
    return made


def word_pieces() -> Any:
    """A WordPiece tokenizer as BERT's, with what it puts around a text."""
    import tokenizers as hf

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*special, *sorted({*WORDS, *"abcdefghijklmnopqrstuvwxyz", *(f"##{c}" for c in "abcdefghijklmnop")})]
    made = hf.Tokenizer(hf.models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]"))
    made.normalizer = hf.normalizers.BertNormalizer()
    made.pre_tokenizer = hf.pre_tokenizers.BertPreTokenizer()
    made.decoder = hf.decoders.WordPiece()
    made.post_processor = hf.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.add_special_tokens(special)
    return made


def sentence_pieces(special: list[str], more: list[str]) -> Any:
    """A unigram tokenizer as T5's and XLNet's."""
    import tokenizers as hf

    pieces = [(name, 0.0) for name in special] + [("▁", -2.0)]
    pieces += [(f"▁{word}", -3.0) for word in WORDS] + [(chr(c), -6.0) for c in range(33, 127)]
    made = hf.Tokenizer(hf.models.Unigram(pieces, unk_id=special.index("<unk>")))
    made.pre_tokenizer = hf.pre_tokenizers.Metaspace()
    made.decoder = hf.decoders.Metaspace()
    made.add_special_tokens([*special, *more])
    return made


def named(tokenizer: Any, **special: str) -> Any:
    return transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)


def tiny(name: str, **changes: Any) -> tuple[Any, Any]:
    """A small random model and a tokenizer of this model_type."""
    torch.manual_seed(0)
    if name in ("gpt2", "gpt_neox"):
        tokenizer = named(byte_level(["<|endoftext|>"]), eos_token="<|endoftext|>", bos_token="<|endoftext|>",
                          unk_token="<|endoftext|>")  # fmt: skip
        shape: dict[str, Any] = {"n_layer": 2, "n_head": 2, "n_embd": 16, "n_positions": 32}
        kind = "GPT2LMHeadModel"
        if name == "gpt_neox":
            kind = "GPTNeoXForCausalLM"
            shape = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 40,
                     "max_position_embeddings": 32, "use_parallel_residual": False, "rotary_pct": 1.0}  # fmt: skip
    elif name in ("bert", "electra"):
        tokenizer = named(word_pieces(), pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
                          mask_token="[MASK]")  # fmt: skip
        shape = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 40,
                 "max_position_embeddings": 32}  # fmt: skip
        kind = {"bert": "BertForMaskedLM", "electra": "ElectraForMaskedLM"}[name]
        shape |= {"embedding_size": 16} if name == "electra" else {}
    elif name == "xlnet":
        tokenizer = named(sentence_pieces(["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"], []),
                          unk_token="<unk>", bos_token="<s>", eos_token="</s>", cls_token="<cls>", sep_token="<sep>",
                          pad_token="<pad>", mask_token="<mask>")  # fmt: skip
        shape = {"n_layer": 2, "n_head": 2, "d_model": 16, "d_inner": 40, "mem_len": 8}
        kind = "XLNetLMHeadModel"
    elif name == "longformer":
        made = byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        tokenizer = named(made, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>",
                          mask_token="<mask>", cls_token="<s>", sep_token="</s>")  # fmt: skip
        shape = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 40,
                 "max_position_embeddings": tokenizer.pad_token_id + 33, "attention_window": [4, 8],
                 "type_vocab_size": 1}  # fmt: skip
        kind = "LongformerForMaskedLM"
    elif name == "bart":
        made = byte_level(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
        tokenizer = named(made, bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>",
                          mask_token="<mask>", cls_token="<s>", sep_token="</s>")  # fmt: skip
        shape = {"encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 4,
                 "d_model": 16, "encoder_ffn_dim": 40, "decoder_ffn_dim": 24, "max_position_embeddings": 32,
                 "decoder_start_token_id": tokenizer.eos_token_id, "forced_eos_token_id": None}  # fmt: skip
        kind = "BartForConditionalGeneration"
    else:
        more = [f"<extra_id_{number}>" for number in reversed(range(100))]
        tokenizer = named(sentence_pieces(["<pad>", "</s>", "<unk>"], more), pad_token="<pad>", eos_token="</s>",
                          unk_token="<unk>")  # fmt: skip
        shape = {"num_layers": 2, "num_heads": 2, "d_kv": 8, "d_model": 16, "d_ff": 40, "decoder_start_token_id": 0}
        kind = "T5ForConditionalGeneration"
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("pad", "eos", "bos")}
    settings = transformers.AutoConfig.for_model(name, **{"vocab_size": len(tokenizer)} | shape | ids | changes)
    model = getattr(transformers, kind)(settings).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model, tokenizer


def saved(folder: Path, name: str, **changes: Any) -> tuple[Path, Any, Any]:
    model, tokenizer = tiny(name, **changes)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder, model, tokenizer


def logits(network: Any, name: str, ids: torch.Tensor, theirs: bool) -> torch.Tensor:
    """What either side makes of token ids."""
    with torch.no_grad():
        if name in ("bart", "t5"):
            if theirs:
                return network(input_ids=ids, decoder_input_ids=ids[:, :5]).logits
            return network(ids, ids[:, :5])
        if name == "longformer" and theirs:  # which has no global positions by itself
            return network(ids, global_attention_mask=(torch.arange(ids.shape[1]) == 0).long().expand_as(ids)).logits
        if name == "xlnet" and not theirs:
            return network.logits(network.read(ids)[0])
        return network(ids).logits if theirs else network(ids)


def auto(folder: Path) -> Any:
    """The model in a folder as transformers loads it, and nothing may be missing or left over."""
    kind = getattr(transformers, json.loads((folder / "config.json").read_text())["architectures"][0])
    model, told = kind.from_pretrained(folder, output_loading_info=True, local_files_only=True)
    assert [told[f"{kind}_keys"] for kind in ("unexpected", "mismatched", "missing")] == [set()] * 3
    return model.eval()


def assert_same(one: torch.Tensor, other: torch.Tensor) -> None:
    assert (one - other).abs().max() <= 1e-5 * other.abs().max()


# ---- round trips -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXT_FAMILIES)
def test_every_family_comes_and_goes_with_the_same_outputs(name: str, tmp_path: Path) -> None:
    source, theirs, tokenizer = saved(tmp_path / "theirs", name)
    before = {path.name: path.read_bytes() for path in source.iterdir()}
    model = lexigraph.load(import_folder(source, tmp_path / "run"))
    assert model.recipe.system == FAMILIES[name].system
    ids = torch.randint(5, len(tokenizer), (2, 9), generator=torch.Generator().manual_seed(1))
    assert_same(logits(model.network, name, ids, False), logits(theirs, name, ids, True))
    again = export_folder(tmp_path / "run", tmp_path / "again")
    assert_same(logits(auto(again), name, ids, True), logits(theirs, name, ids, True))
    back = transformers.AutoTokenizer.from_pretrained(again, local_files_only=True)
    for text in TEXTS[:3]:
        wanted = tokenizer(text, add_special_tokens=False)["input_ids"]
        assert model.tokenizer.encode(text) == wanted
        assert back(text, add_special_tokens=False)["input_ids"] == wanted
    special = ("pad_token", "eos_token", "unk_token", "mask_token")
    assert {n: getattr(back, n) for n in special if getattr(tokenizer, n)} == {
        n: getattr(tokenizer, n) for n in special if getattr(tokenizer, n)
    }
    assert {path.name: path.read_bytes() for path in source.iterdir()} == before  # only read
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "run", "theirs"]


def test_an_imported_gpt2_scores_and_writes_as_theirs(tmp_path: Path) -> None:
    source, theirs, tokenizer = saved(tmp_path / "theirs", "gpt2")
    model = lexigraph.load(import_folder(source, tmp_path / "run"))
    end = tokenizer.eos_token_id
    for text in TEXTS[:4]:
        row = torch.tensor([[end, *tokenizer(text)["input_ids"], end]])
        with torch.no_grad():
            log_p = theirs(row).logits[0, :-1].log_softmax(1)
        wanted = float(log_p.gather(1, row[0, 1:, None]).sum())
        assert model.score([text])[0] == pytest.approx(wanted, rel=1e-5)
    prompt = torch.tensor([[end, *tokenizer("She laughed")["input_ids"]]])
    found = theirs.generate(prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=8, do_sample=False,
                            pad_token_id=end)  # fmt: skip
    assert model.generate(["She laughed"], max_new=8, temperature=0) == [
        tokenizer.decode(found[0], skip_special_tokens=True)
    ]
    text = tmp_path / "text.txt"
    text.write_text("She laughed .\nDid they open the old door ?\n" * 20)
    scores = evaluate(tmp_path / "run", text)
    assert scores["unknown"] == 0
    assert np.isfinite(scores["nll"]["value"])


@pytest.mark.parametrize("name", ["bart", "t5"])
def test_an_imported_translator_writes_as_theirs(name: str, tmp_path: Path) -> None:
    source, theirs, tokenizer = saved(tmp_path / "theirs", name)
    model = lexigraph.load(import_folder(source, tmp_path / "run"))
    row = tokenizer("she laughed", add_special_tokens=False)["input_ids"]
    begin = [tokenizer.bos_token_id] if name == "bart" else []
    ids = torch.tensor([[*begin, *row, tokenizer.eos_token_id]])
    asked = {"suppress_tokens": [i for i in model._banned if i not in begin]}  # what ours never writes
    asked |= {"forced_bos_token_id": begin[0]} if begin else {}  # as published ones do
    written = theirs.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=8, do_sample=False, **asked)
    written = written[0].tolist()
    found = model.translations([np.array(row)], beam=1)[0][0]
    start = [theirs.config.decoder_start_token_id, *begin]
    assert written[: len(start)] == start
    ours = [*found.tokens, tokenizer.eos_token_id]
    wanted = written[len(start) :]
    assert len(wanted) > 3
    assert ours[: len(wanted)] == wanted


@pytest.mark.parametrize("name", ["bert", "electra"])
def test_an_imported_encoder_fills_as_theirs(name: str, tmp_path: Path) -> None:
    source, theirs, tokenizer = saved(tmp_path / "theirs", name)
    model = lexigraph.load(import_folder(source, tmp_path / "run"))
    ids = torch.tensor([tokenizer("she [MASK] .")["input_ids"]])
    with torch.no_grad():
        log_p = theirs(ids).logits[0, 2].log_softmax(0)
    log_p[tokenizer.all_special_ids] = -torch.inf
    best = log_p.topk(3)
    for text in ("she <mask> .", "she [MASK] ."):
        found = model.fill(text, k=3)
        assert [each.probability for each in found] == pytest.approx(best.values.exp().tolist(), rel=1e-4)
        assert [each.tokens[0] for each in found] == [tokenizer.decode([i]).strip() for i in best.indices.tolist()]


@pytest.mark.parametrize("name", ["gpt2", "bert", "longformer", "xlnet", "bart", "t5"])
def test_an_imported_model_can_be_trained_further(name: str, tmp_path: Path) -> None:
    source, theirs, _ = saved(tmp_path / "theirs", name)
    import_folder(source, tmp_path / "run")
    settings = {"train.steps": 2, "train.batch_tokens": 512, "train.tensorboard": False, "data.sentences": 300}
    settings |= {"data.unit": "line"}
    recipe = FAMILIES[name].system
    tuned = train(recipe, "grammar", tmp_path / "tuned", start=tmp_path / "run", set=settings, quiet=True)
    assert tuned.tokenizer.fingerprint == Tokenizer.load(tmp_path / "run").fingerprint
    ids = torch.arange(5, 13)[None]
    before, after = logits(theirs, name, ids, True), logits(tuned.network, name, ids, False)
    assert after.isfinite().all()
    assert not torch.allclose(after, before, atol=1e-5)  # it learned something,
    assert (after - before).abs().max() < before.abs().max()  # and from where it was
    again = export_folder(tmp_path / "tuned", tmp_path / "again")
    assert_same(logits(auto(again), name, ids, True), after)


@pytest.mark.parametrize("kind", ["bpe", "word", "wordpiece", "unigram", "sentencepiece", "char"])
def test_a_trained_run_is_loaded_by_transformers(kind: str, tmp_path: Path) -> None:
    settings = {"tokenizer.kind": kind, "tokenizer.size": 500, "data.sentences": 300}
    model = train("gpt", "grammar", tmp_path / "run", set=settings, tiny=True, quiet=True)
    folder = export_folder(tmp_path / "run", tmp_path / "theirs")
    theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, local_files_only=True).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.eos_token_id) == (0, 1, 2)
    assert len(tokenizer) == len(model.tokenizer)
    for text in TEXTS:
        if kind != "word" or "<eos>" not in text:  # which is a word of its vocabulary there, and unknown here
            assert tokenizer(text)["input_ids"] == [2, *model.tokenizer.encode(text)], text
    ids = torch.tensor([[2, *model.tokenizer.encode("She laughed .")]])
    with torch.no_grad():
        assert_same(model.network(ids), theirs(ids).logits)
    back = lexigraph.load(import_folder(folder, tmp_path / "back"))  # and nothing is lost on the way
    assert back.tokenizer.fingerprint == model.tokenizer.fingerprint
    assert back.score(TEXTS) == pytest.approx(model.score(TEXTS), rel=1e-5)
    assert back.generate(["She"], max_new=5) == model.generate(["She"], max_new=5)


@pytest.mark.parametrize("name", dict.fromkeys(FAMILIES[name].system for name in TEXT_FAMILIES))
def test_every_system_goes_to_transformers_and_comes_back(
    name: str, tiny_runs: Callable[..., Path], tmp_path: Path
) -> None:
    run = tiny_runs(name)
    model, folder = lexigraph.load(run, "cpu"), export_folder(run, tmp_path / "theirs")
    theirs, ids = auto(folder), torch.tensor([[2, *model.tokenizer.encode("She laughed at the door ."), 2]])
    if name == "electra":  # whose other half, the generator, has no place beside the discriminator
        assert_same(model.network(ids), logits(theirs, name, ids, True))
        return
    assert_same(logits(model.network, name, ids, False), logits(theirs, name, ids, True))
    back = lexigraph.load(import_folder(folder, tmp_path / "back"))
    assert_same(logits(back.network, name, ids, False), logits(theirs, name, ids, True))
    assert back.tokenizer.fingerprint == model.tokenizer.fingerprint
    for ability, call in {
        "generate": lambda m: m.generate(["She"], max_new=5),
        "fill": lambda m: [str(found) for found in m.fill("She <mask> .")],
        "translate": lambda m: m.translate(["She laughed ."]),
    }.items():
        if ability in model.abilities:
            assert call(back) == call(model)
    for special in ("frame", "mask", "pad", "lead", "first", "end", "sentinels"):
        assert getattr(back.network, special, None) == getattr(model.network, special, None), special


@pytest.mark.parametrize("name", ["gpt", "gpt learned", "bart", "t5"])
def test_greedy_text_is_the_same_here_and_there(name: str, tiny_runs: Callable[..., Path], tmp_path: Path) -> None:
    """A tokenizer's own answer is what goes into `generate`: the start token is there where the model wants it."""
    recipe, _, positions = name.partition(" ")
    run = tiny_runs(recipe, {"model.positions": positions} if positions else None)
    model, folder = lexigraph.load(run, "cpu"), export_folder(run, tmp_path / "theirs")
    theirs, tokenizer = auto(folder), transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    for text in ("She laughed at the", "Did they"):
        given = tokenizer(text, return_tensors="pt")
        given.pop("token_type_ids", None)
        found = theirs.generate(**given, max_new_tokens=12, min_new_tokens=6, do_sample=False)[0].tolist()
        if "generate" in model.abilities:
            written = theirs.generate(**given, max_new_tokens=12)[0]
            expected = tokenizer.decode(written, skip_special_tokens=True)
            assert model.generate(text, max_new=12, temperature=0) == expected
        lead = [] if "generate" in model.abilities else [*model.network.lead]
        end = [] if "generate" in model.abilities else [model.network.end]
        begin = [model.tokenizer.begin] if "generate" in model.abilities else lead
        ids = [*begin, *model.tokenizer.encode(text), *end]
        assert given["input_ids"][0].tolist() == ids
        batch = {"ids": torch.tensor([ids]), "lengths": torch.tensor([len(ids)])}
        here = greedy(model.network, batch, eos=2, max_new=12, min_new=6, temperature=0, banned=model._banned)[0]
        written = found[len(ids) :] if "generate" in model.abilities else found[1 + len(lead) :]
        assert [token for token in written if token != 2] == list(here.tokens)


@pytest.mark.parametrize("name", ["bert", "electra"])
def test_an_encoder_as_its_recipe_says_reads_texts_there_as_here(
    name: str, tiny_runs: Callable[..., Path], tmp_path: Path
) -> None:
    run = tiny_runs(name)
    model, folder = lexigraph.load(run, "cpu"), export_folder(run, tmp_path / "theirs")
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    frame = model.network.frame
    ids = tokenizer("She laughed .")["input_ids"]
    assert ids == [frame.begin, *model.tokenizer.encode("She laughed ."), frame.end]
    assert tokenizer.mask_token_id == frame.mask


def test_there_and_back_keeps_recipe_baseline_and_scores(tiny_run: Path, tmp_path: Path) -> None:
    folder = export_folder(tiny_run, tmp_path / "theirs")
    back = import_folder(folder, tmp_path / "back")
    assert (np.load(back / "unigrams.npy") == np.load(tiny_run / "unigrams.npy")).all()
    assert json.loads((back / "results.json").read_text()) == json.loads((tiny_run / "results.json").read_text())
    before, after = Run.open(tiny_run).recipe(), Run.open(back).recipe()
    assert (after.data, after.train, after.objective) == (before.data, before.train, before.objective)
    changed = {name: tensor + 1 for name, tensor in load_file(folder / "model.safetensors").items()}
    save_file(changed, folder / "model.safetensors", {"format": "pt"})  # as after training elsewhere:
    other = import_folder(folder, tmp_path / "other")
    assert json.loads((other / "results.json").read_text())["scores"] == {}  # scores are not of these weights
    assert (np.load(other / "unigrams.npy") == np.load(tiny_run / "unigrams.npy")).all()


def test_force_replaces_a_run_that_was_imported_and_none_that_was_trained(tiny_run: Path, tmp_path: Path) -> None:
    folder = export_folder(tiny_run, tmp_path / "theirs")
    back = import_folder(folder, tmp_path / "back")
    assert import_folder(folder, back, force=True) == back
    trained = shutil.copytree(tiny_run, tmp_path / "trained")
    with pytest.raises(LexigraphError, match="trained holds other things than an imported run"):
        import_folder(folder, trained, force=True)
    (back / "log.jsonl").write_text('{"step": 1}\n')  # as after training it further
    with pytest.raises(LexigraphError, match="back holds other things than an imported run"):
        import_folder(folder, back, force=True)


def test_weights_in_several_files_are_read(tmp_path: Path) -> None:
    source, theirs, _ = saved(tmp_path / "theirs", "gpt2")
    theirs.save_pretrained(source, max_shard_size="8KB")
    (source / "model.safetensors").unlink(missing_ok=True)
    assert len(list(source.glob("model-*.safetensors"))) > 2
    model = lexigraph.load(import_folder(source, tmp_path / "run"))
    ids = torch.arange(5)[None]
    assert_same(logits(model.network, "gpt2", ids, False), logits(theirs, "gpt2", ids, True))


def test_half_precision_comes_in_and_is_computed_with_in_full(tmp_path: Path) -> None:
    source, theirs, _ = saved(tmp_path / "theirs", "gpt2")
    theirs.to(torch.bfloat16).save_pretrained(source)
    model = lexigraph.load(import_folder(source, tmp_path / "run"))
    ids = torch.arange(5)[None]
    assert_same(logits(model.network, "gpt2", ids, False), logits(theirs.float(), "gpt2", ids, True))


def test_embeddings_beyond_the_tokenizer_are_kept_and_never_written(tmp_path: Path) -> None:
    """Published tables are often a little longer than their vocabulary, for the sake of hardware."""
    size = len(tiny("gpt2")[1])
    source, theirs, _ = saved(tmp_path / "theirs", "gpt2", vocab_size=size + 3)
    model = lexigraph.load(import_folder(source, tmp_path / "run"))
    assert len(model.tokenizer) == size + 3
    assert set(range(size, size + 3)) <= set(model._banned)
    assert model.tokenizer.decode([size, *model.tokenizer.encode("She"), size + 2]) == "She"
    again = export_folder(tmp_path / "run", tmp_path / "again")
    ids = torch.arange(5)[None]
    assert_same(logits(auto(again), "gpt2", ids, True), logits(theirs, "gpt2", ids, True))


def test_special_tokens_are_never_read_from_text(tmp_path: Path) -> None:
    source, _, tokenizer = saved(tmp_path / "theirs", "gpt2")
    ours = lexigraph.load(import_folder(source, tmp_path / "run")).tokenizer
    ids = ours.encode("a <|endoftext|> b")
    assert tokenizer.eos_token_id not in ids
    assert ours.decode(ids) == "a <|endoftext|> b"
    assert ours.decode([*ids, ours.eos]) == "a <|endoftext|> b"
    assert ours.tokens(ours.encode("é b"))[-1] == " b" or ours.keeps_whitespace


# ---- what cannot be read -----------------------------------------------------------------------------------------


def remove(*names: str) -> Callable[[Path], None]:
    return lambda folder: [(folder / name).unlink(missing_ok=True) for name in names] and None


def settings(**changes: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | changes))

    return change


def tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> Callable[[Path], None]:
    def changed(folder: Path) -> None:
        weights = load_file(folder / "model.safetensors")
        change(weights)
        save_file(weights, folder / "model.safetensors", {"format": "pt"})

    return changed


def sharded(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    positions = {name: f"model-{1 + n % 2:05d}-of-00002.safetensors" for n, name in enumerate(sorted(weights))}
    for file in set(positions.values()):
        part = {name: weights[name] for name in positions if positions[name] == file}
        save_file(part, folder / file, {"format": "pt"})
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": positions}))


def lost_shard(folder: Path) -> None:
    sharded(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def slow(folder: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "vocab.json")


def cut(name: str) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / name, (folder / name).stat().st_size // 2)


def foreign_tokenizer(folder: Path) -> None:
    content = json.loads((folder / "tokenizer.json").read_text())
    content["added_tokens"][0]["id"] = 5000
    (folder / "tokenizer.json").write_text(json.dumps(content))


def nameless(folder: Path) -> None:
    content = {"tokenizer_class": "PreTrainedTokenizerFast"}
    (folder / "tokenizer_config.json").write_text(json.dumps(content))
    settings(eos_token_id=None, bos_token_id=None)(folder)


def leading_out(name: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        sharded(folder)
        index = folder / "model.safetensors.index.json"
        content = json.loads(index.read_text())
        first = "model-00001-of-00002.safetensors"
        outside = folder.parent / "outside.safetensors"
        (folder / first).rename(folder.parent / ".outside")
        if name == "link":
            (folder / first).symlink_to(folder.parent / ".outside")
        named = {"link": first, "absolute": str(outside), "dots": "../outside.safetensors"}[name]
        content["weight_map"] = {k: named if v == first else v for k, v in content["weight_map"].items()}
        index.write_text(json.dumps(content))
        (folder.parent / ".outside").unlink()

    return change


WRONG: dict[str, tuple[Callable[[Path], None], str]] = {
    "no config": (remove("config.json"), "config.json is missing"),
    "no weights": (remove("model.safetensors"), "neither model.safetensors nor model.safetensors.index.json"),
    "a lost shard": (lost_shard, "1 of 2 files of weights are missing, as model-00002-of-00002.safetensors"),
    "pickled weights": (pickled, "pytorch_model.bin only, and such a file can run any program.*save_pretrained"),
    "half the weights": (cut("model.safetensors"), "model.safetensors is damaged or truncated"),
    "half a config": (cut("config.json"), "config.json is damaged or not JSON"),
    "an index with dots": (leading_out("dots"), "names .*safetensors, which leads out of the folder"),
    "an index that leads out": (leading_out("absolute"), "names .*safetensors, which leads out of the folder"),
    "a link that leads out": (leading_out("link"), "names model-00001-of-00002.safetensors, which leads out of the"),
    "positions without end": (settings(n_positions=10**12), "config.json asks for what.*model.context = 10000000"),
    "tokens without end": (settings(vocab_size=10**12), "vocab_size = 1000000000000: no table of weights"),
    "layers without end": (settings(n_layer=10**8), "model.layers = 100000000 makes this gpt too large"),
    "a width without end": (settings(n_embd=10**9), "model.dim = 1000000000 makes this gpt too large"),
    "no tokenizer": (remove("tokenizer.json"), "tokenizer.json is missing"),
    "a slow tokenizer": (slow, "its tokenizer as vocab.json only.*AutoTokenizer"),
    "half a tokenizer": (cut("tokenizer.json"), "tokenizer.json is damaged"),
    "no special tokens": (nameless, "which token ends a text"),
    "another type": (settings(model_type="opt"), "type 'opt', which is not supported; supported are: gpt2"),
    "no type": (settings(model_type=None), "type None, which is not supported"),
    "another form": (settings(scale_attn_by_inverse_layer_idx=True), "scale_attn_by_inverse_layer_idx = True is not"),
    "another tokenizer": (settings(vocab_size=200), "only 200 embeddings: they do not belong together"),
    "another table": (settings(vocab_size=400), r"asks for vocab_size = 400: no table of weights has so many rows"),
    "a missing tensor": (
        tensors(lambda w: w.pop("transformer.h.1.ln_1.bias")), "lacks transformer.h.1.ln_1.bias"),
    "a wrong shape": (settings(n_inner=48), r"feed_forward.* has the shape \(\d+.*\), and by config.json it must"),
    "words for numbers": (settings(n_layer="two"), "config.json: model.layers must be a whole number, not 'two'"),
    "a wrong number": (settings(n_head=0), r"config.json asks for what cannot be: model.heads must be at least 1"),
    "a number in words": (settings(n_positions="32"), "config.json: model.context must be a whole number, not '32'"),
    "heads that do not divide": (settings(n_head=3), r"model.dim = 16 must be a multiple of model.heads = 3"),
    "no vocabulary": (settings(vocab_size=None), "does not say how many tokens there are"),
    "a layer too many": (settings(n_layer=1), "have no place in this model: transformer.h.1"),
    "a layer too few": (settings(n_layer=3), "lacks transformer.h.2"),
    "a tensor left over": (
        tensors(lambda w: w.update(adapter=torch.ones(3))), "have no place in this model: adapter"),
}  # fmt: skip


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved(tmp_path_factory.mktemp("good") / "theirs", "gpt2")[0]


@pytest.mark.parametrize("case", WRONG)
def test_what_cannot_be_read_is_refused_with_a_sentence_and_leaves_nothing(
    case: str, good: Path, tmp_path: Path
) -> None:
    import shutil

    corrupt, sentence = WRONG[case]
    folder = Path(shutil.copytree(good, tmp_path / "theirs"))
    corrupt(folder)
    with pytest.raises(LexigraphError, match=sentence):
        import_folder(folder, tmp_path / "run")
    assert [path.name for path in tmp_path.iterdir()] == ["theirs"]


def test_nothing_is_overwritten(good: Path, tiny_run: Path, tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    for convert, source in ((import_folder, good), (export_folder, tiny_run)):
        with pytest.raises(LexigraphError, match="exists already"):
            convert(source, tmp_path / "there")
        with pytest.raises(LexigraphError, match="There is no folder"):
            convert(source, tmp_path / "no" / "such")
    assert list((tmp_path / "there").iterdir()) == []


def test_a_system_without_a_peer_says_which_have_one(tiny_runs: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(LexigraphError, match="This nplm model has no form in transformers; these have: gpt, bert"):
        export_folder(tiny_runs("nplm"), tmp_path / "theirs")
    assert list(tmp_path.iterdir()) == []


def test_a_form_that_no_family_has_says_why(tmp_path: Path) -> None:
    train("gpt", "grammar", tmp_path / "run", set={"model.norm": "post"}, tiny=True, quiet=True)
    with pytest.raises(LexigraphError, match=r"norms before each part.*model\.norm = 'post'"):
        export_folder(tmp_path / "run", tmp_path / "theirs")


# ---- the command line ---------------------------------------------------------------------------------------------


Convert = Callable[..., tuple[int, str, str]]


@pytest.fixture
def convert(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Convert:
    """Exit code, standard output and standard error of `lexigraph convert`."""

    def run(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["lexigraph", "convert", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return int(ended.value.code or 0), *capsys.readouterr()

    return run


def test_convert_takes_folders_both_ways(convert: Convert, good: Path, tmp_path: Path) -> None:
    code, out, said = convert(good, tmp_path / "run")
    assert (code, out) == (0, f"{tmp_path / 'run'}\n"), said
    code, out, said = convert(tmp_path / "run", tmp_path / "theirs")
    assert (code, out) == (0, f"{tmp_path / 'theirs'}\n"), said
    assert load_file(good / "model.safetensors").keys() == load_file(tmp_path / "theirs" / "model.safetensors").keys()


def test_convert_says_what_is_wrong_in_a_sentence(convert: Convert, good: Path, tmp_path: Path) -> None:
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "config.json").write_bytes((good / "config.json").read_bytes())
    code, out, said = convert(tmp_path / "half", tmp_path / "run")
    assert (code, out) == (1, "")
    (sentence,) = said.splitlines()
    assert sentence.startswith("lexigraph: ")
    assert sentence.endswith("Was it copied whole?")
    assert [path.name for path in tmp_path.iterdir()] == ["half"]
