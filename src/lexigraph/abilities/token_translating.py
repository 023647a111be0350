"""What translators do with token ids, boundaries neither given nor returned: search, draw, score, look back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch

from lexigraph.abilities.textmodel import BATCH_SIZE, TextModel
from lexigraph.decoding.choices import seed_of
from lexigraph.decoding.hypothesis import Hypothesis, Length
from lexigraph.decoding.sampling import generate
from lexigraph.nn.translation import SOURCE, TARGET, TranslationNetwork
from lexigraph.objectives.next_token import token_nll
from lexigraph.objectives.terms import Batch
from lexigraph.text.batches import padded
from lexigraph.text.tokenizer import Tokenizer


class Drawn(NamedTuple):
    """How translations are drawn (decoding/sampling.py)."""

    temperature: float
    top_p: float = 1.0
    seed: int = 0


class TokenTranslator(TextModel):
    """A source in, a target out."""

    network: TranslationNetwork
    of_unknown_words = ": they are read as unknown (--copy-unknown writes them as they are)"

    @property
    def reading_tokenizer(self) -> Tokenizer:
        return self.vocabularies.tokenizer(SOURCE) if SOURCE in self.vocabularies else self.tokenizer

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
        drawn: Drawn | None = None,
        shortest: int = 0,
        longest: int = 0,
        no_repeat: int = 0,
    ) -> list[list[Hypothesis]]:
        """The best translations of each source. `unknown`: <unk> may be written; `drawn`: in place of a search;
        `shortest`, `longest` (0: as sources are long): tokens of a target; `no_repeat`: no n-gram comes twice.

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
                most = min(network.context, longest + 1 if longest else 2 * 8 * (int(like) + 1) + 10)
                if drawn:
                    rows = [sources[i].tolist() for i in positions]
                    best = self._draw(batch, rows, most, n_best, drawn, alignment, unknown)
                    found |= dict(zip(positions.tolist(), best, strict=True))
                    continue
                best = self._search(
                    batch,
                    beam,
                    most,
                    alpha,
                    n_best,
                    attention=alignment,
                    length=length,
                    coverage=coverage,
                    allowed=[self.tokenizer.unk] if unknown else [],
                    shortest=shortest,
                    no_repeat=no_repeat,
                )
                found |= dict(zip(positions.tolist(), best, strict=True))
        return [found[i] for i in range(len(sources))]

    def _draw(
        self,
        batch: dict[str, torch.Tensor],
        sources: Sequence[Sequence[int]],
        max_new: int,
        count: int,
        drawn: Drawn,
        attention: bool,
        unknown: bool,
    ) -> list[list[Hypothesis]]:
        """So many random translations of each source, the most probable first; what they are depends on it alone."""
        found = generate(
            self.network,
            {name: value.repeat_interleave(count, 0) for name, value in batch.items()},
            eos=self.tokenizer.eos,
            max_new=max_new,
            temperature=drawn.temperature,
            top_p=drawn.top_p,
            seeds=[seed_of(drawn.seed, number, str(row)) for row in sources for number in range(count)],
            banned=[token for token in self._banned if not unknown or token != self.tokenizer.unk],
            attention=attention,
        )
        each = (found[first : first + count] for first in range(0, len(found), count))
        return [sorted(those, key=lambda hypothesis: -hypothesis.log_probability) for those in each]

    def _scores(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> list[float]:
        """The same of token ids."""
        scores: list[float] = []
        for first in range(0, len(sources), BATCH_SIZE):
            part = slice(first, first + BATCH_SIZE)
            with torch.inference_mode():
                terms, _ = self.network.loss(self._pairs(sources[part], targets[part]))
            scores += (-token_nll(terms).double().sum(1)).tolist()
        return scores

    def _pairs(self, sources: Sequence[np.ndarray], targets: Sequence[np.ndarray]) -> Batch:
        """A batch of pairs of token ids, as in training."""
        eos, sides = self.tokenizer.eos, {SOURCE: sources, TARGET: targets}
        examples = {side: [np.array([eos, *row, eos]) for row in rows] for side, rows in sides.items()}
        return self.network.prepare(examples).to(self.device)

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
