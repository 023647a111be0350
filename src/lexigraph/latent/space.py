"""A network that encodes and decodes as a space of sentences: token ids to vectors, vectors to pictures and to ids.

Works on ids and arrays; text comes and goes in textmodel.py. Batches are made of like lengths, and results come in
the order of the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypedDict, Unpack

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, UInt8
from torch import Tensor
from torch.nn import functional as F

from lexigraph.decoding.beam import beam_search
from lexigraph.decoding.hypothesis import Hypothesis
from lexigraph.decoding.sampling import generate
from lexigraph.errors import LexigraphError
from lexigraph.latent.pictures import to_float, to_uint8
from lexigraph.nn.autoencoder import Autoencoder
from lexigraph.text.batches import padded

ENCODED = 1024  # tokens encoded at once: what one layer makes of them stays in a core's cache
DECODED = 256  # hypotheses written at once: so many that few steps are left to the last, long sentences alone
DRAWN = 64  # pictures drawn at once
REFINED = 1024  # tokens refined at once
PATIENCE = 500  # steps of refinement before a sentence is given up


class Search(TypedDict, total=False):
    """How sentences are looked for; `Space.decode` says what is usual."""

    beam: int
    n_best: int
    alpha: float
    noise: float | np.ndarray
    attention: bool


class Space:
    """What can be done with vectors of a network's space."""

    def __init__(self, network: Autoencoder, eos: int, banned: Sequence[int]) -> None:
        self.network, self.eos, self.banned = network, eos, list(banned)

    @property
    def device(self) -> torch.device:
        return next(self.network.parameters()).device

    # ---- ids → z -----------------------------------------------------------------------------------------

    @torch.inference_mode()
    def encode(self, rows: Sequence[np.ndarray], unnormalised: bool = False) -> Float32[np.ndarray, "n latent"]:
        """The vector of each row of ids (without boundaries); if `unnormalised`, with the length it came with."""
        z = np.zeros((len(rows), self.network.latent), np.float32)
        for positions in _like_lengths([len(row) + 1 for row in rows], ENCODED):
            ids, lengths = self._batch([rows[i] for i in positions])
            z[positions] = self.network.encode(ids, lengths, unnormalised).float().cpu().numpy()
        return z

    def _batch(self, rows: Sequence[np.ndarray]) -> tuple[Tensor, Tensor]:
        """w_1 … w_n <eos>, padded on the right, and the lengths."""
        lengths = torch.tensor([len(row) + 1 for row in rows])
        ids = torch.from_numpy(padded([np.append(row, self.eos) for row in rows], self.network.pad))
        return ids.to(self.device), lengths.to(self.device)

    # ---- z → ids -----------------------------------------------------------------------------------------

    def decode(
        self,
        sources: Float[np.ndarray, "n ..."],
        kind: str = "z",
        *,
        beam: int = 1,
        n_best: int = 1,
        alpha: float = 0.7,
        noise: float | np.ndarray = 0.0,
        attention: bool = False,
    ) -> list[list[Hypothesis]]:
        """The best sentences for vectors (`z`) or pictures (`picture`, in [-1, 1]), best first; with `attention`,
        where the decoder looked while it wrote them."""
        noises = self._noises(noise, len(sources))
        if attention and not self.network.draws:
            raise LexigraphError("This model draws no pictures: there are no patches that it looks at.")
        found: list[list[Hypothesis]] = []
        count = max(1, DECODED // max(beam, n_best))
        for first in range(0, len(sources), count):
            part = slice(first, first + count)
            batch = {kind: torch.from_numpy(np.ascontiguousarray(sources[part])).float().to(self.device)}
            if noises.any():
                batch["noise"] = torch.from_numpy(noises[part].copy()).to(self.device)
            if attention:
                batch["attention"] = torch.ones(1)
            found += self._searched(batch, max(beam, n_best), n_best, alpha)
        return found

    def _searched(self, batch: dict[str, Tensor], width: int, n_best: int, alpha: float) -> list[list[Hypothesis]]:
        longest, banned, attention = self.network.traits.context, self.banned, "attention" in batch
        if width == 1:
            best = generate(
                self.network,
                batch,
                eos=self.eos,
                max_new=longest,
                temperature=0,
                banned=banned,
                attention=attention,
            )
            return [[each] for each in best]
        return beam_search(
            self.network,
            batch,
            eos=self.eos,
            width=width,
            max_new=longest,
            alpha=alpha,
            n_best=n_best,
            banned=banned,
            attention=attention,
        )

    def _noises(self, noise: float | np.ndarray, count: int) -> Float32[np.ndarray, " n"]:
        """One noise for each of so many sources, all of them such as the model was trained with."""
        known, noises = self.network.noise_level, np.asarray(noise, np.float32)
        if noises.shape not in ((), (count,)):
            raise LexigraphError(f"Give one noise for all, or {count}: these have the shape {noises.shape}.")
        if not np.isfinite(noises).all() or (noises < 0).any():
            raise LexigraphError("noise is 0 (take the vector at its word) or more, and a number.")
        if (noises > known).any():
            until = f"with noise up to {known:g}" if known else "without noise"
            raise LexigraphError(f"This model was trained {until}: decode with noise = {known:g} or less.")
        return np.broadcast_to(noises, (count,))

    @torch.inference_mode()
    def log_probabilities(
        self, z: Float32[np.ndarray, "n latent"], rows: Sequence[np.ndarray]
    ) -> Float[np.ndarray, " n"]:
        """log p(row | z) of each row of ids, its end included."""
        scores = np.zeros(len(rows))
        for positions in _like_lengths([len(row) + 1 for row in rows], ENCODED):
            targets, lengths = self._batch([rows[i] for i in positions])
            log_p = self.network.logits(self._tensor(z[positions]), _inputs(targets, self.eos)).float().log_softmax(2)
            right = log_p.gather(2, targets.unsqueeze(2)).squeeze(2)
            inside = torch.arange(targets.shape[1], device=self.device) < lengths[:, None]
            scores[positions] = (right * inside).sum(1).double().cpu().numpy()
        return scores

    def _tensor(self, z: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(z, np.float32)).to(self.device)

    # ---- z → picture -------------------------------------------------------------------------------------

    @torch.inference_mode()
    def draw(self, z: Float32[np.ndarray, "n latent"]) -> UInt8[np.ndarray, "n side side 3"]:
        """The pictures of vectors, in 8 bits a channel."""
        side = self.network.side
        pictures = np.zeros((len(z), side, side, 3), np.uint8)
        for first in range(0, len(z), DRAWN):
            part = slice(first, first + DRAWN)
            pictures[part] = to_uint8(self.network.draw(self._tensor(z[part])).permute(0, 2, 3, 1).cpu().numpy())
        return pictures

    def read(self, pictures: UInt8[np.ndarray, "n side side 3"], **search: Unpack[Search]) -> list[list[Hypothesis]]:
        """The sentences in pictures; `search` as for `decode`."""
        return self.decode(to_float(pictures).transpose(0, 3, 1, 2), "picture", **search)

    # ---- refinement --------------------------------------------------------------------------------------

    def refine(
        self, z: Float32[np.ndarray, "n latent"], rows: Sequence[np.ndarray]
    ) -> tuple[Float32[np.ndarray, "n latent"], Bool[np.ndarray, " n"]]:
        """Vectors near `z` whose 8-bit pictures are read as exactly these rows, and where such were found.

        The numbers of z alone are moved, by Adam on the NLL of the row; the network stays as it is. A row is done
        when every token is the most probable one after the true ones before it: greedy search then writes the row.
        """
        refined, exact = z.copy(), np.zeros(len(z), bool)
        for positions in _like_lengths([len(row) + 1 for row in rows], REFINED):
            refined[positions], exact[positions] = self._refine(
                self._tensor(z[positions]), [rows[i] for i in positions]
            )
        return refined, exact

    def _refine(self, start: Tensor, rows: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        targets, lengths = self._batch(rows)
        inputs = _inputs(targets, self.eos)
        inside = torch.arange(targets.shape[1], device=self.device) < lengths[:, None]
        best, open_rows = start.clone(), torch.arange(len(rows), device=self.device)
        exact = torch.zeros(len(rows), dtype=torch.bool, device=self.device)
        z = start.clone().requires_grad_()
        optimizer = torch.optim.Adam([z], lr=0.1)
        for _ in range(PATIENCE):
            logits = self._logits_of_picture(z[open_rows], inputs[open_rows])
            wanted, counted = targets[open_rows], inside[open_rows]
            wrong = ((logits.argmax(2) != wanted) & counted).any(1)
            done = open_rows[~wrong]
            best[done], exact[done] = z.detach()[done], True
            if not wrong.any():
                break
            losses = F.cross_entropy(logits[wrong].transpose(1, 2), wanted[wrong], reduction="none")
            [z.grad] = torch.autograd.grad((losses * counted[wrong]).sum(), z)
            optimizer.step()
            open_rows = open_rows[wrong]
        return best.cpu().numpy(), exact.cpu().numpy()

    def _logits_of_picture(self, z: Tensor, inputs: Tensor) -> Tensor:
        """Logits read from the 8-bit picture; the gradient passes as if it had not been rounded."""
        if not self.network.draws:
            return self.network.logits(z, inputs)
        picture = self.network.draw(z)
        rounded = ((picture + 1) * 127.5).round() / 127.5 - 1
        return self.network.logits_of_picture(picture + (rounded - picture).detach(), inputs)


def _inputs(targets: Tensor, eos: int) -> Tensor:
    """<eos> w_1 … w_n from w_1 … w_n <eos>."""
    return F.pad(targets[:, :-1], (1, 0), value=eos)


def _like_lengths(lengths: Sequence[int], tokens: int) -> Iterator[np.ndarray]:
    """Places of sequences of like length, at most `tokens` tokens of them together."""
    order = np.argsort(lengths, kind="stable")[::-1]
    while len(order):
        count = max(1, tokens // lengths[order[0]])
        yield order[:count]
        order = order[count:]
