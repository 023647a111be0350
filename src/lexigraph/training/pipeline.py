"""A network cut into stages, one for each process: the micro-batches of a step flow through them (Huang et al. 2019).

With S stages and M micro-batches (train.accumulate), F and B the forward and backward passes of each (S = 2, M = 4):

    stage 0     F1  F2      B1  F3  B2  F4  B3      B4
    stage 1         F1  B1  F2  B2  F3  B3  F4  B4

A process waits (S - 1) / (M + S - 1) of a step: the bubble. A backward pass is made as soon as it can be (1F1B,
Narayanan et al. 2019), so that stage s = 0, 1, … keeps what S - s micro-batches need for theirs, not what all M do.

Every process reads the batches itself; what travels is what a stage makes of them, and its gradient. A weight belongs
to the stages whose segments (nn/network.py) use it. One that several use, as a table for input and output, has its
gradient summed over them and takes the same step in each. Gradients, moments and activations are those of the own
stage alone; all other weights give their memory back, and are there again for a validation and for saving.

Why not torch.distributed.pipelining: its stages take the shapes of the first micro-batch for those of all later ones,
where here each is as long as its longest row; and they send shapes as pickles, which nothing here reads.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import cast

import torch
import torch.distributed as dist
from torch import Tensor, nn

from lexigraph.errors import UsageError
from lexigraph.nn.network import Flow, Network, Segment
from lexigraph.objectives.terms import Batch, Terms, value
from lexigraph.recipe import Train
from lexigraph.training.distribution import PATIENCE, World

HEADER = 4096  # bytes that say which tensors follow


def check_pipeline(network: Network, settings: Train, processes: int) -> None:
    """Refuse a pipeline where there can be none."""
    if settings.parallel != "pipeline":
        return
    most, others = len(_with_weights(network.segments())), "set train.parallel to ddp or fully_shard"
    if not most:
        raise UsageError(
            f"train.parallel=pipeline needs a network that can be cut into stages, and this one cannot be: {others}."
        )
    if processes > most:
        raise UsageError(
            f"train.parallel=pipeline: this network can be cut into {most} stages at most, and there are {processes} "
            f"processes: start as many as there are stages, or {others}."
        )
    for key, is_set in (("compile=true", settings.compile), ("precision=fp16", settings.precision == "fp16")):
        if is_set:
            raise UsageError(f"train.{key} cannot be used with train.parallel=pipeline: leave one of them out.")


def bubble(stages: int, micro_batches: int) -> float:
    """The share of a step that a process waits, if all stages have the same work.

    >>> bubble(4, 12)
    0.2
    """
    return (stages - 1) / (micro_batches + stages - 1)


class Pipeline:
    """This process's stage of a network."""

    def __init__(self, network: Network, world: World) -> None:
        self.world, self.last = world, world.size - 1
        self.stages = stages_of(network.segments(), world.size)
        self.handed = {name for stage in self.stages[world.rank + 1 :] for each in stage for name in each.needs}
        self.parameters = dict(network.named_parameters())
        used = [{id(weight) for each in stage for weight in _weights(each)} for stage in self.stages]
        self.owners = {
            name: tuple(stage for stage, ids in enumerate(used) if id(parameter) in ids)
            for name, parameter in self.parameters.items()
        }
        for stage in range(world.size):
            if not any(p.requires_grad and stage in self.owners[name] for name, p in self.parameters.items()):
                raise UsageError(f"train.lr_scale leaves stage {stage + 1} of the pipeline nothing to train.")
        # one group a direction: on CUDA, all that two processes exchange in a group happens in the order of their
        # calls, and each would wait for the other
        self.forward, self.backward = (dist.new_group(timeout=PATIENCE) for _ in range(2))
        several = sorted({owners for owners in self.owners.values() if len(owners) > 1})
        groups = {owners: dist.new_group(list(owners), timeout=PATIENCE) for owners in several}
        own = {name: p for name, p in self.parameters.items() if world.rank in self.owners[name]}
        self.shared = [
            (parameter, groups[self.owners[name]])
            for name, parameter in own.items()
            if parameter.requires_grad and self.owners[name] in groups
        ]
        self.counted = [parameter for name, parameter in own.items() if self.owners[name][0] == world.rank]
        self.foreign = [parameter for name, parameter in self.parameters.items() if name not in own]
        for parameter in self.foreign:
            parameter.requires_grad_(False)
        ids = {id(parameter) for parameter in self.foreign}
        kernels = [module for module in network.modules() if isinstance(module, nn.RNNBase)]
        self.kernels = [kernel for kernel in kernels if any(id(weight) in ids for weight in kernel.parameters())]
        self.sending: list[tuple[dist.Work, Tensor]] = []
        self._release()

    def described(self, micro_batches: int) -> str:
        """What a user should know of it."""
        work = [sum(map(_work, stage)) for stage in self.stages]
        shares = ", ".join(f"{each / max(1, sum(work)):.0%}" for each in work)
        return (
            f"A pipeline of {len(work)} stages with {shares} of the work; in {micro_batches} micro-batches "
            f"(train.accumulate), each process waits {bubble(len(work), micro_batches):.0%} of a step."
        )

    # ---- a step ------------------------------------------------------------------------------------------

    def __call__(self, batches: Sequence[Batch], shares: Sequence[float], counts: Mapping[str, float]) -> Tensor:
        """The loss of the micro-batches, in the last process (elsewhere 0); its gradients are left in the weights.

        shares: what each counts for: 0, where it has no rows of its own.
        """
        loss, ahead = torch.zeros((), device=self.world.device), self.last - self.world.rank
        under_way: deque[tuple[Flow, Flow]] = deque()
        for number in range(len(batches) + ahead):
            if number < len(batches):
                given, made = self._forward(batches[number].to(self.world.device))
                if not ahead:
                    made = {"loss": value(cast(Terms, made), counts) * shares[number]}
                    loss += made["loss"].detach()
                under_way.append((given, made))
            if number >= ahead:
                self._backward(*under_way.popleft())
        for work, _ in self.sending:
            work.wait()
        self.sending = []
        for parameter, group in self.shared:
            gradient = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad.contiguous()
            dist.all_reduce(gradient, group=group)
            parameter.grad = gradient
        return loss

    def _forward(self, batch: Batch) -> tuple[Flow, Flow]:
        """What this stage is given for a micro-batch, and what it hands on: in the last process, terms."""
        given = self._receive(self.world.rank - 1, self.world.device) if self.world.rank else {}
        flow = given
        for segment in self.stages[self.world.rank]:
            made = segment.run(batch, flow)
            flow = flow | cast(Flow, made)
        if self.world.rank == self.last:
            return given, cast(Flow, made)
        handed = {name: tensor for name, tensor in flow.items() if name in self.handed}
        self._send(handed, self.world.rank + 1)
        return given, handed

    def _backward(self, given: Flow, made: Flow) -> None:
        """The gradient of what was made, from the next process, becomes that of the weights and of what was given."""
        roots, gradients = [tensor for tensor in made.values() if tensor.requires_grad], None
        if self.world.rank < self.last:
            gradients = [torch.empty_like(root, memory_format=torch.contiguous_format) for root in roots]
            for gradient in gradients:
                dist.recv(gradient, self.world.rank + 1, group=self.backward)
        if roots:
            torch.autograd.backward(roots, gradients)
        for tensor in given.values():
            if tensor.requires_grad:
                gradient = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad.contiguous()
                self._post(gradient, self.world.rank - 1, self.backward)

    def norm(self) -> Tensor:
        """Of the whole network's gradient."""
        own = nn.utils.get_total_norm([p.grad for p in self.counted if p.grad is not None])
        squared = own.to(self.world.device, next(iter(self.parameters.values())).dtype).square()
        dist.all_reduce(squared)
        return squared.sqrt()

    # ---- what travels ------------------------------------------------------------------------------------

    def _send(self, flow: Flow, process: int) -> None:
        """Tensors, after a header with their names, types, shapes and whether they get a gradient."""
        facts = [(name, str(t.dtype)[6:], list(t.shape), t.requires_grad) for name, t in flow.items()]
        header = torch.frombuffer(bytearray(json.dumps(facts).encode().ljust(HEADER)), dtype=torch.uint8)
        for tensor in (header, *flow.values()):
            self._post(tensor.detach().contiguous(), process, self.forward)

    def _post(self, tensor: Tensor, process: int, group: dist.ProcessGroup) -> None:
        """Send without waiting; the tensor lives until it has been sent."""
        self.sending = [each for each in self.sending if not each[0].is_completed()]
        work = dist.isend(tensor, process, group=group)
        assert work is not None
        self.sending.append((work, tensor))

    def _receive(self, process: int, device: torch.device) -> Flow:
        header = torch.empty(HEADER, dtype=torch.uint8)
        dist.recv(header, process, group=self.forward)
        flow: Flow = {}
        for name, kind, shape, learns in json.loads(header.numpy().tobytes()):
            flow[name] = torch.empty(shape, dtype=getattr(torch, kind), device=device)
            dist.recv(flow[name], process, group=self.forward)
            flow[name].requires_grad_(learns)
        return flow

    # ---- all weights -------------------------------------------------------------------------------------

    @contextmanager
    def whole(self) -> Iterator[None]:
        """For a while, every process has all weights."""
        for parameter in self.foreign:
            parameter.data = torch.empty(parameter.shape, dtype=parameter.dtype, device=parameter.device)
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                weight = parameter.detach().contiguous()
                dist.broadcast(weight, self.owners[name][0])
                parameter.copy_(weight)  # not in place alone: what nn/linear.py keeps of a weight goes by its version
        for kernel in self.kernels:
            kernel.flatten_parameters()  # cuDNN wants the weights of a kernel in one piece
        try:
            yield
        finally:
            self._release()

    def _release(self) -> None:
        """Weights of other stages keep their shape and no memory. Whatever met them would no longer be a number."""
        for parameter in self.foreign:
            parameter.data = parameter.new_full((), torch.nan).expand(parameter.shape)

    def together(self, own: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Tensors of all stages on the CPU, in the first process, which writes them; elsewhere the own ones."""
        found = dict(own)
        counts = [int(count) for count in self.world.gathered(torch.tensor([len(own)]))]
        if self.world.rank:
            for name, tensor in own.items():
                self._send({name: tensor}, 0)
        for process in range(1, len(counts) if self.world.first else 0):
            for _ in range(counts[process]):
                found = self._receive(process, torch.device("cpu")) | found
        self.world.barrier()
        return found


# ---- where to cut ----------------------------------------------------------------------------------------


def stages_of(segments: Sequence[Segment], count: int) -> list[list[Segment]]:
    """The segments in so many stages, the largest with as little work as can be, the others alike."""
    pieces = _with_weights(segments)
    work = [sum(map(_work, piece)) for piece in pieces]

    @cache
    def best(begin: int, stages: int) -> tuple[int, int, tuple[int, ...]]:
        """The pieces from there on: the work of the largest stage, the squares of all, and where each ends."""
        if stages == 1:
            rest = sum(work[begin:])
            return rest, rest**2, (len(work),)
        found = []
        for end in range(begin + 1, len(work) - stages + 2):
            own, (largest, squares, ends) = sum(work[begin:end]), best(end, stages - 1)
            found.append((max(largest, own), squares + own**2, (end, *ends)))
        return min(found)

    ends = best(0, count)[2]
    return [[each for piece in pieces[a:b] for each in piece] for a, b in zip((0, *ends), ends, strict=False)]


def _with_weights(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Segments, with each those behind it that have no weights: every process has something to learn."""
    pieces: list[list[Segment]] = []
    for segment in segments:
        if pieces and not (_weights(segment) and any(map(_weights, pieces[-1]))):
            pieces[-1].append(segment)
        else:
            pieces.append([segment])
    return pieces


def _weights(segment: Segment) -> list[Tensor]:
    """All parameters of a segment."""
    parts = [own for own in segment.weights if own is not None]
    return [w for own in parts for w in (own.parameters() if isinstance(own, nn.Module) else [own])]


def _work(segment: Segment) -> int:
    """How many weights it multiplies with: a table that is only looked up in costs nothing."""
    modules = [m for own in segment.weights if isinstance(own, nn.Module) for m in own.modules()]
    tables = {id(module.weight) for module in modules if isinstance(module, nn.Embedding)}
    return sum(weight.numel() for weight in _weights(segment) if id(weight) not in tables)
