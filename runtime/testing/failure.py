"""What a check says when a declaration is wrong, so that a program can tell where."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Part:
    """What of an operator's declaration is at fault.

    ``kind`` is "kernel" (``name``: the backend), "gradient" (the argument), "tangent" (the result's
    number), "dtypes" (the dtype), "batching", "symbolic", "reference", "alias", "promote", or "sample"
    (its text). ``operator`` is the full name of the operator, where it is another one than was checked.
    """

    kind: str
    name: str = ""
    operator: str = ""


class Mismatch(AssertionError):
    """Two values that should be the same and are not."""

    def __init__(
        self,
        message: str,
        *,
        got: str = "",
        expected: str = "",
        error: float | None = None,
        index: tuple[int, ...] = (),
        count: tuple[int, int] = (0, 0),
        help: str = "",
    ) -> None:
        super().__init__(message)
        self.got, self.expected, self.error, self.index = got, expected, error, index
        self.count, self.help = count, help


@dataclass(eq=False)
class Failure(AssertionError):
    """What is wrong about an operator in one respect, with the call that shows it."""

    operator: str
    aspect: str
    part: Part
    message: str  # "the gradient of atan2 for self is wrong"
    sample: str = ""  # "[3, 4], [3, 4]"
    dtype: str = ""
    variant: str = ""  # the in-place or out variant that was called
    inputs: tuple[tuple[str, str], ...] = ()  # each argument with its value, as printed
    got: str = ""
    expected: str = ""
    called: tuple[str, str] = ("got", "expected")  # what these two values are called
    error: float | None = None  # the largest difference
    where: str = ""  # the place in the result of that
    help: str = ""
    doubtful: tuple[Part, ...] = ()  # what may be at fault as well
    through: tuple[str, ...] = ()  # operators that were called: what is wrong about them shows here too
    more: list[Failure] = field(default_factory=list)  # what else the same call showed
    origin: tuple[str, int] | None = None  # the file and line where an exception came about by mistake
    raised: str = ""  # the exception by which the check ended, where that is none of its own
    also: list[str] = field(default_factory=list)  # the titles of the aspects that show the same

    def __str__(self) -> str:
        lines = [f"{self.message}: {self.call}" if self.sample else self.message]
        if self.got or self.expected:
            wide = max(map(len, self.called))
            lines += [
                f"  {name:<{wide}}  {value}"
                for name, value in zip(self.called, (self.got, self.expected), strict=True)
            ]
        if self.error is not None:
            lines.append(
                f"  the largest error is {self.error:.3g}" + (f", {self.where}" if self.where else "")
            )
        if self.help:
            lines.append(f"  {self.help}")
        lines += [f"  {name} = {value}" for name, value in self.inputs]
        if self.sample:
            lines.append(f"  {self.reproduction}")
        return "\n".join(lines)

    @property
    def call(self) -> str:
        """The call in short: "atan2([3, 4], [3, 4]) in float64"."""
        return f"{self.variant or self.operator}({self.sample})" + (f" in {self.dtype}" if self.dtype else "")

    @property
    def reproduction(self) -> str:
        """A line of Python that shows the failure again."""
        given = [repr(self.operator), repr(self.aspect)]
        if self.sample:
            given.append(f"sample={self.sample!r}")
        if self.dtype:
            given.append(f"dtype={self.dtype!r}")
        return f"tengen.testing.check_operator({', '.join(given)})"


@contextmanager
def blamed(
    case: Any,
    aspect: str,
    part: Part,
    message: str,
    *,
    called: tuple[str, str] = ("got", "expected"),
    doubtful: Sequence[Part] = (),
    help: str = "",
) -> Generator[None, None, None]:
    """What goes wrong inside is a Failure of this part; a Failure stays what it is.

    The text of an exception that is no Mismatch is added to the message.
    """
    try:
        yield
    except Failure:
        raise
    except Mismatch as found:
        raise failure(case, aspect, part, message, found, called, tuple(doubtful), help) from None
    except Exception as error:
        text = in_short(error)
        made = failure(case, aspect, part, f"{message}: {text}", None, called, tuple(doubtful), help)
        made.raised = text
        raise made from error


def in_short(error: BaseException) -> str:
    """An exception's class and the first line of its text."""
    return f"{type(error).__name__}: {error}".strip().split("\n")[0]


def failure(
    case: Any,
    aspect: str,
    part: Part,
    message: str,
    found: Mismatch | None = None,
    called: tuple[str, str] = ("got", "expected"),
    doubtful: tuple[Part, ...] = (),
    help: str = "",
) -> Failure:
    """The Failure of a case."""
    made = Failure(
        str(case.call.operator.name),
        aspect,
        part,
        message,
        case.call.text,
        str(case.kind).rpartition(".")[2],
        case.variant,
        described(case),
        called=called,
        doubtful=doubtful,
        help=help,
    )
    if found is not None:
        made.got, made.expected, made.error = found.got, found.expected, found.error
        if not found.got and not found.expected:
            made.message = f"{message}: {found}"
        made.where = f"at {list(found.index)}" if found.index else ""
        if found.count[0] > 1:
            made.where += f"; {found.count[0]} of {found.count[1]} elements are wrong"
            made.where = made.where.lstrip("; ")
        made.help = help or found.help
    return made


_LONG = 96


def described(case: Any) -> tuple[tuple[str, str], ...]:
    """The arguments of a case that are no defaults, with their values."""
    try:
        values = case.call.arrays(case.kind)
    except Exception:
        return ()
    found = []
    for argument, value in zip(case.call.arguments, values, strict=True):
        if value is None or value is False or (isinstance(value, tuple) and not value):
            continue
        text = " ".join(repr(value.tolist() if hasattr(value, "tolist") else value).split())
        if hasattr(value, "tolist") and value.dtype.kind in "fc":
            text = _rounded(value)
        if isinstance(value, list):
            text = f"[{', '.join(_rounded(v) for v in value)}]"
        found.append((argument.name, text if len(text) <= _LONG else f"{text[:_LONG]}..."))
    return tuple(found)


def _rounded(value: Any) -> str:
    """An array in six digits, on one line."""
    import numpy as np

    array = np.asarray(value)
    if array.dtype.name == "bfloat16":
        array = array.astype(np.float32)
    return " ".join(np.array2string(array, precision=6, separator=", ", threshold=24).split())
