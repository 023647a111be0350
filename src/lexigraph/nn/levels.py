"""How deep each weight of a network lies, counted from the top: what fine-tuning changes most, and what least.

    level 0      what a network has of its own, above the parts that read for it: a new output
    level 1      the top layer of a part, with what stands above its layers
    level 2 …    the layers below it
    the last     what goes into the first layer: tables of tokens and positions

A reader by itself has no level above its own top layer. `Reader.layer_names` says how its layers are called.
"""

from __future__ import annotations

import re
from itertools import chain, zip_longest

from torch import nn

from lexigraph.errors import UsageError
from lexigraph.nn.network import Network, Reader

BELOW = ("embedding", "positions", "spelling", "boundaries", "widen")  # what goes into the first layer


def levels(network: Network) -> list[list[nn.Parameter]]:
    """The weights of a network by their level; refused where all of them are of one."""
    parts = [part for name in network.part_names if isinstance(part := getattr(network, name, None), Reader)]
    if parts:
        inside = {id(parameter) for part in parts for parameter in part.parameters()}
        own = [parameter for parameter in network.parameters() if id(parameter) not in inside]
        below = zip_longest(*map(_levels_of, parts), fillvalue=())
        found = [own, *(list(chain.from_iterable(level)) for level in below)]
    else:
        found = _levels_of(network) if isinstance(network, Reader) else [list(network.parameters())]
    if len(found) < 2:
        raise UsageError(
            "train.layer_decay and train.unfreeze_every go from layer to layer of a network that reads (bert, gpt). "
            "This one is no such network and has none as a part: leave them out, or name a run to start from."
        )
    return found


def _levels_of(reader: Reader) -> list[list[nn.Parameter]]:
    """Of a reader by itself."""
    named = dict(reader.named_parameters())
    matches = {name: match for name in named if (match := re.search(reader.layer_names, name))}
    layers = {name: int(match[match.lastindex or 0]) for name, match in matches.items()}
    if not layers:
        return [list(named.values())]
    top = max(layers.values())
    found: list[list[nn.Parameter]] = [[] for _ in range(top + 2)]
    for name, parameter in named.items():
        goes_in = any(part in BELOW for part in name.split("."))
        found[top - layers.get(name, -1 if goes_in else top)].append(parameter)
    return found
