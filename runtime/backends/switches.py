"""Switches of a module that are set for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def switched(module: dict[str, Any], **values: Any) -> Iterator[None]:
    """Within ``with`` the module has these values; None leaves a switch as it is."""
    before = {name: module[name] for name, value in values.items() if value is not None}
    module.update({name: value for name, value in values.items() if value is not None})
    try:
        yield
    finally:
        module.update(before)
