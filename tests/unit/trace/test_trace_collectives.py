from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.records import CollectiveCalls
from tb_aiperf.trace import analyze
from tb_aiperf.trace.collectives import (
    Collective,
    CollectiveFinder,
    as_calls,
    clock_offsets,
    find_collectives,
    from_calls,
    match_ranks,
    operation_of,
)
from tb_aiperf.trace.ranks import match_calls
from tests.unit.trace.events import kernel, launch, mark, read, span, write


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "all_reduce"),
        ("ncclKernel_ReduceScatter_RING_LL_Sum_float(ncclWorkElem)", "reduce_scatter"),
        ("ncclKernel_AllGather_RING_LL_Sum_int8_t(ncclWorkElem)", "all_gather"),
        ("_allgather_base", "all_gather"),
        ("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclWorkElem)", "send_recv"),
        ("ncclBroadcastRingLLKernel_copy_i8(ncclColl)", "broadcast"),
        ("nccl:all_to_all", "all_to_all"),
        ("gloo:barrier", "barrier"),
        ("ncclDevKernel_Reduce_Sum_f32", "reduce"),
        ("ncclDevKernel_Generic(ncclDevKernelArgsStorage<4096ul>)", "collective"),
    ],
)
def test_operations(name: str, operation: str) -> None:
    assert operation_of(name) == operation


def test_what_the_profiler_recorded(tmp_path: Path) -> None:
    arguments = {
        "Collective name": "allreduce",
        "Process Group Name": "3",
        "Seq": 17,
        "In msg nelems": 8,
        "dtype": "Float",
    }
    trace = read(
        tmp_path,
        [
            kernel(1, 50, 10, "ncclDevKernel_Generic", **arguments),
            kernel(2, 10, 10, "ncclDevKernel_AllGather"),
            kernel(3, 0, 5),
        ],
        baseTimeNanoseconds=1000,
    )
    assert find_collectives(trace) == [
        Collective("all_gather", 11_000, 21_000),
        Collective("all_reduce", 51_000, 61_000, "3", 17, 8, "Float"),
    ]


def test_a_cpu_backend(tmp_path: Path) -> None:
    trace = read(tmp_path, [span("gloo:all_reduce", 5, 10, "user_annotation"), span("aten::mm", 0, 1)])
    assert find_collectives(trace) == [Collective("all_reduce", 5000, 15_000)]


def test_of_very_many_the_first_are_kept_and_the_rest_is_told(tmp_path: Path) -> None:
    trace = read(tmp_path, [kernel(index, 100 - 10 * index, 5, "ncclDevKernel_AllGather") for index in range(4)])
    finder = CollectiveFinder(limit=3)
    finder.add_all(trace)
    assert [found.start for found in finder.collectives(trace)] == [70_000, 80_000, 90_000]
    assert finder.warnings() == ["only the first 3 collectives are compared across ranks, 1 are not"]
    everything = CollectiveFinder(limit=4)
    everything.add_all(trace)
    assert everything.warnings() == []


def test_the_columns_of_calls_hold_what_matching_needs() -> None:
    items = [
        Collective("all_reduce", 5, 9, "0", 1),
        Collective("all_gather", 7, 8),
        Collective("all_reduce", 9, 9, "1", 0),
    ]
    calls = as_calls(items)
    assert calls == CollectiveCalls(
        operations=["all_reduce", "all_gather"],
        groups=["0", "1"],
        operation=[0, 1, 0],
        group=[0, -1, 1],
        sequence=[1, -1, 0],
        start_ns=[5, 7, 9],
        duration_ns=[4, 1, 0],
    )
    assert from_calls(calls) == items
    assert as_calls([]) is None


def test_a_rank_that_is_there_twice_or_alone_matches_nothing() -> None:
    calls = as_calls([Collective("all_reduce", 5, 9)])
    assert calls is not None
    assert match_calls([3], [calls]) is None
    assert match_calls([3, 3], [calls, calls]) is None
    found = match_calls([3, 1], [calls, calls])
    assert found is not None
    assert (found.ranks, found.calls, found.clock_offset_us) == ([3, 1], 1, [0.0, 0.0])


