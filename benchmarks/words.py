"""Word vectors against gensim: training time, the whole command, memory, and how good the vectors are.

    python benchmarks/words.py speed TEXT [--rounds 3]           # word2vec and fastText, training alone, 2 threads
    python benchmarks/words.py command TEXT [--rounds 3]         # start-up, reading, an epoch, saving; memory
    python benchmarks/words.py quality TEXT --benchmarks FOLDER        # similarity and analogies, three seeds each
    python benchmarks/words.py glove TEXT [--rounds 3]           # against the same algorithm in C, built here by cc
    python benchmarks/words.py memory TEXT [--method cbow]       # peak memory as the text grows to 1 GB

TEXT is cut at white space by both sides. Both run in turns in the same process (`command`: in processes of their
own) with the same settings; figures are ratios of seconds, and of CPU seconds, gensim's to ours. Kernels are warm.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

RATE = 0.025  # gensim's first rate, for all methods
SETTINGS = {"dim": 100, "window": 5, "negative": 5, "min_count": 5, "sample": 1e-3}
CASES: dict[str, dict[str, Any]] = {
    "skip-gram": {"method": "skipgram"},
    "CBOW": {"method": "cbow"},
    "skip-gram, hierarchical": {"method": "skipgram", "loss": "hierarchical"},
    "CBOW, hierarchical": {"method": "cbow", "loss": "hierarchical"},
    "fastText skip-gram": {"method": "fasttext", "ns_exponent": 0.75},  # gensim's; fastText's own is 0.5
}


def gensim_model(case: dict[str, Any], threads: int, epochs: int, seed: int = 1) -> Any:
    from gensim.models import FastText, Word2Vec

    hierarchical = case.get("loss") == "hierarchical"
    ngrams = case["method"].startswith("fasttext")
    common = {
        "vector_size": SETTINGS["dim"], "window": SETTINGS["window"], "min_count": SETTINGS["min_count"],
        "sample": SETTINGS["sample"], "negative": 0 if hierarchical else SETTINGS["negative"],
        "hs": int(hierarchical),
        "sg": int(not case["method"].endswith("cbow")), "workers": threads, "epochs": epochs, "seed": seed,
    }  # fmt: skip
    return FastText(min_n=3, max_n=6, **common) if ngrams else Word2Vec(**common)


def timed(work: Callable[[], Any]) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def speed(text: Path, rounds: int, threads: int, only: str) -> None:
    """Seconds of training alone: the text is counted before, and gensim reads it in its fast way, `corpus_file`."""
    from lexigraph.words import training
    from lexigraph.words.corpus import Corpus
    from lexigraph.words.settings import Settings

    print("| | gensim, s | Lexigraph, s | ratio | ratio of CPU seconds |\n| --- | --- | --- | --- | --- |")
    corpus = Corpus.read(text, SETTINGS["min_count"], split="space")
    for name, case in CASES.items():
        if only and only != name:
            continue
        settings = Settings(**{**SETTINGS, **case}, epochs=1, threads=threads, split="space").resolved()
        found = []
        for _ in range(rounds):
            model = gensim_model(case, threads, 1)
            model.build_vocab(corpus_file=str(text))
            words, lines = model.corpus_total_words, model.corpus_count
            theirs = timed(
                lambda: model.train(corpus_file=str(text), total_words=words, total_examples=lines, epochs=1)  # noqa: B023
            )
            ours = timed(lambda: training.learn(corpus, settings))  # noqa: B023
            found.append((*theirs, *ours))
        wall, cpu, our_wall, our_cpu = (statistics.median(column) for column in zip(*found, strict=True))
        ratios = [row[0] / row[2] for row in found]
        spread = f"{wall / our_wall:.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {name} | {wall:.2f} | {our_wall:.2f} | {spread} | {cpu / our_cpu:.2f} |", flush=True)
    corpus.close()


GENSIM_COMMAND = """
import sys
from gensim.models import Word2Vec
text, out, threads = sys.argv[1:]
Word2Vec(corpus_file=text, vector_size=100, window=5, negative=5, min_count=5, sample=1e-3, sg=1, epochs=1,
         workers=int(threads)).wv.save_word2vec_format(out, binary=True)
