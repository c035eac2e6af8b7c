"""Stances: what calls of compiled functions do from here on, in this thread."""

from __future__ import annotations

import threading


class Stance(threading.local):
    """The stance of a thread."""

    name = "default"
    #: Whether functions are called as they are written.
    eager = False
    #: Whether no new program is made.
    keeps = False


stance = Stance()