def test_transfer_and_wait_by_hand() -> None:
    """Rank 1 comes 300 late, its clock is 5000 ahead; both leave together."""
    first = [Collective("all_reduce", 1000, 1500, "0")]
    second = [Collective("all_reduce", 6300, 6500, "0")]
    (match,), warnings = match_ranks([first, second])
    assert match.transfer == 200
    assert match.wait.tolist() == [300, 0]
    assert match.late.tolist() == [0, 300]
    assert clock_offsets([match], 2) is not None
    assert clock_offsets([match], 2).tolist() == [0, 5000]  # type: ignore[union-attr]
    assert warnings == []


def test_sequence_numbers_match_what_order_would_not() -> None:
    def item(sequence: int, start: int, end: int) -> Collective:
        return Collective("all_reduce", start, end, "0", sequence)

    matches, warnings = match_ranks([[item(1, 0, 10), item(2, 20, 30)], [item(2, 24, 30), item(3, 40, 50)]])
    assert [match.duration.tolist() for match in matches] == [[10, 6]]
    assert warnings == []


def test_different_counts_are_told() -> None:
    one = [Collective("all_reduce", 0, 10), Collective("all_reduce", 20, 30)]
    matches, warnings = match_ranks([one, one[:1]])
    assert len(matches) == 1
    assert warnings == ["all_reduce was recorded 1 to 2 times per rank; the first 1 are matched"]


def test_a_group_of_some_ranks() -> None:
    pair = [Collective("all_gather", 0, 10, "1")]
    (match,), _ = match_ranks([[], pair, pair])
    assert match.ranks.tolist() == [1, 2]
    assert clock_offsets([match], 3) is None


@given(st.lists(st.lists(st.integers(1, 1000), min_size=3, max_size=3), max_size=10))
def test_wait_and_late_are_the_two_sides_of_the_same_time(durations: list[list[int]]) -> None:
    ranks = [
        [Collective("all_reduce", 2000 * index - row[rank], 2000 * index) for index, row in enumerate(durations, 1)]
        for rank in range(3)
    ]
    matches, _ = match_ranks(ranks)
    assert len(matches) == len(durations)
    for match in matches:
        assert match.transfer == min(match.duration)
        assert (match.wait + match.transfer == match.duration).all()
        assert match.wait.min() == match.late.min() == 0
        assert len(set((match.wait + match.late).tolist())) == 1
    offsets = clock_offsets(matches, 3)
    assert offsets is None if not durations else np.array_equal(offsets, [0, 0, 0])  # type: ignore[arg-type]


def test_ranks_of_one_run_are_compared_and_others_are_not(tmp_path: Path) -> None:
    def rank(number: int, duration: float, world_size: int = 2) -> Path:
        events = [mark(1, 0, 900), launch(1, 10, 5), kernel(1, 700 - duration, duration, "ncclDevKernel_AllReduce")]
        info = {"rank": number, "world_size": world_size, "backend": "nccl"}
        return write(tmp_path / f"{number}-{world_size}.json", events, distributedInfo=info)

    found = analyze([rank(0, 500), rank(1, 100)]).collectives
    assert found is not None
    assert (found.ranks, found.calls, found.clock_offset_us) == ([0, 1], 1, [0.0, 0.0])
    (operation,) = found.operations
    assert (operation.operation, operation.calls, operation.transfer_us) == ("all_reduce", 1, 100.0)
    assert (operation.wait_us, operation.late_us) == ([400.0, 0.0], [0.0, 400.0])
    assert analyze([rank(0, 500), rank(0, 100)]).collectives is None
    assert analyze([rank(0, 500), rank(1, 100, 4)]).collectives is None
    assert analyze([rank(0, 500)]).collectives is None
