"""What each number of the reports means, said once; the panels show these words beside the numbers."""

from __future__ import annotations

DEFINITIONS: dict[str, str] = {
    "steps": "Rows recorded for the loop: one per batch, counted once where several attempts ran the same step. Under "
    "gradient accumulation several batches share one step number.",
    "superseded_steps": "Batches left out because a newer attempt ran their step again.",
    "damaged_chunks": "Stored pieces that could not be read; their steps are missing from every number here.",
    "step_time": "Wall-clock of one step on the training thread, from asking for its batch to asking for the next: the "
    "sum of its stages. The time between steps (start-up, epoch boundaries) is not part of any step.",
    "step_time.mean": "Summed wall-clock of the steps over their number.",
    "step_time.median": "Half of the steps take at most this long (percentiles interpolate linearly between steps).",
    "step_time.p5": "5 % of the steps take at most this long.",
    "step_time.p25": "25 % of the steps take at most this long.",
    "step_time.p75": "75 % of the steps take at most this long.",
    "step_time.p95": "95 % of the steps take at most this long.",
    "step_time.p99": "99 % of the steps take at most this long.",
    "step_time.min": "The fastest step.",
    "step_time.max": "The slowest step.",
    "steps_per_s": "Number of steps over their summed wall-clock, the time between steps left out.",
    "stage.share": "The stage's summed time over the summed wall-clock of all steps; the shares of all stages add up "
    "to 1. The time between steps is left out.",
    "stage.total": "The stage's time summed over all steps.",
    "stage.mean": "The stage's summed time over the number of steps, those without it included.",
    "stage.median": "Half of the steps spend at most this long in the stage; 0 when most steps skip it.",
    "stage.min": "The shortest time that one step spent in the stage.",
    "stage.p5": "5 % of the steps spend at most this long in the stage.",
    "stage.p25": "25 % of the steps spend at most this long in the stage.",
    "stage.p75": "75 % of the steps spend at most this long in the stage.",
    "stage.p95": "95 % of the steps spend at most this long in the stage.",
    "stage.p99": "99 % of the steps spend at most this long in the stage.",
    "stage.max": "The longest time that one step spent in the stage.",
    "stage.nonzero": "Number of steps that spent any time in the stage.",
    "wall.steps": "Summed wall-clock of the steps.",
    "wall.segments": "Summed wall-clock between steps: start-up, epoch boundaries, shutdown, interruptions.",
    "wall.total": "Summed wall-clock of steps and segments, of every attempt shown.",
    "segment.wall": "Wall-clock of this one segment.",
    "segment.total": "Summed wall-clock of the segments of this kind.",
    "segment.count": "Number of segments of this kind.",
    "bins.mean": "Mean over the steps of a bin; the means of the stages add up to the mean step time.",
    "bins.median": "Median of the step times in a bin.",
    "bins.min": "Smallest value in a bin.",
    "bins.max": "Largest value in a bin.",
    "bins.band": "From the 5th to the 95th percentile of the step times in a bin.",
    "histogram": "Counts in up to 40 equal bins between the 0.5th and the 99.5th percentile, but at most six "
    "interquartile ranges beyond the quartiles; what lies outside is counted as below and above.",
    "worst.wall": "Wall-clock of this one step.",
    "worst.times_median": "The step's wall-clock over the median step time of the steps shown.",
    "worst.excess": "How far the stage lies above its own median over the steps shown; the stage named is the one that "
    "lies furthest above.",
    "resources.mean": "Mean over the samples taken while the attempts shown were running.",
    "resources.median": "Median of the samples.",
    "resources.p95": "95 % of the samples are at most this large.",
    "resources.max": "Largest sample.",
    "resources.interval": "Median time between two samples.",
    "profile": "A window of steps that torch.profiler recorded. Recording slows a program down, so compare parts of it "
    "with each other rather than with steps that were not recorded.",
    "profile.step_time": "From the step's mark, but no sooner than the step before it ends, to the end of the mark and "
    "of the last device work launched inside it. Figures over steps leave partial ones out, unless all are.",
    "profile.comparison": "Mean per step of the other window minus that of the baseline, over steps that are not "
    "partial.",
    "profile.comparison.interval": "95 % bootstrap interval of the difference over steps; a change is clear where it "
    "leaves out 0.",
    "profile.dilation": "Median wall-clock of the profiled steps over the median of the nearest unprofiled ones (up to "
    "50 on each side), the profiler's own stage left out of both; with its 95 % bootstrap interval over steps.",
    "profile.step_time.n": "Number of steps behind the figures.",
    "profile.step_time.mean": "Summed duration of the steps over their number.",
    "profile.step_time.median": "Half of the steps take at most this long.",
    "profile.step_time.min": "The shortest step.",
    "profile.step_time.max": "The longest step.",
    "profile.partial": "The trace may miss some of this step, or hold work of the step before it: the first step, if "
    "it holds device work launched before the trace; the last, if a kernel it launched is not in the trace; all of a "
    "trace without step marks.",
    "profile.categories": "Exclusive parts of a step that sum to it: a moment counts for the first category, in the "
    "order shown, that covers it. So time of the host counts only while the device does nothing.",
    "profile.category.share": "The category's exclusive time over the time of the steps.",
    "profile.idle": "Time inside a step in which the device does nothing, by cause: a moment counts for the first "
    "cause, in the order shown, that holds. The causes sum to the idle time.",
    "profile.overhead": "Time inside steps in which the profiler itself was at work, as far as it recorded that: a "
    "lower bound of what profiling cost.",
    "profile.finding.share": "The part of the step time that the cause takes exclusively, over all steps that are not "
    "partial. No time counts for two findings, so their shares sum to at most 1.",
    "profile.finding.speedup": "Old over new step time if acted upon, by Amdahl's law over exclusive time: expected, "
    "and from the least to the most that acting can remove. What lies hidden under the removed time may come up in its "
    "place.",
    "profile.device.compute": "Union of the kernels that are no collective's, and of memory sets.",
    "profile.device.communication": "Union of the collectives' kernels.",
    "profile.device.communication_exposed": "Communication while no kernel computes.",
    "profile.device.memcpy": "Union of the copies by the device.",
    "profile.device.memcpy_exposed": "Copies while the device neither computes nor communicates.",
    "profile.device.busy": "Time in which the device does anything: compute, exposed communication and exposed copies.",
    "profile.device.idle": "Time in which the device does nothing: total less busy.",
    "profile.device.total": "From the first to the last piece of device work in the trace, time between steps "
    "included.",
    "profile.operator.calls": "Number of calls in the trace, those inside other operators included.",
    "profile.operator.host_self": "Host time in the operator outside operators inside it; its runtime calls included.",
    "profile.operator.host_total": "Host time in the operator and all inside it; a call inside a call of the same "
    "operator counts once.",
    "profile.operator.device": "Durations of the device work that the operator launched itself, added up: two streams "
    "at once count twice. Over all operators, with the unattributed time, it sums to the device's work.",
    "profile.operator.device_total": "Durations of the device work that the operator and all inside it launched, added "
    "up.",
    "profile.operator.shapes": "Shapes of the inputs, recorded with record_shapes=True.",
    "profile.unattributed": "Device work whose operator the trace does not tell: its launch is missing, or lies "
    "outside operators.",
    "profile.call_site": "The Python frames in which the operator was called, innermost first, recorded with "
    "with_stack=True; frames of torch itself are left out. An operator of a backward pass shows the frames of its "
    "forward call.",
    "profile.module": "Calls of an instance of torch.nn.Module in its forward pass, recorded with with_stack=True. "
    "Host self is outside modules inside it; the device time is of all work launched during its calls.",
    "profile.device_work": "Kernels, copies and memory sets by name and by the operator that launched them.",
    "profile.kernel.calls": "Number of times that it ran.",
    "profile.kernel.total": "Durations of its runs, added up: two streams at once count twice.",
    "profile.kernel.mean": "Summed duration over the number of runs.",
    "profile.kernel.min": "The shortest run.",
    "profile.kernel.max": "The longest run.",
    "profile.kernel.share": "Its summed duration over that of all rows of the table.",
    "profile.memory.allocated": "Bytes that tensors hold, as torch's allocator counts them. Where the profiler "
    "recorded no totals, they count from the start of the trace, and may be negative.",
    "profile.memory.reserved": "Bytes that torch's allocator holds from the device, free blocks included.",
    "profile.memory.peak": "The most that was allocated, and when.",
    "profile.memory.holders": "What lives at the peak and was allocated within the trace, by the operator that asked "
    "for it.",
    "profile.collective.calls": "Number of collectives of this operation in this process group.",
    "profile.collective.total": "Durations on this rank, added up; waiting for other ranks included.",
    "profile.collective.exposed": "The part of their union in which no kernel runs but those of collectives.",
    "profile.collective.bytes": "Bytes that this rank sent: elements times the size of their type.",
    "profile.collective.bandwidth": "Bytes over summed duration, waiting included: what the program got, not what the "
    "link can do.",
    "profile.collective.transfer": "All ranks leave a collective together, so the shortest duration among them is its "
    "transfer; added up over the calls. An upper bound where no rank found all others waiting.",
    "profile.collective.wait": "What the calls took on this rank above their transfer: waiting for ranks that came "
    "later.",
    "profile.collective.late": "By how much this rank began after the first, clocks aligned on the common ends, added "
    "up over the calls. The rank that is late makes the others wait.",
    "profile.collective.clock_offset": "Median difference of the ends of the same collectives against the first rank: "
    "how far this rank's clock is ahead.",
    "profile.timeline": "Host threads, Python frames and device streams of one step as recorded; a row is a depth of "
    "nesting.",
    "profile.timeline.left_out": "Events of the step that are not kept: of too many, the shortest.",
    "profile.timeline.start": "Start since the start of the step; negative for an event that began before it.",
    "profile.timeline.duration": "Whole duration of the event, also where it reaches beyond the step.",
    "profile.timeline.launch": "The runtime call that launched the device work, by the profiler's correlation id.",
}
