from __future__ import annotations

import threading

import pytest

from tb_aiperf.storage.cache import BuildCache


def counting(calls: list[object], value: str):
    def build(old: object) -> str:
        calls.append(old)
        return value

    return build


def test_a_value_is_built_once_per_identity_and_goes_on_from_the_old_one() -> None:
    cache, calls = BuildCache(100), []
    for identity, value in ((1, "a"), (1, "never"), (2, "b"), (2, "never")):
        assert cache.get("key", identity, counting(calls, value), len) == ("a" if identity == 1 else "b")
    assert calls == [None, "a"]


def test_the_least_recently_used_values_go_first() -> None:
    cache, calls = BuildCache(25), []
    for key in ("a", "b", "a", "c", "a", "b"):
        cache.get(key, 0, counting(calls, key * 10), len)
    # c pushed b out, then b pushed c out; a was used in between each time.
    assert len(calls) == 4


def test_a_value_beyond_the_limit_is_still_served() -> None:
    cache, calls = BuildCache(3), []
    for _ in range(2):
        assert cache.get("key", 0, counting(calls, "too long"), len) == "too long"
    assert len(calls) == 1


def test_failures_pass_through_and_leave_nothing() -> None:
    cache = BuildCache(10)

    def fail(old: object) -> str:
        raise LookupError("gone")

    for _ in range(2):
        with pytest.raises(LookupError, match="gone"):
            cache.get("key", 0, fail, len)
    assert not cache._slots


def test_threads_wait_for_one_build() -> None:
    cache, calls, started = BuildCache(100), [], threading.Event()
    release = threading.Event()

    def slow(old: object) -> str:
        calls.append(old)
        started.set()
        release.wait(5)
        return "value"

    results: list[str] = []
    threads = [threading.Thread(target=lambda: results.append(cache.get("key", 0, slow, len))) for _ in range(4)]
    for thread in threads:
        thread.start()
    assert started.wait(5)
    # Another key is not held up.
    assert cache.get("other", 0, lambda old: "fast", len) == "fast"
    release.set()
    for thread in threads:
        thread.join(5)
    assert results == ["value"] * 4
    assert calls == [None]
