"""A progress bar: tqdm's where that is installed, and only on a terminal."""

from __future__ import annotations

import sys
from importlib import import_module
from threading import Lock
from typing import Any


class Progress:
    """How far a command is, on stderr. Steps may come from several threads."""

    def __init__(self, total: int, what: str) -> None:
        self.total, self.what, self.done = total, what, 0
        self.lock = Lock()
        self.shown = sys.stderr.isatty()
        self.bar: Any = None
        if self.shown:
            try:
                bars: Any = import_module("tqdm")  # which has no types
            except ImportError:
                return
            self.bar = bars.tqdm(total=total, desc=what, file=sys.stderr, leave=False)

    def step(self, name: str) -> None:
        """One more is done."""
        with self.lock:
            self.done += 1
            if self.bar is not None:
                self.bar.set_postfix_str(name, refresh=False)
                self.bar.update()
            elif self.shown:
                text = f"{self.what} {self.done}/{self.total} {name}"
                sys.stderr.write(f"\r{text[:78]:<78}")
                sys.stderr.flush()

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()
        elif self.shown:
            sys.stderr.write(f"\r{'':<78}\r")
