"""One step of a training, and all that it changes.

A step takes all its micro-batches first, so that the counts of every loss term are known over the whole global
batch before the first backward pass (see objectives/terms.py). DDP and fully_shard average gradients over
processes; the loss is multiplied by their number, which makes the average a sum again.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn

from lexigraph.errors import LexigraphError, UsageError
from lexigraph.nn.levels import levels
from lexigraph.nn.network import Network
from lexigraph.objectives.rng import seeds_of
from lexigraph.objectives.terms import Batch, Carry, value
from lexigraph.recipe import Train
from lexigraph.run import Run
from lexigraph.text.batches import Plan, Rows, share
from lexigraph.training import checkpoint
from lexigraph.training.average import Average
from lexigraph.training.checkpoint import Progress
from lexigraph.training.cuda_graphs import Recorder
from lexigraph.training.distribution import World, parallelise, synchronising
from lexigraph.training.pipeline import Pipeline, check_pipeline
from lexigraph.training.resident import Fetch
from lexigraph.training.schedules import clip_gradients, rate, scales
from lexigraph.training.schedules import optimizer as make_optimizer
from lexigraph.training.signals import Signals, Stopped


@dataclass
class Training:
    """The parts of a run that a step touches."""

    network: Network
    plan: Plan
    fetch: Fetch
    settings: Train
    steps: int
    world: World
    greater_is_better: bool = False  # of the metric that validation chooses by
    module: nn.Module = field(init=False)
    optimizer: torch.optim.Optimizer = field(init=False)
    carries: list[Carry | None] = field(init=False)
    progress: Progress = field(default_factory=Progress)
    signals: Signals = field(default_factory=Signals)

    def __post_init__(self) -> None:
        settings, world = self.settings, self.world
        if settings.accumulate > 1 and self.network.traits.batch_coupled:
            raise LexigraphError(
                "This loss compares the rows of a batch with each other: train.accumulate must be 1."
            )
        if settings.unfreeze_every and (settings.cuda_graphs or settings.parallel == "pipeline"):
            raise UsageError(
                "train.unfreeze_every changes what is trained, and train.cuda_graphs and pipelines cannot: leave one "
                "of them out."
            )
        if settings.optimizer == "muon" and world.size > 1 and settings.parallel == "fully_shard":
            raise UsageError("Muon needs whole matrices: set train.parallel=ddp, or another train.optimizer.")
        # With a mask, cuDNN's gradient is NaN as soon as a hidden score is far above the seen ones (torch 2.11).
        # Where there is none, nn/attention.py asks for it by name.
        torch.backends.cuda.enable_cudnn_sdp(False)
        scale_of = scales(self.network, settings)
        for parameter in self.network.parameters():
            if scale_of.get(id(parameter), 1.0) == 0:
                parameter.requires_grad_(False)
        self.network.to(world.device)
        if world.device.type == "cuda":  # weights of convolutions as their fast kernels want them
            self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        check_pipeline(self.network, settings, world.size)
        pipelined = world.size > 1 and settings.parallel == "pipeline"
        self.pipeline = Pipeline(self.network, world) if pipelined else None
        self.sharing = World(world.device) if pipelined else world  # the processes that share out the rows of a batch
        self.module = parallelise(self.network, self.sharing, settings.parallel)
        sharded = world.size > 1 and settings.parallel == "fully_shard"
        fused = world.device.type in ("cpu", "cuda") and not sharded
        self.optimizer = make_optimizer(self.network, settings, fused=fused)
        self.levels = levels(self.network) if settings.unfreeze_every else []
        self.average = Average(self.network, settings.average) if settings.average else None
        self.carries = [None] * settings.accumulate
        self.precision = precision(settings.precision, world.device)
        self.scaler = torch.amp.GradScaler(world.device.type, enabled=self.precision is torch.float16)
        self.compiled = self._compiled() if settings.compile else self.module
        self.recorder = self._recorder() if settings.cuda_graphs else None

    def _compiled(self) -> Any:
        """The loss compiled as a whole, or only those parts of the network that its traits name."""
        many_shapes = True if self.plan.many_shapes else None
        regions = self.network.traits.compile_regions
        if not regions:
            return torch.compile(self.module, dynamic=many_shapes)
        torch._dynamo.config.recompile_limit = 64  # kinds of layers times kinds of batches
        for module in self.network.modules():
            if isinstance(module, regions):
                module.compile(dynamic=many_shapes)
        return self.module

    def _recorder(self) -> Recorder:
        """Records and replays passes, where that can be done."""
        check_cuda_graphs(self.settings, self.world)
        if self.network.traits.stateful:
            raise UsageError(
                "train.cuda_graphs cannot be used with a system that carries memory from batch to batch."
            )

        def run(tensors: dict[str, Tensor], counts: dict[str, Tensor]) -> Tensor:
            with self._autocast():
                terms, _ = self.compiled(tensors, list(counts), None)
                loss = value(terms, counts)
                loss.backward()
            return loss.detach()

        return Recorder(run, [p for p in self.network.parameters() if p.requires_grad])

    def step(self) -> dict[str, Tensor]:
        """One optimizer step on the next global batch; its loss and gradient norm, still on the device."""
        settings, world, index = self.settings, self.world, self.progress.step
        if self.plan.fresh(index):
            self.carries = [None] * settings.accumulate
        carries, random = (
            list(self.carries),
            checkpoint.random_states(world.device) if settings.accumulate > 1 else {},
        )
        batches, mine = self._micro_batches(index)
        names = list(self.network.traits.terms)
        summed = self.sharing.summed(
            [sum(b.counts.get(n, 0.0) * m for b, m in zip(batches, mine, strict=True)) for n in names]
        )
        counts = dict(zip(names, summed, strict=True))
        for group in self.optimizer.param_groups:
            group["lr"] = rate(index + 1, self.steps, settings) * group.get("share", 1.0)
        try:
            loss = self._pass(batches, mine, names, counts)
        except Stopped:  # between micro-batches: as if the step had not begun
            self.optimizer.zero_grad(set_to_none=True)
            self.carries = carries
            checkpoint.set_random_states(random, world.device)
            raise
        self.scaler.unscale_(self.optimizer)
        for parameter in chain.from_iterable(self.levels[1 + index // max(1, settings.unfreeze_every) :]):
            parameter.grad = None  # frozen as yet: the optimizer does not see it
        norm = clip_gradients(self.network, settings, self.pipeline.norm if self.pipeline else None)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        if self.recorder is None:
            self.optimizer.zero_grad(set_to_none=True)
        self.progress.step += 1
        if self.average:
            self.average.update(self.progress.step)
        return {"loss": loss, "gradient_norm": norm, "tokens": torch.tensor(float(next(iter(summed))))}

    def _pass(
        self, batches: Sequence[Batch], mine: Sequence[float], names: list[str], counts: dict[str, float]
    ) -> Tensor:
        """The loss of the micro-batches, with its gradients left in the parameters."""
        world = self.world
        if self.recorder is not None:
            return self.recorder(batches[0].to(world.device).tensors, counts)
        if self.pipeline is not None:
            with self._autocast():
                return self.pipeline(batches, mine, counts)
        loss = torch.zeros((), device=world.device)
        for number, (batch, weight) in enumerate(zip(batches, mine, strict=True)):
            if number and world.size == 1:  # of several processes, none can stop by itself
                self.signals.check()
            with synchronising(self.module, number == len(batches) - 1), self._autocast():
                terms, carry = self.compiled(batch.to(world.device).tensors, names, self.carries[number])
                self.carries[number] = carry
                part = value(terms, counts) * weight
                self.scaler.scale(part * world.size).backward()
            loss += part.detach()
        return loss

    def _micro_batches(self, index: int) -> tuple[list[Batch], list[float]]:
        """This process's slices of the global batch. One without rows stands in with weight 0: it takes part in
        the exchange of gradients, but contributes nothing."""
        tables, sharing = self.plan.batch(index), self.sharing
        parts = self.settings.accumulate * sharing.size
        batches, mine = [], []
        for number in range(self.settings.accumulate):
            part = {name: share(rows, number * sharing.size + sharing.rank, parts) for name, rows in tables.items()}
            some = any(map(len, part.values()))
            stand_in = {name: rows[:1] for name, rows in tables.items()}
            batches.append(self._prepared({k: v for k, v in part.items() if len(v)} if some else stand_in, index))
            mine.append(float(some))
        return batches, mine

    def _prepared(self, rows: Mapping[str, Rows], index: int) -> Batch:
        """A batch; what is random in it follows from where its rows stand in their tables, and from the epoch."""
        seeds = {name: seeds_of(own.starts, own.epoch, self.settings.seed, name) for name, own in rows.items()}
        return self.network.prepare(self.fetch(rows, seeds), seeds, index)

    def _autocast(self) -> Any:
        if self.precision is torch.float32:
            return nullcontext()
        return torch.autocast(self.world.device.type, self.precision)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """For a while, all weights are in every process."""
        with self.pipeline.whole() if self.pipeline else nullcontext():
            yield

    @contextmanager
    def kept(self) -> Iterator[None]:
        """The same, with the weights that are validated and kept: with `train.average`, those of the average."""
        with self.average.in_place() if self.average else nullcontext(), self.whole():
            yield

    def save(self, run: Run) -> None:
        if self.scaler.is_enabled():
            self.progress.scaler = self.scaler.state_dict()
        with self.whole():
            checkpoint.save(
                run.checkpoints,
                self.network,
                self.optimizer,
                self.carries,
                self.progress,
                self.world,
                self.average.weights if self.average else {},
                together=self.pipeline.together if self.pipeline else dict,
            )

    def restore(self, run: Run) -> bool:
        """Go on from the newest checkpoint, if there is one."""
        path = checkpoint.latest(run.checkpoints)
        if path is None:
            return False
        try:
            with self.whole():
                self.progress, self.carries = checkpoint.restore(
                    path,
                    self.network,
                    self.optimizer,
                    self.settings.accumulate,
                    self.world,
                    self.average.weights if self.average else {},
                )
        except (KeyError, IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            raise LexigraphError(
                f"The checkpoint {path} is damaged: {error!r}. Train anew into another folder."
            ) from None
        if self.progress.scaler:
            self.scaler.load_state_dict(self.progress.scaler)
        return True


def precision(name: str, device: torch.device) -> torch.dtype:
    """The type to multiply in."""
    if name == "auto":
        name = "bf16" if device.type == "cuda" else "fp32"
    if name == "fp16" and device.type == "cpu":
        raise UsageError("train.precision = 'fp16' needs a GPU; on the CPU, take bf16 or fp32.")
    return {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[name]


def check_cuda_graphs(settings: Train, world: World) -> None:
    """Refuse CUDA graphs where there can be none."""
    alone = world.device.type == "cuda" and world.size == 1 and settings.accumulate == 1
    if settings.cuda_graphs and (not alone or settings.precision == "fp16"):
        raise UsageError(
            "train.cuda_graphs needs one process on CUDA, train.accumulate = 1 and no fp16: set "
            "train.cuda_graphs=false."
        )


def seed_everything(seed: int, rank: int, deterministic: bool) -> None:
    """Seed dropout apart in each process, and with `deterministic` choose kernels that repeat bit for bit."""
    torch.manual_seed(seed + 1_000_003 * rank)
    if deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = not deterministic  # try which convolutions are fastest
