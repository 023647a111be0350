"""Directions that make no sense: of files, of translators of one language, of models that translate nothing."""

from tests.wrong.case import WRONG_USAGE, Case

PAIR = {"a.en": "A man .\nA dog .\n", "a.de": "Ein Mann .\nEin Hund .\n"}
MAPPED = {"pairs.tsv": "it\tA man .\tUn uomo .\n"}
ASKED = "translate @transformer 'She sings .' --to"


def usage(command: str, *names: str, **more) -> Case:
    return Case(command, names, code=WRONG_USAGE, **more)


def failed(command: str, *names: str, **more) -> Case:
    return Case(command, names, **more)


CASES = {
    "a translator of one language asked for another": failed(f"{ASKED} de", "'de'", "no directions"),
    "a share that is missing": usage(f"{ASKED} de=0.6,fr", "'fr'", "de=0.6,fr=0.4"),
    "a share in words": usage(f"{ASKED} de=half", "'de=half'", "de=0.6,fr=0.4"),
    "a share below nothing": usage(f"{ASKED} de=-1", "'de'", "-1", "at least 0"),
    "a share that is no number": usage(f"{ASKED} de=nan", "'de'", "nan"),
    "shares of nothing": usage(f"{ASKED} de=0,fr=0", "shares", "0"),
    "a direction twice": usage(f"{ASKED} de=1,de=1", "twice"),
    "a share of nothing named": usage(f"{ASKED} =1", "no direction"),
    "a language model told what to write": usage("score @gpt the --to de", "--to", "gpt"),
    "a direction to look at gates": usage("look @lstm-lm --gates a --to de", "--to", "--alignment and --attention"),
    "pairs of a direction that is not there": failed(
        "train seq2seq --data it=nowhere.tsv --out run", "nowhere.tsv", "no such file"
    ),
    "labels with a direction": usage(
        "train bow --data it=films.tsv --out run", "it=films.tsv", "translators",
        given={"films.tsv": "a film\tgood\n"},
    ),
    "lines with a direction": failed("train gpt --data it=good.txt --out run", "it=good.txt", "no such file"),
    "a direction said twice": usage(
        "train seq2seq --data it=pairs.tsv --out run "
        """--set 'data.columns={direction="1", source="2", target="3"}'""",
        "it=pairs.tsv, line 1", "'direction'", "it=", given=MAPPED,
    ),
    "a direction of white space": usage(
        "train seq2seq --data pairs.jsonl --out run --set data.split=[1.0]", "<2d e>", "special token",
        given={"pairs.jsonl": '{"source": "A man .", "target": "Ein Mann .", "direction": "d e"}\n'},
    ),
    "an unknown direction scored": failed(
        "eval @transformer --data de=a.en+a.de", "'de'", "no directions", given=PAIR
    ),
    "two files of lines instead of pairs": usage(
        "train seq2seq --data a.en --data a.de --out run", "a.en: plain text", "a.en+OTHER", given=PAIR
    ),
    "one of two files of pairs not there": failed(
        "train seq2seq --data a.en+texts/a.fr --out run", "texts/a.fr", "no such file", "a.en", given=PAIR
    ),
    "true links that are not there": failed(
        "align @seq2seq --gold none.txt --file a.en+a.de", "none.txt", "no such file", given=PAIR
    ),
    "true links of others": usage(
        "statistical align --gold gold.txt --data a.en+a.de", "2 pairs", "gold.txt has 1 lines",
        given=PAIR | {"gold.txt": "0-0\n"},
    ),
    "true links in words": usage(
        "statistical align --gold gold.txt --data a.en+a.de", "gold.txt, line 2", "'a' is no link",
        given=PAIR | {"gold.txt": "0-0\na\n"},
    ),
    "a diagnosis without targets": failed("diagnose @transformer --file good.txt", "Text 1", "no target"),
    "a diagnosis of pairs with a prompt": usage(
        "diagnose @transformer --prompt-tokens 3 --data a.en+a.de", "--prompt-tokens", given=PAIR
    ),
    "a diagnosis of pairs that are too long": failed(
        "diagnose @transformer --data long.tsv", "nothing to diagnose", "1 texts",
        given={"long.tsv": f"{'a ' * 500}\tb\n"},
    ),
    "a diagnosis of what searches nothing": failed("diagnose @bert the", "bert", "diagnose", "can:"),
    "pairs of unequal files diagnosed": failed(
        "diagnose @transformer --data a.en+a.de", "a.en", "1 lines", "line 2", given=PAIR | {"a.en": "A man .\n"}
    ),
}  # fmt: skip
