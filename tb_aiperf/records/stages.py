"""The stages of a step and the segments between steps: names, titles, colour keys and meanings, defined once.

A *stage* is an exclusive part of a step's wall-clock on the training thread; the stages of a step sum to the step.
A *segment* is the time between two steps (start-up, epoch boundary, shutdown); it is divided into the same stages.
Every other layer, the front end included, takes these definitions from here.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Stage(msgspec.Struct, frozen=True, kw_only=True):
    """One exclusive part of a step.

    key: identifier in files, JSON and code. title: what a person reads. color: key into the front end's palette.
    meaning: the definition shown beside every number of this stage.
    """

    key: str
    title: str
    color: str
    meaning: str


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of an attempt that belongs to no step. key, title and meaning as in `Stage`."""

    key: str
    title: str
    meaning: str


#: In the order in which they are stacked, which is the order in which a step meets them.
STAGES: tuple[Stage, ...] = (
    Stage(
        key="data_wait",
        title="Data wait",
        color="data_wait",
        meaning="The training thread waits for the next batch from the data loader. With num_workers=0 this includes "
        "making the batch.",
    ),
    Stage(
        key="transfer",
        title="Transfer",
        color="transfer",
        meaning="Moving the batch to the device, with the hooks before and after it. Host time: an asynchronous copy "
        "returns early.",
    ),
    Stage(
        key="forward",
        title="Forward",
        color="forward",
        meaning="The step function (training_step, validation_step, test_step, predict_step): forward pass and loss. "
        "Host time. With manual optimisation it also holds a backward pass that bypasses manual_backward.",
    ),
    Stage(
        key="backward",
        title="Backward",
        color="backward",
        meaning="Backward pass, including gradient synchronisation between ranks. Host time.",
    ),
    Stage(
        key="optimizer",
        title="Optimizer",
        color="optimizer",
        meaning="Zeroing and clipping gradients and the optimizer's own step. Host time.",
    ),
    Stage(
        key="lr_scheduler",
        title="LR scheduler",
        color="lr_scheduler",
        meaning="Learning-rate scheduler steps.",
    ),
    Stage(
        key="callbacks",
        title="Callbacks and hooks",
        color="callbacks",
        meaning="Hooks of callbacks (progress bar included), of the LightningModule and of the data module, outside "
        "validation and checkpoints.",
    ),
    Stage(
        key="logging",
        title="Logging",
        color="logging",
        meaning="Computing logged metrics, handing them to the loggers and flushing them, and direct calls of a "
        "TensorBoard writer's add_* methods. self.log itself belongs to the stage that calls it.",
    ),
    Stage(
        key="validation",
        title="Validation",
        color="validation",
        meaning="Validation inside training: its data loading, transfers, forward passes and hooks. Checkpoints and "
        "logging inside it are counted as such.",
    ),
    Stage(
        key="checkpoint",
        title="Checkpoint",
        color="checkpoint",
        meaning="Checkpoint callbacks and writing checkpoints. An asynchronous save counts until it returns.",
    ),
    Stage(
        key="loader_start",
        title="Loader start",
        color="loader_start",
        meaning="Creating data loaders and their iterators: starting worker processes at the start of training and of "
        "each epoch.",
    ),
    Stage(
        key="profiler",
        title="Profiler",
        color="profiler",
        meaning="Time spent inside profilers: Lightning's own, and starting, stopping and exporting torch.profiler.",
    ),
    Stage(
        key="other",
        title="Other",
        color="other",
        meaning="The rest of the step's wall-clock: the loop's own bookkeeping and whatever no other stage covers.",
    ),
)

#: Segment 0 means "this row is a step".
SEGMENTS: tuple[Segment, ...] = (
    Segment(key="step", title="Step", meaning="One batch of the loop, from asking for it to asking for the next."),
    Segment(
        key="startup",
        title="Start-up",
        meaning="From the callback's setup to the first step: data loaders, the sanity check, restoring a checkpoint.",
    ),
    Segment(
        key="epoch_boundary",
        title="Epoch boundary",
        meaning="From the end of an epoch's last step to the next epoch's first step or the end of the loop: epoch "
        "hooks, epoch-end checkpoints, worker restarts.",
    ),
    Segment(
        key="shutdown",
        title="Shutdown",
        meaning="From the end of the loop to the end of the attempt: closing hooks of callbacks and of the module.",
    ),
    Segment(
        key="interrupted",
        title="Interrupted",
        meaning="What was under way at the moment of an exception or a signal: an unfinished step counts here, not as "
        "a step.",
    ),
)

STAGE_KEYS: tuple[str, ...] = tuple(stage.key for stage in STAGES)
SEGMENT_KEYS: tuple[str, ...] = tuple(segment.key for segment in SEGMENTS)
STEP_ROW = 0

#: The loops whose batches are steps. `train` is a `fit`; the others are stand-alone runs of the same name.
LOOPS: tuple[str, ...] = ("train", "validate", "test", "predict", "pipeline")

_BY_KEY = {stage.key: stage for stage in STAGES}
#: Palette keys for stages that a user names (inference pipelines); assigned in order of appearance, then reused.
USER_COLORS: tuple[str, ...] = tuple(f"user_{index}" for index in range(8))


def describe_stages(keys: Iterable[str]) -> list[Stage]:
    """Definitions for `keys`, in their order; a key that is not standard is a stage that the user named."""
    described: list[Stage] = []
    named = 0
    for key in keys:
        stage = _BY_KEY.get(key)
        if stage is None:
            color = USER_COLORS[named % len(USER_COLORS)]
            stage = Stage(key=key, title=key, color=color, meaning=f"Stage {key!r}, named by the program.")
            named += 1
        described.append(stage)
    return described
