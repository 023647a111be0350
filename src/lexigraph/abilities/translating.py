"""What translators can do: write a text for another one, say where they looked, score pairs, and tell errors of the
search from errors of the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from jaxtyping import Float

from lexigraph.abilities.asking import TextError, many, number, one_or_many, whole
from lexigraph.abilities.directions import To, refuse_none_said, shares_of
from lexigraph.abilities.textmodel import BATCH_SIZE, Scored
from lexigraph.abilities.token_translating import Drawn, TokenTranslator
from lexigraph.decoding.diagnose import Diagnosis, Reference, Trial
from lexigraph.decoding.hypothesis import Hypothesis, Length
from lexigraph.errors import UsageError
from lexigraph.nn.network import columns_of
from lexigraph.nn.translation import SOURCE
from lexigraph.objectives.terms import Batch
from lexigraph.text.encoding import directions, lead_ids, special_id


@dataclass(frozen=True)
class Translation(Scored):
    """A translation and, if it was asked for, where the model looked: `alignment[t, s]` is how much at piece s of the
    source while it wrote piece t of the target; each row adds up to 1."""

    source: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    alignment: Float[np.ndarray, "target source"] | None = field(default=None, compare=False, repr=False)


Links = list[tuple[int, int]]  # word of the source, word of the text
MIXTURE = "<mixture>"  # how a mixture of directions is shown


class Translator(TokenTranslator):
    """A source in, a target out."""

    # ---- directions ----------------------------------------------------------------------------------------

    @cached_property
    def directions(self) -> tuple[str, ...]:
        """The languages or tasks that can be wanted: special tokens, or names of what stands before their sources;
        none, if the model was taught but one."""
        column = columns_of(self.recipe).get(SOURCE)
        if column and column.prefixes:
            return tuple(dict(column.prefixes))
        return tuple(directions(self.reading_tokenizer)) if column and column.lead else ()

    @contextmanager
    def _towards(self, to: To) -> Iterator[list[int]]:
        """What stands in front of every source, as long as this lasts: nothing, the token of a direction, or the
        prefix of a task."""
        if to is None:
            refuse_none_said(self.directions)
        if to and (column := columns_of(self.recipe)[SOURCE]).prefixes:
            if len(asked := shares_of(to)) > 1:
                raise UsageError(
                    f"A mixture is one of special tokens, and the tasks of this model have texts: name one, as "
                    f"--to {self.directions[0]}."
                )
            yield lead_ids(self.reading_tokenizer, column, *asked)
            return
        shares: dict[int, float] = defaultdict(float)
        for name, share in shares_of(to).items():
            shares[special_id(self.reading_tokenizer, name)] += share
        if len(shares) < 2:
            yield [*shares]
            return
        with self.network.source_table.mixture(shares) as token:
            yield [token]

    def _led(self, texts: Sequence[str], lead: Sequence[int]) -> list[np.ndarray]:
        """The tokens of sources, with what stands in front of them."""
        rows = self._sentences(texts)
        for place, row in enumerate(rows, 1):
            if len(lead) + len(row) > self._longest:
                most = self._longest - len(lead)
                why = f"has {len(row):,} tokens, and behind a direction this model reads at most {most}."
                raise TextError(place, len(rows), why)
        return [_behind(lead, row) for row in rows]

    @one_or_many
    def translate(
        self,
        texts: Sequence[str],
        *,
        beam: int = 5,
        alpha: float = 0.7,
        n_best: int = 1,
        alignment: bool = False,
        to: To = None,
        length: Length = "power",
        coverage: float = 0.0,
        copy_unknown: bool = False,
        temperature: float = 0.0,
        top_p: float = 1.0,
        seed: int = 0,
    ) -> list[str | list[Translation]]:
        """The translation of each text; with n_best > 1 or alignment, the best few of each as `Translation`.

        alignment: say also where the model looked while it wrote.
        to: the language or task that is wanted, if the model was taught several; or a mixture, as {"de": 0.6,
            "fr": 0.4} (abilities/directions.py).
        length, coverage: what short translations are held up with, and those that leave some of the source unread
            marked down with (decoding/beam.py).
        copy_unknown: let the model write <unk>, and put there the word of the source that it looked at.
        temperature: above 0, translations are drawn in place of a search, n_best of each text, from the most probable
            tokens of mass top_p (decoding/sampling.py). The same seed gives the same translations.

            >>> model.translate(["A man sleeps."])        # doctest: +SKIP
            ['Ein Mann schläft.']
        """
        whole(beam=beam, n_best=n_best)
        number(alpha=alpha, seed=seed)
        number(0, temperature=temperature)
        if temperature and coverage:
            raise UsageError("What is drawn is not searched for: leave out coverage (--coverage), or temperature.")
        looks = alignment or bool(coverage) or copy_unknown
        if looks and not self.network.aligned:
            raise UsageError('This model was trained without attention (model.attention = "none"): it looks nowhere.')
        if copy_unknown and self.recipe.data.rare:
            raise UsageError("This model leaves unknown words out (data.rare): it has none to copy.")
        with self._towards(to) as lead:
            rows = self._led(texts, lead)
            found = self.translations(
                rows,
                beam=max(beam, n_best),
                alpha=alpha,
                n_best=n_best,
                length=length,
                coverage=coverage,
                alignment=alignment or copy_unknown,
                unknown=copy_unknown,
                drawn=Drawn(temperature, top_p, seed) if temperature else None,
            )
        if n_best == 1 and not alignment and not copy_unknown:
            return list(self.tokenizer.decode_batch([best[0].tokens for best in found]))
        read = self._surfaces(texts) if copy_unknown else None
        several = [
            [self._translation(row, each, None if read is None else read[number]) for each in best]
            for number, (row, best) in enumerate(zip(rows, found, strict=True))
        ]
        return list(several) if n_best > 1 or alignment else [best[0].text for best in several]

    @one_or_many
    def align(
        self, texts: Sequence[str], *, sources: str | Sequence[str] | None = None, to: To = None
    ) -> list[Links]:
        """Which word of its source each word of a text was written from: pairs (word of the source, of the text).

        It is the one that is looked at most while the word is written; a word for which the end of the source is
        looked at is none's. Words stand between white space.

            >>> model.align("Ein Mann schläft .", sources="A man sleeps .")        # doctest: +SKIP
            [(0, 0), (1, 1), (2, 2), (3, 3)]
        """
        if not self.network.aligned:
            raise UsageError('This model was trained without attention (model.attention = "none"): it looks nowhere.')
        given = self._paired(texts, sources, "aligns translations")
        found: list[Links] = []
        with self._towards(to) as lead:
            read, wrote = self._led(given, lead), self.rows(texts)[0]
            for first in range(0, len(texts), BATCH_SIZE):
                part = slice(first, first + BATCH_SIZE)
                looked = self._looked(read[part], wrote[part])
                for table, source, target in zip(looked, given[part], texts[part], strict=True):
                    found.append(self._links(table[:, len(lead) :], source, target))
        return found

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
            raise UsageError(f"This {self.recipe.system} model {verb}: give sources.")
        given = many(sources, named="source")[0]
        if len(given) != len(texts):
            raise UsageError(f"There are {len(texts)} texts and {len(given)} sources: give one for each.")
        return given

    def _surfaces(self, texts: Sequence[str]) -> list[list[str]]:
        """What each token of these sources stands for."""
        return [self.reading_tokenizer.surfaces(text) for text in self.cleaned(texts)]

    def _copied(self, found: Hypothesis, read: Sequence[str], first: int) -> str:
        """The text of a hypothesis with a word of the source for each <unk>: of all words, where it looked most.

        first: at which position of what it looked at the words begin.
        """
        (text,), unk = self.tokenizer.decode_batch([found.tokens], unknown=True), self.tokenizer.unk
        parts = text.split(self.tokenizer.token_of(unk))
        assert found.attention is not None
        looked = found.attention[:, first : first + len(read)].argmax(1).tolist()
        words = [read[looked[t]] for t, token in enumerate(found.tokens) if token == unk]
        return "".join(part for pair in zip(parts, [*words, ""], strict=True) for part in pair)

    def _translation(self, source: np.ndarray, found: Hypothesis, read: Sequence[str] | None = None) -> Translation:
        """A hypothesis as text, with the pieces that its alignment speaks of. `read`: to copy unknown words from."""
        network, end = self.network, [self.tokenizer.eos] * found.finished
        if read is None:
            text = self.tokenizer.decode(found.tokens)
        else:
            text = self._copied(found, read, len(network.lead) + len(source) - len(read))
        scored = text, found.log_probability, found.produced, found.score
        if found.attention is None:
            return Translation(*scored)
        read = self.read_pieces([*network.lead, *source.tolist(), network.end])
        written = self.tokenizer.tokens([*found.tokens, *end])
        return Translation(*scored, tuple(read), tuple(written), found.attention[:, : len(read)].numpy())

    @one_or_many
    def score(
        self, texts: Sequence[str], *, sources: str | Sequence[str] | None = None, to: To = None
    ) -> list[float]:
        """Natural-log probability of each text, its end included, as the translation of its source."""
        given = self._paired(texts, sources, "scores translations")
        with self._towards(to) as lead:
            return self._scores(self._led(given, lead), self.rows(texts)[0])

    @contextmanager
    def one_pair(self, source: str, target: str, to: To = None) -> Iterator[Batch]:
        """A batch of one pair; for as long as this lasts, a mixture of directions stands in front of its source."""
        with self._towards(to) as lead:
            yield self._pairs(self._led([source], lead), self.rows([target])[0])

    def read_pieces(self, ids: Sequence[int]) -> list[str]:
        """The pieces of a source, its direction among them."""
        known = len(self.reading_tokenizer)
        return [self.reading_tokenizer.tokens([token])[0] if token < known else MIXTURE for token in ids]

    def score_lines(self, lines: Sequence[str], *, ended: bool = True, to: To = None) -> list[float]:
        """Of lines with a source, a tab and a target."""
        if not ended:
            raise UsageError("A translator scores whole translations only: leave out --prefix.")
        sources, targets = self._pairs_in(lines, "scores")
        return self.score(targets, sources=sources, to=to)

    def align_lines(self, lines: Sequence[str], *, to: To = None) -> list[Links]:
        """Of lines with a source, a tab and a target."""
        sources, targets = self._pairs_in(lines, "aligns")
        return self.align(targets, sources=sources, to=to)

    # ---- whose fault ---------------------------------------------------------------------------------------

    def diagnose(
        self,
        texts: Sequence[str],
        *,
        sources: str | Sequence[str] | None = None,
        beam: int = 5,
        alpha: float = 0.7,
        to: To = None,
    ) -> Diagnosis:
        """Whether what is wrong in translations belongs to the search or to the model.

        texts: the right translations of `sources`. If the model gives one a better score than what was found, the
        search failed; if not, the model prefers another text. Pairs that do not fit into the model, or have words
        that it cannot write, are left out, and counted.
        """
        every, _ = many(texts)
        return self._trial(every, self._paired(every, sources, "is diagnosed on pairs"), alpha, to).diagnosis(beam)

    def trial_of_lines(
        self, lines: Sequence[str], *, prompt_tokens: int | None = None, alpha: float = 0.7, to: To = None
    ) -> Trial:
        """Of lines with a source, a tab and a target."""
        if prompt_tokens is not None:
            raise UsageError("A translator is given the whole source: leave out --prompt-tokens.")
        sources, targets = self._pairs_in(lines, "is diagnosed on")
        return self._trial(targets, sources, alpha, to)

    def _trial(self, texts: Sequence[str], sources: Sequence[str], alpha: float, to: To) -> Trial:
        """The searches for translations of which right ones are known."""
        read, wrote = self.rows(sources, self.reading_tokenizer)[0], self.rows(texts)[0]
        with self._towards(to) as lead:
            longest, banned = self._longest - len(lead), set(self._banned)
        kept = [
            number
            for number, (source, target) in enumerate(zip(read, wrote, strict=True))
            if 0 < len(source) <= longest and len(target) <= self._longest and not banned & set(target.tolist())
        ]

        def behind(lead: Sequence[int]) -> list[np.ndarray]:
            return [_behind(lead, read[number]) for number in kept]

        def search(width: int) -> list[Hypothesis]:
            with self._towards(to) as lead:
                return [best[0] for best in self.translations(behind(lead), beam=width, alpha=alpha)]

        with self._towards(to) as lead:
            log_p = self._scores(behind(lead), [wrote[number] for number in kept])
        references = [Reference(tuple(wrote[n].tolist()), value) for n, value in zip(kept, log_p, strict=True)]
        right, left_out = [texts[number] for number in kept], len(texts) - len(kept)
        return Trial(search, references, right, self.tokenizer.decode, alpha, left_out).checked()

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


def _behind(lead: Sequence[int], row: np.ndarray) -> np.ndarray:
    """The tokens of a source behind those that stand in front of it."""
    return np.concatenate([np.array(lead, np.int64), row.astype(np.int64)])
