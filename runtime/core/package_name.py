"""The name of the package in what is printed: ``tengen``, or ``torch`` where a program imports it so."""

from __future__ import annotations


class _Package:
    """Where the name is kept; ``tengen.as_torch`` changes it."""

    name = "tengen"


package = _Package()