"""


def command(text: Path, rounds: int, threads: int) -> None:
    """Seconds and peak memory of a whole process: skip-gram, one epoch, saved in word2vec's binary format."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "vectors.bin"
        ours = [sys.executable, "-m", "lexigraph", "words", "train", "--data", str(text), "--out", str(out),
                "--epochs", "1", "--threads", str(threads), "--set", "split=space", "--quiet"]  # fmt: skip
        theirs = [sys.executable, "-c", GENSIM_COMMAND, str(text), str(out), str(threads)]
        found: dict[str, list[tuple[float, float]]] = {"gensim": [], "Lexigraph": []}
        for _ in range(rounds + 1):  # the first compiles kernels and warms the disk's cache
            for name, arguments in (("gensim", theirs), ("Lexigraph", ours)):
                out.unlink(missing_ok=True)
                begin = time.perf_counter()
                process = subprocess.Popen(arguments)
                _, status, usage = os.wait4(process.pid, 0)
                if status:
                    sys.exit(f"{name} failed.")
                found[name].append((time.perf_counter() - begin, usage.ru_maxrss / 1024))
    median = {
        name: [statistics.median(column) for column in zip(*rows[1:], strict=True)] for name, rows in found.items()
    }
    print("| | seconds | MiB |\n| --- | --- | --- |")
    for name, (seconds, memory) in median.items():
        print(f"| {name} | {seconds:.2f} | {memory:.0f} |")
    (their_seconds, their_memory), (seconds, memory) = median["gensim"], median["Lexigraph"]
    print(f"| ratio | {their_seconds / seconds:.2f} | {memory / their_memory:.2f} (ours to gensim's) |")


