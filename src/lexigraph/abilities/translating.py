"""What translators can do: write a text for another one, say where they looked, and score pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float

from lexigraph.abilities.asking import TextError, many, number, one_or_many, whole
from lexigraph.abilities.textmodel import BATCH_SIZE, Scored, TextModel
from lexigraph.decoding.hypothesis import Hypothesis, Length
from lexigraph.errors import UsageError
from lexigraph.nn.translation import SOURCE, TARGET, TranslationNetwork
from lexigraph.objectives.next_token import token_nll
from lexigraph.text.batches import padded
from lexigraph.text.encoding import special_id
from lexigraph.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Translation(Scored):
    """A translation and, if it was asked for, where the model looked: `alignment[t, s]` is how much at piece s of the
    source while it wrote piece t of the target; each row adds up to 1."""

    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    alignment: Float[np.ndarray, "target source"] | None = field(default=None, compare=False, repr=False)


Links = list[tuple[int, int]]  # word of the source, word of the text


class Translator(TextModel):
    """A source in, a target out."""

    network: TranslationNetwork

    @property
    def reading_tokenizer(self) -> Tokenizer:
        return self.vocabularies.tokenizer(SOURCE) if SOURCE in self.vocabularies else self.tokenizer

    @one_or_many
    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = 5,
        alpha: float = 0.7,
        n_best: int = 1,
        alignment: bool = False,
        direction: str = "",
        length: Length = "power",
        coverage: float = 0.0,
        copy_unknown: bool = False,
    ) -> list[str | list[Translation]]:
        """The translation of each text; with n_best > 1 or alignment, the best few of each as `Translation`.

        alignment: say also where the model looked while it wrote.
        direction: the special token of the language or task that is wanted, if the model was taught several.
        length, coverage: what short translations are held up with, and those that leave some of the source unread
            marked down with (decoding/beam.py).
        copy_unknown: let the model write <unk>, and put there the word of the source that it looked at.

            >>> model.translate(["A man sleeps."])        # doctest: +SKIP
            ['Ein Mann schläft.']
        """
        whole(beam=beam, n_best=n_best)
        number(alpha=alpha)
        looks = alignment or bool(coverage) or copy_unknown
        if looks and not self.network.aligned:
            raise UsageError('This model was trained without attention (model.attention = "none"): it looks nowhere.')
        if copy_unknown and self.recipe.data.rare:
            raise UsageError("This model leaves unknown words out (data.rare): it has none to copy.")
        lead = [special_id(self.reading_tokenizer, direction)] if direction else []
        rows = [np.array([*lead, *row]) for row in self._sentences(texts)]
        found = self.translations(
            rows,
            beam=max(beam, n_best),
            alpha=alpha,
            n_best=n_best,
            length=length,
            coverage=coverage,
            alignment=alignment or copy_unknown,
            unknown=copy_unknown,
        )
        if n_best == 1 and not alignment and not copy_unknown:
            return list(self.tokenizer.decode_batch([best[0].tokens for best in found]))
        read = [[direction] * bool(lead) + surfaces for surfaces in self._surfaces(texts)] if copy_unknown else None
        several = [
            [self._translation(row, each, None if read is None else read[number]) for each in best]
            for number, (row, best) in enumerate(zip(rows, found, strict=True))
        ]
        return list(several) if n_best > 1 or alignment else [best[0].text for best in several]

    def translations(
        self,
        sources: Sequence[np.ndarray],
        *,
        beam: int = 5,
        alpha: float = 0.7,
        n_best: int = 1,
        alignment: bool = False,
        length: Length = "power",
        coverage: float = 0.0,
        unknown: bool = False,
    ) -> list[list[Hypothesis]]:
        """The same on token ids, boundaries neither given nor returned. `unknown`: <unk> may be written.

        Sources of like length are searched together, and how long a target may be depends on that length, so that a
        text is translated alike in any company.
        """
        network = self.network
        found: dict[int, list[Hypothesis]] = {}
        lengths = np.array([len(row) for row in sources]) // 8
        for like in np.unique(lengths):
            chosen = np.flatnonzero(lengths == like)
            for first in range(0, len(chosen), BATCH_SIZE):
                positions = chosen[first : first + BATCH_SIZE]
                batch = self._batch([[*network.lead, *sources[i].tolist(), network.end] for i in positions])
                longest = min(network.context, 2 * 8 * (int(like) + 1) + 10)
                best = self._search(
                    batch,
                    beam,
                    longest,
                    alpha,
                    n_best,
                    attention=alignment,
                    length=length,
                    coverage=coverage,
                    allowed=[self.tokenizer.unk] if unknown else [],
                )
                found |= dict(zip(positions.tolist(), best, strict=True))
        return [found[i] for i in range(len(sources))]

    @one_or_many
    def align(self, texts: Sequence[str], *, sources: str | Sequence[str] | None = None) -> list[Links]:
        """Which word of its source each word of a text was written from: pairs (word of the source, of the text).

        It is the one that is looked at most while the word is written; a word for which the end of the source is
        looked at is none's. Words stand between white space.

            >>> model.align("Ein Mann schläft .", sources="A man sleeps .")        # doctest: +SKIP
            [(0, 0), (1, 1), (2, 2), (3, 3)]
        """
        if not self.network.aligned:
            raise UsageError('This model was trained without attention (model.attention = "none"): it looks nowhere.')
        given = self._paired(texts, sources, "aligns translations")
        rows = {SOURCE: self._sentences(given), TARGET: self.rows(texts)[0]}
        found: list[Links] = []
        for first in range(0, len(texts), BATCH_SIZE):
            part = slice(first, first + BATCH_SIZE)
            looked = self._looked(rows[SOURCE][part], rows[TARGET][part])
            for table, source, target in zip(looked, given[part], texts[part], strict=True):
                found.append(self._links(table, source, target))
        return found

    @torch.inference_mode()
    def _looked(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Where it looks for every token of targets that are given, the source's lead left out and its end kept."""
        network, read = self.network, self.network.lead
        step = network.start(self._batch([[*read, *row.tolist(), network.end] for row in sources]))
        wanted = torch.from_numpy(padded(targets, self.tokenizer.pad)).to(self.device)
        tables = []
        for t in range(wanted.shape[1]):
            if t:
                step = network.step(step.state, wanted[:, t - 1], attention=True)
            assert step.attention is not None
            tables.append(step.attention)
        table = torch.stack(tables, 1).float().cpu().numpy()
        sizes = zip(table, sources, targets, strict=True)
        return [each[: len(target), len(read) :][:, : len(source) + 1] for each, source, target in sizes]

    def _links(self, table: Float[np.ndarray, "T S"], source: str, target: str) -> Links:
        """Pieces are taken together: a word is looked at as much as all its pieces are, and by all of them."""
        read, wrote = self.reading_tokenizer.word_numbers(source), self.tokenizer.word_numbers(target)
        if (len(wrote), len(read) + 1) != table.shape:
            raise UsageError("Words cannot be told from what is left of them after the recipe's cleaning.")
        end = read.max(initial=-1) + 1
        best = (np.eye(wrote.max(initial=-1) + 1)[wrote].T @ table @ np.eye(end + 1)[np.append(read, end)]).argmax(1)
        return [(int(s), t) for t, s in enumerate(best) if s < end]

    def _paired(self, texts: Sequence[str], sources: str | Sequence[str] | None, verb: str) -> Sequence[str]:
        """One source for each text."""
        if sources is None:
            raise UsageError(f"A {self.recipe.system} model {verb}: give sources.")
        given = many(sources, named="source")[0]
        if len(given) != len(texts):
            raise UsageError(f"There are {len(texts)} texts and {len(given)} sources: give one for each.")
        return given

    def _surfaces(self, texts: Sequence[str]) -> list[list[str]]:
        """What each token of these sources stands for."""
        cleaned = [self._clean(text) or "" for text in texts] if self._clean else texts
        return [self.reading_tokenizer.surfaces(text) for text in cleaned]

    def _copied(self, found: Hypothesis, read: Sequence[str]) -> str:
        """The text of a hypothesis with a word of the source for each <unk>: of all words, where it looked most."""
        (text,), unk = self.tokenizer.decode_batch([found.tokens], unknown=True), self.tokenizer.unk
        parts, first = text.split(self.tokenizer.token_of(unk)), len(self.network.lead)
        assert found.attention is not None
        looked = found.attention[:, first : first + len(read)].argmax(1).tolist()
        words = [read[looked[t]] for t, token in enumerate(found.tokens) if token == unk]
        return "".join(part for pair in zip(parts, [*words, ""], strict=True) for part in pair)

    def _translation(self, source: np.ndarray, found: Hypothesis, read: Sequence[str] | None = None) -> Translation:
        """A hypothesis as text, with the pieces that its alignment speaks of. `read`: to copy unknown words from."""
        text = self.tokenizer.decode(found.tokens) if read is None else self._copied(found, read)
        scored = text, found.log_probability, found.produced, found.score
        if found.attention is None:
            return Translation(*scored)
        network, end = self.network, [self.tokenizer.eos] * found.finished
        read = self.reading_tokenizer.tokens([*network.lead, *source.tolist(), network.end])
        written = self.tokenizer.tokens([*found.tokens, *end])
        return Translation(*scored, tuple(read), tuple(written), found.attention[:, : len(read)].numpy())

    @one_or_many
    def score(self, texts: Sequence[str], *, sources: str | Sequence[str] | None = None) -> list[float]:
        """Natural-log probability of each text, its end included, as the translation of its source."""
        sources = self._paired(texts, sources, "scores translations")
        columns = {SOURCE: self._sentences(sources), TARGET: self.rows(texts)[0]}
        eos, scores = self.tokenizer.eos, []
        for first in range(0, len(sources), BATCH_SIZE):
            part = {
                side: [np.array([eos, *row, eos]) for row in rows[first : first + BATCH_SIZE]]
                for side, rows in columns.items()
            }
            with torch.inference_mode():
                terms, _ = self.network.loss(self.network.prepare(part).to(self.device))
            scores += (-token_nll(terms).double().sum(1)).tolist()
        return scores

    def score_lines(self, lines: Sequence[str], *, ended: bool = True) -> list[float]:
        """Of lines with a source, a tab and a target."""
        if not ended:
            raise UsageError("A translator scores whole translations only: leave out --prefix.")
        sources, targets = self._pairs_in(lines, "scores")
        return self.score(targets, sources=sources)

    def align_lines(self, lines: Sequence[str]) -> list[Links]:
        """Of lines with a source, a tab and a target."""
        sources, targets = self._pairs_in(lines, "aligns")
        return self.align(targets, sources=sources)

    def _pairs_in(self, lines: Sequence[str], verb: str) -> tuple[list[str], list[str]]:
        """The sources and targets of such lines."""
        for place, line in enumerate(lines, 1):
            if "\t" not in line:
                raise TextError(
                    place,
                    len(lines),
                    f"({line[:40]!r}) has no target: a {self.recipe.system} model {verb} pairs, "
                    "source, tab, target (in a shell: $'source\\ttarget').",
                )
        sources, _, targets = zip(*(line.partition("\t") for line in lines), strict=True)
        return list(sources), list(targets)
