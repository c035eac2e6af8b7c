"""Bodies over rows as kernels have them: the call of what runs one on a backend."""

from __future__ import annotations

from dataclasses import dataclass

from .expressions import Call, Constant, Elements, Expr, Lambda


@dataclass(frozen=True, slots=True)
class BodyCall:
    """The call of what runs a body on a backend."""

    function: Expr
    kernels: Expr  # the namespace of native kernels, or None
    name: Expr  # of the one that is there, which what operands are given may decide
    form: Expr  # a function, or the name of the reduction that is all of it
    kept: tuple[bool, ...]
    kinds: tuple[str, ...]  # of the results: the values of Kind
    together: str  # what brings the results of parts of a row together, or ""
    nonempty: str  # a reduction for which rows must have elements, or ""
    asked: Expr  # whether each is asked for, or None
    wide: bool  # whether all is computed in double precision
    dim: Expr
    sizes: str  # of the argument that has the sizes of the last dims, if ``dim`` is that; or Along.LISTED
    keepdim: Expr
    dtype: Expr  # in which rows are taken, or None
    rows: tuple[Expr, ...]
    singles: tuple[Expr, ...]
    shared: tuple[Expr, ...]
    numbers: tuple[Expr, ...]
    named: tuple[
        Expr, ...
    ] = ()  # the dims of operands that have names, and sizes, in the place of where rows are

    def written(self) -> Call:
        """The call."""
        kept, kinds = [Elements("tuple", tuple(map(Constant, of))) for of in (self.kept, self.kinds)]
        facts = map(Constant, (self.together, self.nonempty, self.wide))
        results = Elements("tuple", (kept, kinds, *facts, self.asked))
        operands = [Elements("tuple", of) for of in (self.rows, self.singles, self.shared)]
        where = self.named or (self.dim, Constant(self.sizes), self.keepdim, self.dtype)
        what = self.kernels, self.name, self.form, results
        return Call(self.function, (*what, *where, *operands, *self.numbers))

    @classmethod
    def read(cls, expr: Expr) -> BodyCall | None:
        """Of such a call; None of another expression, and where dims have names."""
        match expr:
            case Call(
                function,
                (
                    kernels,
                    name,
                    (Lambda() | Constant()) as form,
                    Elements(
                        "tuple",
                        (
                            Elements("tuple", kept),
                            Elements("tuple", kinds),
                            Constant(str() as together),
                            Constant(str() as nonempty),
                            Constant(bool() as wide),
                            asked,
                        ),
                    ),
                    dim,
                    Constant(str() as sizes),
                    keepdim,
                    dtype,
                    Elements("tuple", rows),
                    Elements("tuple", singles),
                    Elements("tuple", shared),
                    *numbers,
                ),
                (),
            ):
                flags, marks = [
                    tuple([k.value for k in of if isinstance(k, Constant)]) for of in (kept, kinds)
                ]
                what = kernels, name, form, flags, marks, together, nonempty, asked, wide
                operands = rows, singles, shared, tuple(numbers)
                return cls(function, *what, dim, sizes, keepdim, dtype, *operands)
        return None
