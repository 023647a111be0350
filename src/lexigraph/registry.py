"""Every system in one visible dictionary: its name, where its class lives, and what it can do.

A system is found here and nowhere else. To add one: write `models/<system>.py`, add a line below and a
recipe in `recipes/`; the contract tests then cover it by themselves. A system that cannot keep a contract
names it in `exempt` together with the reason; a test refuses an exemption without one. Networks are in SYSTEMS, word
vectors, which are none, in WORD_SYSTEMS.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from lexigraph import upgrades
from lexigraph.errors import UsageError

if TYPE_CHECKING:
    from lexigraph.abilities.textmodel import TextModel
    from lexigraph.evaluation.task import Task
    from lexigraph.nn.network import Network
    from lexigraph.recipe import Recipe, Source

CONTRACTS = (
    "resume",  # N steps = k steps, kill, resume, N - k steps, bit for bit
    "batch-invariance",  # alone or in a padded batch: the same outputs
    "cache",  # stepping = one full pass
    "accumulation",  # one batch = many micro-batches = many processes
    "causality",  # outputs at t do not see tokens after t
    "gradients",  # every parameter gets one
    "overfit",  # eight sentences are learned by heart
    "save-load",  # a saved model gives the same outputs
)


@dataclass(frozen=True)
class System:
    """What a system is made of: names of classes and modules, imported only when the system is used."""

    network: str  # "module:Class"; the module also holds its `Config` and `Objective`
    model: str  # "module:Class" of what `load` returns
    task: str  # how it is measured: a module of evaluation/
    abilities: tuple[str, ...]  # what a trained model can do: methods of its class, verbs of the command line
    fields: tuple[str, ...] = ("text",)  # what a record of its data holds, as its recipes read it
    exempt: dict[str, str] = field(default_factory=dict)  # contract -> why it cannot hold

    def module(self) -> ModuleType:
        """The module of the network."""
        return importlib.import_module(self.network.split(":")[0])

    def network_class(self) -> type[Network]:
        return _found(self.network)

    def model_class(self) -> type[TextModel]:
        return _found(self.model)

    def task_module(self) -> Task:
        return cast("Task", importlib.import_module(f"lexigraph.evaluation.{self.task}"))


@dataclass(frozen=True)
class WordSystem:
    """Word vectors: no network, and no torch; they have recipes with a section of their own."""

    module: str  # whose `SECTIONS` are the sections of its recipes, and whose `resolve` makes a recipe of them
    model: str  # "module:Class" of what `load` returns
    abilities: tuple[str, ...]  # methods of that class, verbs of `lexigraph words`
    fields: tuple[str, ...] = ("text",)  # as of a network
    exempt: dict[str, str] = field(default_factory=dict)  # likewise

    def sections(self) -> dict[str, type]:
        """The sections of its recipes, each with its dataclass."""
        return _found(f"{self.module}:SECTIONS")

    def resolve(self, origin: Source, tables: dict[str, Any], changes: dict[str, Any]) -> Recipe:
        """A recipe from the sections of its file and the keys that are changed."""
        return _found(f"{self.module}:resolve")(origin, tables, changes)


def _found(path: str) -> Any:
    module, name = path.split(":")
    return getattr(importlib.import_module(module), name)


LANGUAGE_MODEL = ("generate", "complete", "score", "rank")
AUTOENCODER = ("encode", "decode", "blend", "solve", "sample", "neighbours", "score")
PICTURES = (*AUTOENCODER[:2], "pictures", "read", *AUTOENCODER[2:])
ENCODER = ("fill", "encode", "neighbours")
TRANSLATOR = ("translate", "summarise", "answer", "score", "align")
SEES_ALL = {
    "causality": "every position sees the whole text, before and after it",
    "cache": "it predicts masked tokens all at once and writes no text step by step",
}
NAMES_A_CLASS = {
    "causality": "a class is named for the whole example at once",
    "cache": "it names a class and writes no text step by step",
}
TAGS_ALL = {
    "causality": "every word or frame sees the whole sequence, before and after it",
    "cache": "it tags all words at once and writes no text step by step",
}
FINDS_AN_ANSWER = {
    "causality": "an answer is found in the whole text, and may stand before what tells it",
    "cache": "it finds where an answer stands and writes no text step by step",
}
READS_IT_FIRST = {"causality": "the encoder reads the whole sentence before the decoder writes it"}


def _language_model(network: str) -> System:
    return System(network, "lexigraph.abilities.language:LanguageModel", "language", LANGUAGE_MODEL)


def _encoder(network: str, task: str) -> System:
    return System(network, "lexigraph.abilities.encoding:Encoder", task, ENCODER, exempt=SEES_ALL)


def _translator(network: str, fields: tuple[str, ...] = ("text",)) -> System:
    return System(network, "lexigraph.abilities.writing:Writer", "translation", TRANSLATOR, fields)


SYSTEMS: dict[str, System] = {
    "gpt": _language_model("lexigraph.models.gpt:GPT"),
    "rnn-lm": _language_model("lexigraph.models.rnn_lm:RecurrentLanguageModel"),
    "longformer-lm": _language_model("lexigraph.models.longformer_lm:LongformerLM"),
    "nplm": _language_model("lexigraph.models.nplm:NPLM"),
    "transformer-xl": _language_model("lexigraph.models.transformer_xl:TransformerXL"),
    "shortformer": _language_model("lexigraph.models.shortformer:Shortformer"),
    "xlnet": System(
        "lexigraph.models.xlnet:XLNet",
        "lexigraph.abilities.encoding:FillingLanguageModel",
        "masked",
        (*LANGUAGE_MODEL, "fill"),
    ),
    "gpt-bert": System(
        "lexigraph.models.gpt_bert:GPTBERT",
        "lexigraph.abilities.encoding:FillingLanguageModel",
        "both_ways",
        (*LANGUAGE_MODEL, "fill"),
    ),
    "bert": _encoder("lexigraph.models.bert:BERT", "masked"),
    "longformer": System(
        "lexigraph.models.longformer:Longformer",
        "lexigraph.abilities.encoding:Encoder",
        "masked",
        ENCODER,
        exempt={
            **SEES_ALL,
            "gradients": "what the class token sees in the last layer serves a classifier, and no masked token",
        },
    ),
    "elmo": System(
        "lexigraph.models.elmo:ELMo",
        "lexigraph.abilities.contextual:ContextualWords",
        "twoway",
        ("encode", "neighbours"),
        exempt={
            "causality": "each direction sees all words on its side, and a state holds both",
            "cache": "it predicts words from both sides and writes no text step by step",
            "overfit": "both directions must guess how a sentence begins: twice the share that the test leaves",
        },
    ),
    "electra": _encoder("lexigraph.models.electra:ELECTRA", "replaced"),
    "transformer": _translator("lexigraph.models.transformer:Transformer", fields=("source", "target")),
    "seq2seq": _translator("lexigraph.models.seq2seq:Seq2Seq", fields=("source", "target")),
    "bart": _translator("lexigraph.models.bart:BART"),
    "t5": _translator("lexigraph.models.t5:T5"),
    "prefix-lm": _translator("lexigraph.models.prefix_lm:PrefixLM", fields=("source", "target")),
    "bow": System(
        "lexigraph.models.bow:BagOfWords",
        "lexigraph.abilities.classifying:Classifier",
        "classification",
        ("classify",),
        fields=("text", "label"),
        exempt=NAMES_A_CLASS,
    ),
    "classifier": System(
        "lexigraph.models.classifier:Classifier",
        "lexigraph.abilities.classifying:Classifier",
        "classification",
        ("classify",),
        fields=("text", "label"),
        exempt=NAMES_A_CLASS,
    ),
    "question-answering": System(
        "lexigraph.models.question_answering:QuestionAnswering",
        "lexigraph.abilities.answering:Answerer",
        "answering",
        ("answer",),
        fields=("context", "question", "answer"),
        exempt=FINDS_AN_ANSWER,
    ),
    "tagger": System(
        "lexigraph.models.tagger:Tagger",
        "lexigraph.abilities.tagging:Tagger",
        "tagging",
        ("tag",),
        fields=("tokens", "tags"),
        exempt=TAGS_ALL,
    ),
    "frames": System(
        "lexigraph.models.frames:FrameTagger",
        "lexigraph.abilities.tagging:FrameTagger",
        "tagging",
        ("tag",),
        fields=("frames", "tags"),
        exempt=TAGS_ALL,
    ),
    "recursive": System(
        "lexigraph.models.recursive:Recursive",
        "lexigraph.abilities.trees:TreeClassifier",
        "trees",
        ("classify",),
        fields=("tokens", "tree"),
        exempt=NAMES_A_CLASS,
    ),
    "parser": System(
        "lexigraph.models.biaffine:BiaffineParser",
        "lexigraph.abilities.parsing:DependencyParser",
        "parsing",
        ("parse",),
        fields=("tokens", "heads", "relations", "tags"),
        exempt={
            "causality": "every word sees the whole sentence, before and after it",
            "cache": "it finds the whole tree at once and writes no text step by step",
        },
    ),
    "constituency": System(
        "lexigraph.models.constituency:ConstituencyParser",
        "lexigraph.abilities.phrases:PhraseParser",
        "phrases",
        ("parse",),
        fields=("tokens", "tags", "phrases"),
        exempt={
            "causality": "every word sees the whole sentence, before and after it",
            "cache": "it finds the whole tree at once and writes no text step by step",
        },
    ),
    "regressor": System(
        "lexigraph.models.regressor:RecurrentRegressor",
        "lexigraph.abilities.estimating:Regressor",
        "regression",
        ("estimate",),
        fields=("vectors", "number"),
        exempt={
            "causality": "a number is said for the whole sequence at once",
            "cache": "it says a number and writes no text step by step",
        },
    ),
    "similarity": System(
        "lexigraph.models.similarity:Similarity",
        "lexigraph.abilities.pairs:Similarity",
        "similarity",
        ("estimate",),
        fields=("text", "other", "number"),
        exempt={
            "causality": "a number is said for the whole pair at once",
            "cache": "it says a number and writes no text step by step",
        },
    ),
    "choices": System(
        "lexigraph.models.choices:Choices",
        "lexigraph.abilities.choosing:Choosing",
        "choices",
        ("choose",),
        fields=("text", "choices", "label"),
        exempt={
            "causality": "a candidate is chosen for the whole text at once",
            "cache": "it chooses a candidate and writes no text step by step",
        },
    ),
    "sentence-encoder": System(
        "lexigraph.models.sentence_encoder:SentenceEncoder",
        "lexigraph.abilities.sentences:Sentences",
        "encoding",
        ("encode", "neighbours"),
        exempt={
            "causality": "a sentence is read as a whole before it has a vector",
            "cache": "it gives vectors and writes no text step by step",
            "accumulation": "next sentences are told from those of the same batch (objective.ranked)",
            "overfit": "what stands around a sentence is not told by the sentence: the entropy of text stays",
        },
    ),
    "vit": System(
        "lexigraph.models.vit:VisionTransformer",
        "lexigraph.abilities.classifying:Classifier",
        "classification",
        ("classify",),
        fields=("image", "label"),
        exempt=NAMES_A_CLASS,
    ),
    "captioner": System(
        "lexigraph.models.captioner:Captioner",
        "lexigraph.abilities.captioning:Captioner",
        "captioning",
        ("caption",),
        fields=("image", "caption"),
    ),
    "clip": System(
        "lexigraph.models.clip:CLIP",
        "lexigraph.abilities.matching:PairedVectors",
        "retrieval",
        ("match", "encode", "neighbours"),
        fields=("image", "caption"),
        exempt={
            "causality": "a text is read as a whole before it has a vector",
            "cache": "it gives vectors and writes no text step by step",
            "accumulation": "a pair is told from the others of the same batch",
        },
    ),
    "lstm-autoencoder": System(
        "lexigraph.models.lstm_autoencoder:LSTMAutoencoder",
        "lexigraph.abilities.spaces:SentenceSpace",
        "reconstruction",
        AUTOENCODER,
        exempt=READS_IT_FIRST,
    ),
    "picture": System(
        "lexigraph.models.picture:PictureAutoencoder",
        "lexigraph.abilities.pictures:PictureSpace",
        "reconstruction",
        PICTURES,
        exempt=READS_IT_FIRST,
    ),
}


WORD_VECTORS = "word-vectors"
WORD_SYSTEMS: dict[str, WordSystem] = {
    WORD_VECTORS: WordSystem(
        "lexigraph.words.recipe",
        "lexigraph.words.vectors:WordVectors",
        ("nearest", "similarity", "analogy", "outlier", "map"),
        exempt={
            "batch-invariance": "a word has one vector, whatever stands beside it",
            "cache": "it writes no text step by step",
            "accumulation": "a step is one word or pair of words: there are no batches",
            "causality": "contexts stand on both sides of a word",
            "gradients": "the kernels take steps themselves, on the rows that a word touches",
            "overfit": "it learns which words share contexts, and no sentence by heart",
        },
    ),
}


def system(name: str) -> System:
    """The network of that name, or an error that names the nearest one."""
    if name in upgrades.SYSTEMS:
        now, case = upgrades.SYSTEMS[name]
        keys = ", ".join(f'{key} = "{value}"' for key, value in case.items())
        raise UsageError(
            f'The system {name} is a case of {now} now: write system = "{now}" and {keys} beside its keys.'
        )
    if name not in SYSTEMS:
        raise UsageError(f"There is no system named {name!r}{nearest(name, [*SYSTEMS, *WORD_SYSTEMS])}")
    return SYSTEMS[name]


def system_of_any_kind(name: str) -> System | WordSystem:
    """The network or the word vectors of that name."""
    return WORD_SYSTEMS[name] if name in WORD_SYSTEMS else system(name)


def nearest(name: str, names: Iterable[str]) -> str:
    """`; did you mean 'x'?` for an error message, or the whole list when nothing is near."""
    names = sorted(names)
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    return f"; did you mean {close[0]!r}?" if close else f"; there are: {', '.join(names)}"
