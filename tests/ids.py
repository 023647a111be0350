"""Vocabularies without words, for networks that are built by hand."""

from __future__ import annotations

from collections.abc import Sequence

from lexigraph.text.vocabularies import Ids, Vocabularies


def ids(size: int, *, source: int = 0, sentinels: Sequence[int] = (), begin: int = 2, **roles: int) -> Vocabularies:
    """So many tokens, of which 0 is <pad>, 1 <unk> and 2 <eos>; `mask=3` and the like name further special ones.

    source: so many tokens of a vocabulary of the sources' own.
    """
    named = roles | {f"sentinel-{number}": token for number, token in enumerate(sentinels)}
    found = {"text": Ids(size, named, begin=begin)}
    return Vocabularies(found | ({"source": Ids(source)} if source else {}))