def memory(text: Path, method: str, megabytes: list[int], threads: int, most: int) -> None:
    """Peak memory of a whole process on growing texts: one epoch, saved in word2vec's binary format.

    A text that is too short is repeated with every fiftieth word made new, so that there are ever more words.
    """
    print("| MB of text | seconds | peak MiB | words in the vectors |\n| --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for size in megabytes:
            grown, out = Path(folder) / "text", Path(folder) / "vectors.bin"
            _grow(text, grown, size * 1_000_000)
            arguments = [sys.executable, "-m", "lexigraph", "words", "train", "--data", str(grown), "--out", str(out),
                         "--set", f"method={method}", "--epochs", "1", "--threads", str(threads),
                         "--set", "split=space", "--set", f"max_words={most}", "--quiet"]  # fmt: skip
            begin = time.perf_counter()
            _, status, usage = os.wait4(subprocess.Popen(arguments, stdout=subprocess.DEVNULL).pid, 0)
            if status:
                sys.exit("The training failed.")
            with open(out, "rb") as vectors:
                words = int(vectors.readline().split()[0])
            seconds = time.perf_counter() - begin
            print(f"| {size:,} | {seconds:.0f} | {usage.ru_maxrss / 1024:.0f} | {words:,} |", flush=True)
            out.unlink()


def _grow(text: Path, out: Path, size: int) -> None:
    """The first `size` bytes of the text, repeated as often as needed."""
    written = turn = 0
    with open(text, encoding="utf-8") as source, open(out, "w", encoding="utf-8") as target:
        while True:
            source.seek(0)
            for line in source:
                if turn:
                    words = line.split()
                    words[::50] = [f"{word}{turn}" for word in words[::50]]
                    line = " ".join(words) + "\n"
                target.write(line)
                written += len(line.encode())
                if written >= size:
                    return
            turn += 1


def quality(text: Path, benchmarks: Path, threads: int, epochs: int, seeds: int, only: str) -> None:
    """Mean Spearman over the similarity sets and analogy accuracy, by seed.

    gensim has one thread here: where it reads a file itself, each of its threads counts its own words only, so that
    with two the rate would fall to half its way in every epoch.
    """
    import numpy as np

    from lexigraph.words import evaluation
    from lexigraph.words.settings import Settings
    from lexigraph.words.vectors import WordVectors

    def ours(case: dict[str, Any], seed: int, **rate: float) -> WordVectors:
        more = {key: value for key, value in {**SETTINGS, **case}.items() if key not in ("method", "dim")}
        return WordVectors.train(
            text,
            case["method"],
            SETTINGS["dim"],
            epochs=epochs,
            threads=threads,
            seed=seed,
            split="space",
            **more,
            **rate,
        )

    print("| | | similarity | analogies |\n| --- | --- | --- | --- |")
    for name, case in CASES.items():
        if only and only != name:
            continue
        own = Settings(method=case["method"], loss=case.get("loss", "negative")).resolved().alpha
        scores: dict[str, list[tuple[float, float]]] = {"gensim": [], "Lexigraph": []}
        scores |= {f"Lexigraph, rate {own}": []} if own != RATE else {}
        for seed in range(seeds):
            model = gensim_model(case, 1, epochs, seed + 1)
            model.build_vocab(corpus_file=str(text))
            model.train(corpus_file=str(text), total_words=model.corpus_total_words,
                        total_examples=model.corpus_count, epochs=epochs)  # fmt: skip
            theirs = WordVectors(model.wv.index_to_key, np.asarray(model.wv.vectors))
            trained = [theirs, ours(case, seed, alpha=RATE), *([ours(case, seed)] if own != RATE else [])]
            for rows, wv in zip(scores.values(), trained, strict=True):
                known = WordVectors(wv.words, wv.vectors)  # without n-grams: pairs with other words count for neither
                rows.append(evaluation.averages(known, benchmarks))
        for who, rows in scores.items():
            columns = [f"{np.mean(column):.4f} ± {np.std(column, ddof=1):.4f}" for column in zip(*rows, strict=True)]
            print(f"| {name} | {who} | {' | '.join(columns)} |", flush=True)


def glove(text: Path, rounds: int, threads: int) -> None:
    """Seconds of an epoch of training, counting apart, and memory, against benchmarks/glove.c on the same pairs."""
    from lexigraph.words import glove as ours
    from lexigraph.words.cooccurrence import cooccurrence
    from lexigraph.words.corpus import Corpus
    from lexigraph.words.settings import Settings

    with tempfile.TemporaryDirectory() as folder, Corpus.read(text, 5, split="space") as corpus:
        programs = {}
        for real in ("double", "float"):
            programs[real] = Path(folder) / f"glove-{real}"
            subprocess.run(["cc", "-O3", "-march=native", "-funroll-loops", f"-DREAL={real}", "-o", programs[real],
                            Path(__file__).with_name("glove.c"), "-lm", "-lpthread"], check=True)  # fmt: skip
        with cooccurrence(corpus, window=10, weighting="harmonic") as counts:
            pairs = Path(folder) / "pairs"
            with ours.Shuffled(counts, 100.0, 0) as shuffled, open(pairs, "wb") as stream:
                for (job,) in shuffled.jobs(0):
                    job.tofile(stream)
            print(f"{counts.nonzeros:,} pairs, {len(corpus.words):,} words, dim {SETTINGS['dim']}, {threads} threads")
            found: dict[str, list[float]] = {"Lexigraph": [], "double": [], "float": []}
            memory = {}
            for _ in range(rounds):
                for real, program in programs.items():
                    sizes = map(str, (len(corpus.words), SETTINGS["dim"], 3, threads))
                    ran = subprocess.run([program, pairs, *sizes], check=True, capture_output=True, text=True)
                    facts = json.loads(ran.stdout)
                    found[real].append(facts["seconds"] / 3)
                    memory[real] = facts["megabytes"]
                marks: dict[int, float] = {}  # pairs done: when
                settings = Settings(method="glove", dim=SETTINGS["dim"], epochs=4, threads=threads).resolved()
                ours.fit(counts, len(corpus.words), settings,
                         report=lambda done, loss: marks.update({done: time.perf_counter()}))  # noqa: B023  # fmt: skip
                found["Lexigraph"].append((marks[4 * counts.nonzeros] - marks[counts.nonzeros]) / 3)
    for name, seconds in found.items():
        extra = f", {memory[name]:.0f} MB" if name in memory else ""
        print(f"{name}: {statistics.median(seconds):.2f} s an epoch{extra}")
    for real in ("double", "float"):
        print(f"ratio to C with {real}: {statistics.median(found[real]) / statistics.median(found['Lexigraph']):.2f}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", choices=("speed", "command", "quality", "glove", "memory"))
    arguments.add_argument("text", type=Path)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--threads", type=int, default=2)
    arguments.add_argument("--epochs", type=int, default=5)
    arguments.add_argument("--seeds", type=int, default=3)
    arguments.add_argument("--benchmarks", type=Path)
    arguments.add_argument("--only", choices=list(CASES), default="")
    arguments.add_argument("--method", default="cbow")
    arguments.add_argument("--max-words", type=int, default=0, help="of the vectors; 0: all")
    arguments.add_argument("--megabytes", type=int, nargs="+", default=[10, 100, 300, 1000])
    given = arguments.parse_args()
    if given.what == "speed":
        speed(given.text, given.rounds, given.threads, given.only)
    elif given.what == "command":
        command(given.text, given.rounds, given.threads)
    elif given.what == "glove":
        glove(given.text, given.rounds, given.threads)
    elif given.what == "memory":
        memory(given.text, given.method, given.megabytes, given.threads, given.max_words)
    else:
        quality(given.text, given.benchmarks, given.threads, given.epochs, given.seeds, given.only)


if __name__ == "__main__":
    main()
