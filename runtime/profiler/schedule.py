"""Which of a loop's steps are profiled."""

from __future__ import annotations

import enum
import warnings
from collections.abc import Callable

from ..core.user_stack import program_stacklevel


class ProfilerAction(enum.Enum):
    """What is done in a step: nothing, record but throw away, record, record and hand over."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """A function from the number of a step to what is done in it.

    After ``skip_first`` steps come cycles of ``wait`` steps in which nothing is done, ``warmup`` steps
    whose events are thrown away, and ``active`` steps that are recorded, of which the last ends the
    profile. There are ``repeat`` cycles; 0 is without end. ``skip_first_wait``, when it is not 0, leaves
    out the waiting of the first cycle.

    AssertionError for numbers that are too small. No warmup is a warning.
    """
    counts = {"wait": wait, "warmup": warmup, "repeat": repeat, "skip_first": skip_first}
    if active <= 0 or any(count < 0 for count in counts.values()):
        given = ", ".join(f"{word}={count} (need >= 0)" for word, count in counts.items())
        raise AssertionError(f"Invalid profiler schedule arguments. Got active={active} (need > 0), {given}.")
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=program_stacklevel()
        )
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        if step < skip_first:
            return ProfilerAction.NONE
        step -= skip_first
        if skip_first_wait:
            step += wait
        if repeat and step >= repeat * cycle:
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD_AND_SAVE if place == cycle - 1 else ProfilerAction.RECORD

    return action


def always(step: int) -> ProfilerAction:
    """What is done without a schedule."""
    return ProfilerAction.RECORD
