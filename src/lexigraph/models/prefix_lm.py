"""A prefix language model: one stack reads a source in both directions and goes on with its target (Liu et al. 2018;
Raffel et al. 2020, 3.2).

    one sequence    <eos> s_1 … s_m <eos> t_1 … t_n        the second <eos> asks for t_1; t_n is followed by <eos>
    position i sees j    where j ≤ i, or j ≤ m            (0 … m: <eos> s_1 … s_m, the prefix)
    p(t_k | t_<k, s) = softmax(h_{m+k} Eᵀ)                 only targets are learned

The layers are those of a `gpt`, its part `reader`: a run that has learned to go on with texts is the start (--from
runs/gpt), and reads a source and its target as two texts in a row. With `bidirectional = false` a token of
the source sees only those before it, as in such a run: a plain language model of pairs.

Source and target may each fill half of the reader's context.

Shapes: B batch, S source (<eos> before and behind it), T target, L = S - 1 + T, d width, R rows of a search.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from lexigraph.errors import UsageError
from lexigraph.models.gpt import GPT
from lexigraph.nn.attention import prefix
from lexigraph.nn.cache import CachedState
from lexigraph.nn.embedding import TokenTable
from lexigraph.nn.network import NO_PARTS, Parts
from lexigraph.nn.stepper import Step
from lexigraph.nn.transformer import Layer
from lexigraph.nn.translation import TranslationNetwork, pairs
from lexigraph.recipe import Recipe
from lexigraph.sections import key, ranged
from lexigraph.text.columns import Columns
from lexigraph.text.vocabularies import Vocabularies


@dataclass(frozen=True)
class Config:
    bidirectional: bool = key(True, about="a source's tokens see all of it; false: only those before them")


@dataclass(frozen=True)
class Objective:
    label_smoothing: float = ranged(0.0, 0, 0.999, about="share of the target's probability spread over all tokens")


class PrefixLM(TranslationNetwork):
    """The network; `network(source_ids, target_ids)` gives logits."""

    part_names = ("reader",)
    source_embedding = None

    def __init__(
        self, config: Config, objective: Objective, vocabularies: Vocabularies, parts: Parts = NO_PARTS
    ) -> None:
        reader = parts.get("reader")
        if not isinstance(reader, GPT) or not reader.config.tied:
            raise UsageError(
                "A prefix language model goes on with what a gpt has read: start from a run (--from runs/gpt), or "
                'write [parts.reader] with system = "gpt" and tied = true.'
            )
        super().__init__(vocabularies, context=reader.context // 2, smoothing=objective.label_smoothing)
        self.config, self.objective, self.reader = config, objective, reader
        self.lead, self.context = [self.end], self.full_context - 1
        self.traits = replace(self.traits, context=self.context, compile_regions=(Layer,))

    @classmethod
    def columns(cls, recipe: Recipe) -> Columns:
        return pairs(data=recipe.data)

    @property
    def embedding(self) -> TokenTable:  # type: ignore[override]
        return self.reader.embedding

    @property
    def output_table(self) -> Float[Tensor, "V d"]:
        return self.reader.output_table

    def hidden(
        self, source: Int[Tensor, "B S"], inputs: Int[Tensor, "B T"], lengths: Int[Tensor, " B"] | None = None
    ) -> Float[Tensor, "B T d"]:
        self._fits(source.shape[1])
        self._fits(inputs.shape[1])
        ends = source.shape[1] - 1 if lengths is None else lengths - 1  # <eos> behind a source is its target's first
        before = torch.as_tensor(ends, device=source.device).expand(len(source))[:, None]
        place = torch.arange(source.shape[1] - 1 + inputs.shape[1], device=source.device)[None]
        own = source.gather(1, place.clamp(max=source.shape[1] - 1).expand(len(source), -1))
        ids = torch.where(place < before, own, inputs.gather(1, (place - before).clamp(0, inputs.shape[1] - 1)))
        mask = prefix(before[:, 0], place.shape[1]) if self.config.bidirectional else None
        x = self.reader.norm(self.reader.through(ids, place, mask=mask, causal=mask is None))
        written = before + torch.arange(inputs.shape[1], device=source.device)
        return x.gather(1, written[:, :, None].expand(-1, -1, x.shape[2]))

    # ---- decoding ----------------------------------------------------------------------------------------

    def start(self, beginning: dict[str, Tensor], width: int = 1) -> Step:
        """Read the sources (`ids`, an end before and behind each, padded on the right, and their `lengths`)."""
        ids, lengths = beginning["ids"], beginning["lengths"]
        prompts = {"ids": ids[:, :-1], "lengths": lengths - 1}
        state = self.reader.start(prompts, width, causal=not self.config.bidirectional).state
        assert isinstance(state, CachedState)
        state = replace(state, source={"lengths": lengths})
        return self.step(state, torch.full((len(ids) * width,), self.end, device=ids.device), attention=True)

    def step(self, state: CachedState, tokens: Int[Tensor, " R"], attention: bool = False) -> Step:
        """One token more in every row. `attention`: where it looked in the source, the mean over layers and heads."""
        step = self.reader.step(state, tokens, attention)
        if step.attention is None:
            return step
        lengths = state.source["lengths"].repeat_interleave(state.width)
        place = torch.arange(int(lengths.max()), device=tokens.device)[None]
        columns = (state.cache.begins[:, None] + place).clamp(max=step.attention.shape[1] - 1)
        seen = step.attention.gather(1, columns) * (place < lengths[:, None])
        return replace(step, attention=seen / seen.sum(1, keepdim=True))
