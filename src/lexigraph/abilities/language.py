"""What language models can do: continue, complete and rank texts, and tell search errors from model errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float
from torch import Tensor

from lexigraph.abilities.asking import many, number, one_or_many, whole
from lexigraph.abilities.directions import To
from lexigraph.abilities.textmodel import BATCH_SIZE, Scored, TextModel
from lexigraph.decoding.choices import seed_of
from lexigraph.decoding.diagnose import Diagnosis, Reference, Trial
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.decoding.sampling import generate
from lexigraph.decoding.scoring import token_log_probabilities
from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.network import LanguageNetwork


class LanguageModel(TextModel):
    """Texts that go on, and how probable they are."""

    network: LanguageNetwork

    @one_or_many
    def generate(
        self,
        prompts: Sequence[str] = ("",),
        *,
        max_new: int = 40,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        beam: int = 1,
        alpha: float = 0.7,
        noise: float = 0.0,
        seed: int = 0,
        batch_size: int = BATCH_SIZE,
        on_text: Callable[[str], None] | None = None,
    ) -> list[str]:
        """Each prompt with its continuation. The same seed gives a prompt the same text, alone or among others.

        temperature 0 takes the most probable token each time; `beam` > 1 searches instead of sampling.
        noise: the deviation of normal noise (over t at token t) on the logits, not on hidden states as in noisy
            parallel approximate decoding; for temperature 0.

            >>> model.generate(["once upon"], max_new=20)        # doctest: +SKIP
            ['once upon a time there was …']
        """
        found = self.continuations(
            prompts,
            max_new=max_new,
            temperature=temperature,
            top_k=top_k,
            top_p=top_p,
            beam=beam,
            alpha=alpha,
            noise=noise,
            seed=seed,
            batch_size=batch_size,
            on_text=on_text,
        )
        return [self._joined(p, h) for p, h in zip(prompts, found, strict=True)]

    def continuations(
        self,
        prompts: Sequence[str],
        *,
        max_new: int = 40,
        temperature: float = 0.8,
        top_k: int = 0,
        top_p: float = 1.0,
        beam: int = 1,
        alpha: float = 0.7,
        noise: float = 0.0,
        seed: int = 0,
        batch_size: int = BATCH_SIZE,
        on_text: Callable[[str], None] | None = None,
    ) -> list[Hypothesis]:
        """What `generate` puts after each prompt, as tokens, and whether the model ended it before max_new."""
        whole(max_new=max_new, beam=beam, batch_size=batch_size)
        whole(0, top_k=top_k)
        number(0, temperature=temperature, noise=noise)
        number(alpha=alpha, seed=seed)
        found: list[Hypothesis] = []
        for first in range(0, len(prompts), batch_size):
            chunk = prompts[first : first + batch_size]
            batch = self._prompts(chunk)
            if beam > 1:
                found += [best[0] for best in self._search(batch, beam, max_new, alpha, 1)]
            else:
                found += generate(
                    self.network,
                    batch,
                    eos=self.tokenizer.eos,
                    max_new=max_new,
                    temperature=temperature,
                    top_k=top_k,
                    top_p=top_p,
                    noise=noise,
                    seeds=list(_seeds(chunk, seed, prompts[:first])),
                    banned=self._banned,
                    on_token=self._speaker(chunk, on_text),
                )
        return found

    @one_or_many
    def complete(
        self, prompts: Sequence[str], *, n_best: int = 5, beam: int = 0, max_new: int = 40, alpha: float = 0.7
    ) -> list[list[Scored]]:
        """The most probable ways to finish each text, by beam search, best first."""
        whole(n_best=n_best, max_new=max_new)
        whole(0, beam=beam)
        number(alpha=alpha)
        return [
            [Scored(self._joined(prompt, h), h.log_probability, h.produced, h.score) for h in found]
            for prompt in prompts
            for found in self._search(self._prompts([prompt]), max(beam, n_best), max_new, alpha, n_best)
        ]

    @one_or_many
    def score(self, texts: Sequence[str], *, ended: bool = True) -> list[float]:
        """Natural-log probability of each text, its end included; `ended=False` scores the text as a beginning."""
        return [float(values.sum()) for values in self.token_scores(texts, ended=ended)]

    def score_lines(self, lines: Sequence[str], *, ended: bool = True, to: To = None) -> list[float]:
        self._refuse_direction(to)
        return self.score(lines, ended=ended)

    @one_or_many
    def token_scores(self, texts: Sequence[str], *, ended: bool = True) -> list[np.ndarray]:
        """Natural-log probability of every token of each text."""
        begin, eos = self.tokenizer.begin, self.tokenizer.eos
        sequences = [np.array([begin, *row.tolist()] + [eos] * ended) for row in self.rows(texts)[0]]
        return token_log_probabilities(self.network, sequences, self.device)

    @one_or_many
    def rank(
        self,
        candidates: Sequence[str],
        *,
        prompt: str = "",
        examples: Sequence[str] = (),
        separator: str = "\n",
        by: str = "sum",
        ended: bool = True,
    ) -> list[Scored]:
        """The candidates by their probability after `prompt`, the most probable first.

        examples: whole texts that show what is wanted, before the prompt: none, one or a few "shots".
        by: "sum" of log p; "mean", of its tokens, which does not favour the short; "gain" over the candidate's log p
            by itself, which does not favour the common.
        `ended=False` leaves open how the text goes on: "The key to the cabinets is" need not be a whole text.

            >>> model.rank([" good", " bad"], prompt="I loved it. Mood:",
            ...            examples=["It was dull. Mood: bad"], ended=False)        # doctest: +SKIP
        """
        if by not in (ways := ("sum", "mean", "gain")):
            raise UsageError(f"Candidates are ranked by {', '.join(ways)}, not by {by!r}.")
        if not isinstance(prompt, str):
            raise UsageError(f"The prompt is one text, not {prompt!r}.")
        if examples:
            examples = many(examples, named="example")[0]
        own = self._continued("".join(text + separator for text in examples) + prompt, candidates, ended)
        alone = self._continued("", candidates, ended) if by == "gain" else own
        ranked = []
        for candidate, values, bare in zip(candidates, own, alone, strict=True):
            total = float(values.sum())
            score = {"sum": total, "mean": total / max(1, len(values)), "gain": total - float(bare.sum())}[by]
            ranked.append(Scored(candidate, total, len(values), score))
        return sorted(ranked, key=lambda item: -item.score)

    def _continued(self, prompt: str, candidates: Sequence[str], ended: bool) -> list[Float[np.ndarray, " T"]]:
        """Natural-log probabilities of the candidates' tokens after the prompt."""
        texts = [prompt + candidate for candidate in candidates]
        given = _common_length([self._encode(text) for text in [prompt, *texts]])
        return [values[given:] for values in self.token_scores(texts, ended=ended)]

    def search(
        self, prompts: Sequence[Sequence[int]], *, width: int, max_new: int = 60, alpha: float = 0.7
    ) -> list[Hypothesis]:
        """The best continuation of each prompt of token ids, by beam search."""
        found: list[Hypothesis] = []
        for first in range(0, len(prompts), BATCH_SIZE):
            batch = self._batch([[self.tokenizer.begin, *row] for row in prompts[first : first + BATCH_SIZE]])
            found += [best[0] for best in self._search(batch, width, max_new, alpha, 1)]
        return found

    def diagnose(
        self, texts: Sequence[str], *, prompt_tokens: int = 3, beam: int = 5, alpha: float = 0.7, max_new: int = 60
    ) -> Diagnosis:
        """Whether errors belong to the search or to the model.

        The model sees the first tokens of each text and searches for the rest. If the true rest is more probable
        than what was found, the search failed; if it is less probable, the model prefers another text. Texts that
        have no rest are left out, and counted.
        """
        return self.trial(texts, prompt_tokens=prompt_tokens, alpha=alpha, max_new=max_new).diagnosis(beam)

    def trial(self, texts: Sequence[str], *, prompt_tokens: int = 3, alpha: float = 0.7, max_new: int = 60) -> Trial:
        """The searches for the rest of texts, of which the true rest is known.

        Texts that have no rest, or one with words that the model cannot write, are left out.
        """
        given, texts = len(texts), self.longer(texts, prompt_tokens)
        long = len(texts)
        ids, banned = [self._encode(text) for text in texts], set(self._banned)
        kept = [number for number, row in enumerate(ids) if not banned & set(row[prompt_tokens:])]
        ids, texts = [ids[number] for number in kept], [texts[number] for number in kept]
        rest = [values[prompt_tokens:] for values in self.token_scores(texts)] if texts else []
        references = [Reference(tuple(row[prompt_tokens:]), float(v.sum())) for row, v in zip(ids, rest, strict=True)]
        prompts = [row[:prompt_tokens] for row in ids]
        true = [self.tokenizer.decode(row[prompt_tokens:]) for row in ids]

        def search(width: int) -> list[Hypothesis]:
            return self.search(prompts, width=width, max_new=max_new, alpha=alpha)

        trial = Trial(search, references, true, self.tokenizer.decode, alpha, long - len(texts)).checked()
        return replace(trial, left_out=given - len(texts))

    def trial_of_lines(
        self, lines: Sequence[str], *, prompt_tokens: int | None = None, alpha: float = 0.7, to: To = None
    ) -> Trial:
        self._refuse_direction(to)
        return self.trial(lines, prompt_tokens=3 if prompt_tokens is None else prompt_tokens, alpha=alpha)

    def longer(self, texts: Sequence[str], tokens: int) -> list[str]:
        """The texts of more than so many tokens, which have a rest after a prompt of that length."""
        kept = [text for text, row in zip(texts, self.rows(texts)[0], strict=True) if len(row) > tokens]
        if not kept:
            raise LexigraphError(
                f"There is no text left to continue: none of {len(texts)} has more than {tokens} tokens. Give longer "
                "ones, or set prompt_tokens (--prompt-tokens) lower."
            )
        if len(kept) < len(texts):
            warnings.warn(
                f"{len(texts) - len(kept)} of {len(texts)} texts have at most {tokens} tokens and are left out.",
                stacklevel=3,
            )
        return kept

    def _prompts(self, prompts: Sequence[str]) -> dict[str, Tensor]:
        return self._batch([[self.tokenizer.begin, *self._encode(prompt)] for prompt in prompts])

    def _joined(self, prompt: str, hypothesis: Hypothesis) -> str:
        """Prompt and continuation as one text, decoded together so that the seam is right."""
        return self.tokenizer.decode([*self._encode(prompt), *hypothesis.tokens])

    def _speaker(
        self, prompts: Sequence[str], on_text: Callable[[str], None] | None
    ) -> Callable[[int, int], None] | None:
        """Turns tokens into text as they come, for one prompt at a time."""
        if on_text is None or len(prompts) != 1:
            return None
        ids = self._encode(prompts[0])
        said = self.tokenizer.decode(ids)
        on_text(said)

        def speak(_: int, token: int) -> None:
            nonlocal said
            ids.append(token)
            text = self.tokenizer.decode(ids)
            if text.startswith(said) and not text.endswith("\ufffd"):  # half a character waits for its other half
                on_text(text[len(said) :])
                said = text

        return speak


def _common_length(rows: Sequence[Sequence[int]]) -> int:
    """How many tokens all rows begin with; a token may reach over the seam of a prompt and what follows it."""
    columns = zip(*rows, strict=False)
    return next((n for n, column in enumerate(columns) if len(set(column)) > 1), min(map(len, rows)))


def _seeds(prompts: Sequence[str], seed: int, before: Sequence[str]) -> Iterator[int]:
    """A seed for each prompt that depends on the prompt and how often it came before, not on its neighbours."""
    seen = {prompt: before.count(prompt) for prompt in set(prompts)}
    for prompt in prompts:
        seen[prompt] += 1
        yield seed_of(seed, seen[prompt] - 1, prompt)
