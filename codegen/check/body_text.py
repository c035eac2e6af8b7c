"""Check: the text of a body, its first line and the assignments behind it, and the mistakes in it."""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.expressions import Expr
from ...ir.reader import read_assignments, read_expression
from ..model.diagnostics import Report
from ..model.schema import Schema
from ..model.source import Located
from ..read.fields import report_scalar
from ..read.functions import FunctionIndex

#: What the only result is called, and what a first line begins with.
RESULT, OVER = "out", "over "


class TextReader:
    """Reads expressions of a located text, and reports the mistakes in them."""

    def __init__(self, located: Located, report: Report) -> None:
        self.located, self.report = located, report
        self.good = True

    def wrong(self, message: str, at: Expr | int = 0, expected: str = "", help: str = "") -> None:
        """Report a mistake, at an expression or at a place of the text."""
        self.good = False
        begin, end = (at, at + 1) if isinstance(at, int) else at.span
        place = self.located.at(begin)
        self.report.error(place, message, length=max(1, end - begin), expected=expected, help=help)


class BodyReader(TextReader):
    """Reads one body: what readers of all kinds but rows have in common."""

    #: How bodies of the kind are written.
    head = ""

    def __init__(
        self, schema: Schema, located: Located, functions: FunctionIndex | None, report: Report
    ) -> None:
        """Without ``functions`` nothing is asked of those that the body calls."""
        super().__init__(located, report)
        self.schema, self.functions = schema, functions
        self.tensors = [a.name for a in schema.arguments if a.is_tensor]

    def parsed(self) -> tuple[Expr | None, Sequence[tuple[Expr, Expr]]] | None:
        """What the first line is over, if there is such a line, and the assignments; None for no body."""
        text = str(self.located.value)
        head = text.partition("\n")[0] if text.startswith(OVER) else ""
        try:  # places stay as they are
            over = read_expression(f"({' ' * (len(OVER) - 1)}{head[len(OVER) :]})") if head else None
            return over, read_assignments(" " * len(head) + text[len(head) :])
        except SyntaxError as error:
            report_scalar(self.located, f"it is no body: {error.msg}", self.head, self.report)
            return None
