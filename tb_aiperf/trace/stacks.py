"""Stacks of names, numbered: the same stack has the same number in every segment of a trace."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tb_aiperf.trace.nesting import Nesting
from tb_aiperf.trace.table import BoolArray, IntArray

#: Stacks that are told apart, inner parts of stacks included: 32 MB. Real programs have thousands.
MAX_STACKS = 1 << 20
#: Names in a stack; what is called deeper than that counts for the stack of this depth.
MAX_DEPTH = 128
#: The number of the stack without names.
EMPTY = 0


class Stacks:
    """Numbers stacks in order of appearance. A name right inside itself, as in a recursion, counts once.

    Beyond `limit`, an unknown stack gets the number of the stack around it.
    """

    def __init__(self, limit: int = MAX_STACKS) -> None:
        self._limit = limit
        #: Of each stack but the empty one: the stack around its innermost name, and that name.
        self._outer: IntArray = np.zeros(0, np.int64)
        self._name: IntArray = np.zeros(0, np.int64)
        #: Pairs of them, rising, and their stacks.
        self._key: IntArray = np.zeros(0, np.int64)
        self._stack: IntArray = np.zeros(0, np.int64)

    def number(self, nesting: Nesting, name: IntArray) -> IntArray:
        """[n] stack of each range: its own name inside those of the ranges that it lies in."""
        parent, depth = nesting.parent, depths(nesting)
        stack = np.zeros(len(parent), np.int64)
        order = np.argsort(depth, kind="stable")
        levels = np.searchsorted(depth[order], np.arange(min(int(depth.max(initial=-1)) + 1, MAX_DEPTH) + 1))
        for low, high in pairwise(levels.tolist()):
            rows = order[low:high]
            outer = np.where(parent[rows] >= 0, stack[parent[rows]], EMPTY)
            stack[rows] = self._inside(outer, name[rows])
        deeper = order[levels[-1] :]
        if len(deeper):
            stack[deeper] = stack[nearest(depth == MAX_DEPTH - 1, parent)[deeper]]
        return stack

    def names(self, stack: int) -> list[int]:
        """Names of a stack, innermost first."""
        found = []
        while stack != EMPTY:
            found.append(int(self._name[stack - 1]))
            stack = int(self._outer[stack - 1])
        return found

    def _inside(self, outer: IntArray, name: IntArray) -> IntArray:
        """[n] stack of each name inside a stack."""
        stack = outer.copy()
        other = np.append(self._name, -1)[outer - 1] != name
        stack[other] = self._number(outer[other], name[other])
        return stack

    def _number(self, outer: IntArray, name: IntArray) -> IntArray:
        key, place = np.unique(outer << 32 | name, return_inverse=True)
        at = np.searchsorted(self._key, key)
        known = np.append(self._key, -1)[at] == key
        new = key[~known][: self._limit - len(self._outer)]
        if len(new):
            numbers = np.arange(len(self._outer) + 1, len(self._outer) + 1 + len(new))
            self._outer = np.concatenate([self._outer, new >> 32])
            self._name = np.concatenate([self._name, new & 0xFFFFFFFF])
            where = np.searchsorted(self._key, new)
            self._key = np.insert(self._key, where, new)
            self._stack = np.insert(self._stack, where, numbers)
            at = np.searchsorted(self._key, key)
            known = np.append(self._key, -1)[at] == key
        stack = np.where(known, np.append(self._stack, EMPTY)[at], key >> 32)
        numbered: IntArray = stack[place]
        return numbered


def depths(nesting: Nesting) -> IntArray:
    """[n] how many ranges each range lies in."""
    count = len(nesting.parent)
    ended = np.cumsum(np.bincount(nesting.stop, minlength=count + 1)[:count])
    return np.arange(count) - ended


def nearest(marked: BoolArray, parent: IntArray) -> IntArray:
    """[n] the range itself if it is marked, else the innermost marked one that it lies in, -1 for none."""
    up = np.where(marked, np.arange(len(parent)), parent)
    while True:
        # Those that are marked or outermost point at themselves or at -1: each round doubles how far one looks.
        further = np.append(up, -1)[up]
        if np.array_equal(further, up):
            return up
        up = further
