"""What asks for a window while a training runs."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from callbacks.triggers import RequestFile, SignalFlag, SlowSteps
from tb_aiperf.storage.requests import REQUEST_FILE, Request, read_request, write_request

HOUR_NS = 3_600_000_000_000


def test_a_step_is_slow_against_the_median_of_those_before() -> None:
    slow = SlowSteps(3.0, per_hour=2)
    found = [number for number in range(200) if slow.see(1000 if number in (10, 50, 51, 52) else 100, number)]
    # Step 10 comes before there is a median to compare with; of the other three, the budget allows two.
    assert found == [50, 51]


def test_the_budget_comes_back_after_an_hour() -> None:
    slow = SlowSteps(3.0, per_hour=1)
    for number in range(30):
        assert not slow.see(100, number)
    assert slow.see(1000, 0)
    assert not slow.see(1000, HOUR_NS)
    assert slow.see(1000, HOUR_NS + 1)


def test_a_training_that_slows_down_for_good_is_not_slow_for_ever() -> None:
    slow = SlowSteps(3.0, per_hour=1000)
    for number in range(100):
        slow.see(100, number)
    found = [slow.see(1000, 100 + number) for number in range(200)]
    assert found[0]
    assert not any(found[60:])


def test_rank_0_answers_and_the_others_wait_for_its_answer(tmp_path: Path) -> None:
    first, second = RequestFile(str(tmp_path), answers=True), RequestFile(str(tmp_path), answers=False)
    assert first.poll() is None
    write_request(str(tmp_path / REQUEST_FILE), Request(id="a", steps=3))
    assert second.poll() is None
    request = first.poll()
    assert request == Request(id="a", steps=3)
    first.answer(Request(id="a", steps=3, first_step=40, state="accepted"))
    assert second.poll() == Request(id="a", steps=3, first_step=40, state="accepted")
    assert first.poll() is None
    assert second.poll() is None
    second.answer(Request(id="a", steps=3, first_step=40, state="refused"))
    answer = read_request(str(tmp_path / REQUEST_FILE))
    assert answer is not None
    assert answer.state == "accepted"


def test_a_request_from_before_is_not_for_this_training(tmp_path: Path) -> None:
    write_request(str(tmp_path / REQUEST_FILE), Request(id="old", steps=3))
    file = RequestFile(str(tmp_path), answers=True)
    assert file.poll() is None
    write_request(str(tmp_path / REQUEST_FILE), Request(id="new", steps=3))
    assert file.poll() == Request(id="new", steps=3)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"id": "a"}', b'{"id": "a", "steps": 0}', b'{"id": 1, "steps": 2}', b"\xff" * 99]
)
def test_a_file_that_is_no_request_is_passed_over(content: bytes, tmp_path: Path) -> None:
    file = RequestFile(str(tmp_path), answers=True)
    (tmp_path / REQUEST_FILE).write_bytes(content)
    assert file.poll() is None


def test_an_answer_that_cannot_be_written_hurts_nobody(tmp_path: Path) -> None:
    RequestFile(str(tmp_path / "gone"), answers=True).answer(Request(id="a", steps=1))


@pytest.mark.skipif(not hasattr(signal, "SIGUSR2"), reason="this machine has no SIGUSR2")
def test_a_signal_is_noticed_once_and_handed_on() -> None:
    seen: list[int] = []
    before = signal.signal(signal.SIGUSR2, lambda number, _: seen.append(number))
    try:
        flag = SignalFlag("SIGUSR2")
        os.kill(os.getpid(), signal.SIGUSR2)
        assert (flag.take(), flag.take()) == (True, False)
        assert seen == [signal.SIGUSR2]
        flag.restore()
        os.kill(os.getpid(), signal.SIGUSR2)
        assert (flag.take(), len(seen)) == (False, 2)
    finally:
        signal.signal(signal.SIGUSR2, before)
