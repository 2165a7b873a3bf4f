from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tb_aiperf.trace.collective_list import CollectiveList
from tb_aiperf.trace.table import CollectiveArguments

texts = st.none() | st.sampled_from(["all_reduce", "0", "Float", ""])
numbers = st.none() | st.integers(-(2**63) + 1, 2**63 - 1)


@given(st.lists(st.builds(CollectiveArguments, texts, texts, numbers, numbers, texts)))
def test_it_is_the_list(items: list[CollectiveArguments]) -> None:
    compact = CollectiveList(items)
    assert list(compact) == items
    assert compact == items
    assert compact[-2:] == items[-2:]
    assert compact != [*items, CollectiveArguments("more", None, None, None, None)]


def test_numbers_beyond_64_bits_are_unknown() -> None:
    (found,) = CollectiveList([CollectiveArguments("all_reduce", "0", 10**30, -(2**63), "Float")])
    assert found == CollectiveArguments("all_reduce", "0", None, None, "Float")
