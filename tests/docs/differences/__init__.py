"""What docs/differences.md says, as programs: a module for each of its sections."""

from __future__ import annotations

from differences import absent, arrays, autograd, calls, errors, numbers, views_and_writes
from differences.claim import Claim

#: The claims of each section, by its heading, in the document's order.
SECTIONS: dict[str, list[Claim]] = {
    "What is not there": absent.CLAIMS,
    "Numbers": numbers.CLAIMS,
    "Arrays from outside": arrays.CLAIMS,
    "Calls": calls.CLAIMS,
    "Views and writing in place": views_and_writes.CLAIMS,
    "Autograd": autograd.CLAIMS,
    "Errors and warnings": errors.CLAIMS,
}
