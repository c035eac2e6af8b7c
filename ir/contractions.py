"""Bodies of operators that are contractions: sums of products of two operands.

    out[i, k] = sum(self[i, j] * mat2[j, k])

Of what dims are called follow the kernels of all backends, gradients, tangents, batching and ONNX's form.
"""

from __future__ import annotations

from dataclasses import dataclass

from .expressions import Expr

#: What stands for the module of forms in the kernel of a backend.
FORMS = "forms_of_contractions"
#: What stands before a name for any number of dims, and before an operand that is conjugated; an operand that
#: is added.
SEVERAL, CONJUGATED, ADDED = "*", "~", "+"


@dataclass(frozen=True, slots=True)
class Factor:
    """One of the two operands that are multiplied."""

    name: str
    dims: tuple[str, ...]
    conjugated: bool

    @property
    def several(self) -> tuple[str, ...]:
        """The names that stand for any number of dims."""
        return tuple([d for d in self.dims if d.startswith(SEVERAL)])


@dataclass(frozen=True, slots=True)
class Contraction:
    """The sum of the products of two operands over the dims that the result has not."""

    shapes: Expr | None  # the call of the function of shapes that words errors
    factors: tuple[Factor, Factor]
    out: tuple[str, ...]
    added: str  # the operand that is added, expanded; or ""
    optional: bool  # whether that may be None
    beta: str  # the argument that it is multiplied with; or ""
    alpha: str  # that of the product; or ""
    operands: tuple[str, ...]  # in the order of the schema, each as often as it is used

    @property
    def arguments(self) -> tuple[str, ...]:
        """What kernels are called with."""
        return (*self.operands, *([self.beta, self.alpha] if self.beta else []))

    def text(self) -> str:
        """The form as kernels read it: ``i j, j k -> i k``."""
        uses = [(f.name, f"{CONJUGATED if f.conjugated else ''}{' '.join(f.dims)}") for f in self.factors]
        uses += [(self.added, ADDED)] * bool(self.added)
        given = [text for name in dict.fromkeys(self.operands) for used, text in uses if used == name]
        return f"{', '.join(given)} -> {' '.join(self.out)}".rstrip()


def in_text(first: tuple[str, ...], second: tuple[str, ...], out: tuple[str, ...]) -> str:
    """The text of a contraction of operands with these dims."""
    a, b, c = map(" ".join, (first, second, out))
    return f"{a}, {b} -> {c}".rstrip()
