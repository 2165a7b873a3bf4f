from __future__ import annotations

import numpy as np

from tb_aiperf.storage.merge import surviving_rows
from tests.unit.storage.series import table


def rows(steps: list[int], segments: list[int]):
    return table({"a": [1] * len(steps)}, step=steps, segment=segments)


def test_a_resume_by_hand() -> None:
    # The first attempt: start-up, steps 0-3 with an epoch boundary before 2, interrupted in step 4.
    first = rows([0, 0, 1, 2, 2, 3, 4], [1, 0, 0, 2, 0, 0, 4])
    # It resumes at step 2: start-up, steps 2-4.
    second = rows([2, 2, 3, 4], [1, 0, 0, 0])
    older, newer = surviving_rows([first, second])
    # Kept: start-up and steps 0, 1, and the boundary between step 1, which stays, and step 2, which was run again.
    np.testing.assert_array_equal(older, [1, 1, 1, 1, 0, 0, 0])
    assert newer.all()


def test_steps_beyond_the_newer_attempt_stay() -> None:
    older, newer = surviving_rows([rows([0, 1, 2, 3], [0] * 4), rows([1, 2], [0] * 2)])
    np.testing.assert_array_equal(older, [1, 0, 0, 1])
    assert newer.all()


def test_the_newest_of_three_wins() -> None:
    masks = surviving_rows([rows([0, 1, 2], [0] * 3), rows([1, 2], [0] * 2), rows([2], [0])])
    assert [mask.tolist() for mask in masks] == [[True, False, False], [True, False], [True]]


def test_rows_that_share_a_step_number_within_an_attempt_all_count() -> None:
    older, newer = surviving_rows([rows([0, 0, 1, 1], [0] * 4), rows([1, 1, 1], [0] * 3)])
    np.testing.assert_array_equal(older, [1, 1, 0, 0])
    assert newer.all()


def test_an_attempt_that_never_made_a_step_keeps_its_segments() -> None:
    masks = surviving_rows([rows([0, 1], [1, 0]), rows([2], [4]), rows([0, 1], [0, 0])])
    assert [mask.tolist() for mask in masks] == [[False, False], [True], [True, True]]
