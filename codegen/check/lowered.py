"""Check: what has machine code, which takes longer to see than all else about it."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from functools import cached_property

from ...ir.routines import Routines


class Lowered:
    """Knows of kernels whether they can be lowered, where an earlier run has seen it.

    ``answers`` are checksums, ``-`` before those of what cannot be lowered. They become those of this run.
    """

    def __init__(self, routines: Routines, answers: set[str]) -> None:
        self.routines, self.known, self.answers = routines, frozenset(answers), answers
        answers.clear()

    @cached_property
    def of_routines(self) -> str:
        """The checksum of the routines, on which each answer depends."""
        return hashlib.sha256(pickle.dumps(self.routines)).hexdigest()

    def knows(self, text: str, see: Callable[[], bool]) -> bool:
        """Whether what a text says can be lowered; ``see`` finds that out."""
        text = f"{self.of_routines}\n{text}"
        checksum = hashlib.sha256(text.encode(errors="surrogateescape")).hexdigest()
        answer = checksum in self.known or (f"-{checksum}" not in self.known and see())
        self.answers.add(checksum if answer else f"-{checksum}")
        return answer
