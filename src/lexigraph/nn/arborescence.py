"""The best tree over the words of a sentence: a maximum spanning arborescence (Chu & Liu 1965; Edmonds 1967).

Every word takes its best head. If that is a tree, nothing is better. Else there is a cycle, which becomes one node:
an arc into it gains what it scores more than the arc of the cycle that it replaces. So on until there is no cycle.

Exactly one word hangs on the root: a root's score has so much taken off that two roots are never better than one.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int


def trees(scores: Float[np.ndarray, "B T S"], lengths: Sequence[int]) -> Int[np.ndarray, "B T"]:
    """The best tree of every sentence: heads counted from 1, the root's is 0; 0 where there is no word."""
    found = scores.argmax(2)
    for row, length in enumerate(lengths):
        own = found[row, :length]
        if np.count_nonzero(own == 0) != 1 or _cycle(np.concatenate([[0], own])) is not None:
            found[row, :length] = tree(scores[row, :length, : length + 1])
        found[row, length:] = 0
    return found


def tree(scores: Float[np.ndarray, "T S"]) -> Int[np.ndarray, " T"]:
    """The heads with the greatest sum of scores[word, head] that are a tree with one root."""
    gains = np.concatenate([np.full((1, scores.shape[1]), -np.inf), scores]).T.astype(np.float64)  # [head, dependent]
    np.fill_diagonal(gains, -np.inf)
    possible = gains[np.isfinite(gains)]
    gains[0] -= 1 + len(scores) * (possible.max(initial=0) - possible.min(initial=0))
    return _arborescence(gains)[1:]


def _arborescence(gains: Float[np.ndarray, "N N"]) -> Int[np.ndarray, " N"]:
    """The best head of every node but 0, the root, so that all hang on it."""
    contracted = []  # of each graph: its heads, the nodes that stay, and where arcs go in and out of the cycle
    while True:
        heads = np.concatenate([[0], gains[:, 1:].argmax(0)])
        inside = _cycle(heads)
        if inside is None:
            break
        outside = np.setdiff1d(np.arange(len(gains)), inside)
        entering = gains[np.ix_(outside, inside)] - gains[heads[inside], inside]
        leaving = gains[np.ix_(inside, outside)]
        smaller = np.full((len(outside) + 1, len(outside) + 1), -np.inf)  # its last node is the cycle
        smaller[:-1, :-1] = gains[np.ix_(outside, outside)]
        smaller[:-1, -1], smaller[-1, :-1] = entering.max(1), leaving.max(0)
        contracted.append((heads, outside, inside[entering.argmax(1)], inside[leaving.argmax(0)]))
        gains = smaller
    for within, outside, entrance, exits in reversed(contracted):
        cycle, found = len(outside), within.copy()  # inside the cycle all stays, but where it is entered
        found[outside] = np.where(heads[:-1] == cycle, exits, outside[heads[:-1].clip(max=cycle - 1)])
        found[entrance[heads[-1]]] = outside[heads[-1]]
        heads = found
    return heads


def _cycle(heads: Int[np.ndarray, " N"]) -> Int[np.ndarray, " nodes"] | None:
    """The nodes of a cycle, if there is one. Node 0 is its own head."""
    seen = np.zeros(len(heads), np.int64)  # by which walk
    for start in range(1, len(heads)):
        node = start
        while node and not seen[node]:
            seen[node] = start
            node = int(heads[node])
        if node and seen[node] == start:
            nodes = [node]
            while (node := int(heads[node])) != nodes[0]:
                nodes.append(node)
            return np.array(nodes)
    return None
