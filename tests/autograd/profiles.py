"""What tests of profiles ask of events, in tengen and in torch."""

from __future__ import annotations

from typing import Any


def plain(event: Any) -> str:
    """An event's name without namespaces."""
    turn = "autograd::engine::evaluate_function: "
    if event.key.startswith(turn):
        return "turn of " + event.key[len(turn) :].rpartition("::")[2]
    return str(event.key.rpartition("::")[2])


def named(events: Any, name: str) -> Any:
    """The one event of a name."""
    (found,) = [e for e in events if plain(e) == name]
    return found
