"""A recurrent translator in pieces, each of which a process of a pipeline can have to itself (training/pipeline.py).

    table of the source → layers of the encoder → what comes before the decoder's layers → those → readouts → loss

Each layer is a piece, or all layers of one of torch's kernels: with `residual` every layer stands by itself. Where a
step of the decoder needs the step before it (attends before, feeding), the decoder is one piece.

Shapes: as in seq2seq.py.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch

from lexigraph.nn.alignment import Looks
from lexigraph.nn.network import Flow, Segment
from lexigraph.objectives.terms import Batch, Terms

if TYPE_CHECKING:
    from lexigraph.models.seq2seq import Seq2Seq

MEMORIES = ("h", "c")  # of cells, by name
LOOKS = Looks._fields  # of hard attention, which learns from them at the end


def segments_of(network: Seq2Seq) -> list[Segment]:
    """All pieces, from the first to the last."""
    after = network.alignment if network.aligned and network.config.attends == "after" else None
    before = network.alignment if network.aligned else None  # `after` has its keys from there
    writes = None if network.config.blind else network.embedding
    found = [Segment([network.source_table], [], partial(_embedded, network))]
    for number, (part, own) in enumerate(network.encoder.places):
        found.append(Segment([part.blocks[own]], ["x", *MEMORIES], partial(_read, network, number)))
    if network.stepwise:
        weights = [writes, before, network.decoder, network.readout]
        found.append(Segment(weights, ["x", *MEMORIES], partial(_written, network)))
    else:
        found.append(Segment([writes, before, network.lowest], ["x", *MEMORIES], partial(_begun, network)))
        for number, block in enumerate(network.decoder.blocks):
            given = ["given"] if number == 0 or network.decoder.given_to_all else []
            found.append(Segment([block], ["x", *given, *MEMORIES], partial(_layer, network, number)))
        seen = ["memory", "keys"] if after else ["given"] if network.lowest else []
        found.append(Segment([after, network.readout], ["x", *seen, *LOOKS], partial(_readout, network)))
    last = [network.output_table, network.bias, network.expected]
    return [*found, Segment(last, ["hidden", *LOOKS], partial(_terms, network))]


def _embedded(network: Seq2Seq, batch: Batch, flow: Flow) -> Flow:
    return {"x": network.first_input(batch["source"], batch["source_lengths"])}


def _read(network: Seq2Seq, number: int, batch: Batch, flow: Flow) -> Flow:
    """One block more of the encoder."""
    x, state = network.encoder.through(number, flow["x"], batch["source_lengths"], _memories(flow))
    return {"x": x, **state}


def _written(network: Seq2Seq, batch: Batch, flow: Flow) -> Flow:
    """The decoder, step by step."""
    source, rows = network.begun(flow["x"], _memories(flow), batch["source_lengths"])
    hidden, _, looks = network.write(batch["inputs"], source, rows, batch.tensors.get("draws"))
    return {"hidden": hidden} | _learning(looks, batch)


def _begun(network: Seq2Seq, batch: Batch, flow: Flow) -> Flow:
    """The decoder up to its layers (attends lowest: its upper ones)."""
    source, rows = network.begun(flow["x"], _memories(flow), batch["source_lengths"])
    below = network.below(network.read_again(batch["inputs"]), _now(batch, source | rows))
    given = {} if below.given is None else {"given": below.given}
    return source | network.upper(rows) | {"x": below.x} | given | _learning(below.looks, batch)


def _layer(network: Seq2Seq, number: int, batch: Batch, flow: Flow) -> Flow:
    """One block more of the decoder."""
    return {"x": network.decoder.through(number, flow["x"], None, _memories(flow), flow.get("given"))[0]}


def _readout(network: Seq2Seq, batch: Batch, flow: Flow) -> Flow:
    context = flow["given"] if network.lowest is not None else None
    readout, looks = network.above(flow["x"], context, _now(batch, flow))
    return {"hidden": network.dropped(readout)} | _learning(looks, batch)


def _terms(network: Seq2Seq, batch: Batch, flow: Flow) -> Terms:
    looks = Looks(*(flow[name] for name in LOOKS)) if "draws" in batch.tensors else None
    return network.all_terms(flow["hidden"], looks, batch)


def _memories(flow: Flow) -> Flow:
    return {name: flow[name] for name in MEMORIES if name in flow}


def _now(batch: Batch, flow: Flow) -> Flow:
    """What is handed on, with what every process has of the batch."""
    lengths, draws = batch["source_lengths"], batch.tensors.get("draws")
    return (
        flow | {"lengths": lengths, "time": torch.zeros_like(lengths)} | ({} if draws is None else {"draws": draws})
    )


def _learning(looks: Looks | None, batch: Batch) -> Flow:
    """Where steps looked, if they learn from it."""
    return looks._asdict() if looks is not None and "draws" in batch.tensors else {}
