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
}
