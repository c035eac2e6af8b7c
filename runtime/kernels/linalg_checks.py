"""What the kernels of tengen.linalg ask of their arguments, and the error for singular matrices."""

from __future__ import annotations

from typing import Any

Shape = tuple[int, ...]


class LinAlgError(RuntimeError):
    """A matrix without what was asked for: singular, not positive-definite, did not converge."""


LinAlgError.__module__ = "tengen.linalg"  # where users find it


def check_matrices(shape: Shape, name: str = "A") -> Shape:
    """The batch shape of one or more matrices; RuntimeError for less than two dimensions."""
    if len(shape) < 2:
        raise RuntimeError(f"The input tensor {name} must have at least 2 dimensions.")
    return shape[:-2]


def check_square(shape: Shape, name: str = "A") -> Shape:
    """The batch shape of one or more square matrices; RuntimeError for anything else."""
    batch = check_matrices(shape, name)
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            f"{name} must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices"
        )
    return batch


def broadcast_batches(a: Shape, b: Shape) -> Shape:
    """The batch shape that both broadcast to; RuntimeError when there is none."""
    if a == b:
        return a
    ndim = max(len(a), len(b))
    a, b = (1,) * (ndim - len(a)) + a, (1,) * (ndim - len(b)) + b
    for d, (n, m) in enumerate(zip(a, b, strict=True)):
        if n != m and 1 not in (n, m):
            raise RuntimeError(
                f"The size of tensor a ({n}) must match the size of tensor b ({m}) "
                f"at non-singleton dimension {d}"
            )
    return tuple([m if n == 1 else n for n, m in zip(a, b, strict=True)])


def is_vector(A: Shape, B: Shape) -> bool:
    """Whether ``B`` is a batch of vectors rather than of matrices, in ``A x = B``."""
    return len(B) == 1 or (len(A) - 1 == len(B) and A[:-1] == B)


def solve_shape(A: Shape, B: Shape, left: bool) -> Shape:
    """The shape of the solution of ``A X = B``, or ``X A = B``; the batches broadcast. RuntimeError for an
    ``A`` that is not square, and sizes that do not fit it."""
    check_square(A)
    vector = is_vector(A, B)
    matrices = (*B, 1) if vector else B
    check_matrices(matrices, "B")
    if A[-1] != matrices[-2 if left else -1] or (vector and not left):
        raise RuntimeError(_incompatible(A, matrices, left))
    shape = broadcast_batches(A[:-2], matrices[:-2]) + matrices[-2:]
    return shape[:-1] if vector else shape


def triangular_shapes(A: Shape, B: Shape, left: bool) -> tuple[Shape, Shape]:
    """``A`` and ``B`` broadcast to one batch, for the system ``A X = B`` or ``X A = B``. RuntimeError for an
    ``A`` that is not square, and a ``B`` that does not fit it."""
    check_square(A)
    check_matrices(B, "B")
    if A[-1] != B[-2 if left else -1]:
        raise RuntimeError(_incompatible(A, B, left))
    batch = broadcast_batches(A[:-2], B[:-2])
    return batch + A[-2:], batch + B[-2:]


def check_pivots_shape(name: str, factors: Shape, pivots: Shape) -> None:
    """RuntimeError unless there is a pivot for each row of the square matrices ``name``."""
    if pivots != factors[:-1]:
        raise RuntimeError(
            f"Expected {name}.shape[:-1] and pivots.shape to be the same, but they are "
            f"{list(factors[:-1])} and {list(pivots)}"
        )


def _incompatible(A: Shape, B: Shape, left: bool) -> str:
    return (
        f"Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
        f"({A[-2]}x{A[-1]} and {B[-2]}x{B[-1]})"
    )


def check_uplo(UPLO: str) -> str:
    """``UPLO`` in capitals; RuntimeError unless it is L or U."""
    if UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper()


def check_qr_mode(mode: str) -> str:
    """``mode``; RuntimeError unless it is one of the three."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    return mode


def check_driver(driver: str | None) -> None:
    """RuntimeError for any choice of algorithm: there is one on this backend."""
    if driver is not None:
        raise RuntimeError(
            "keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


def check_info(info: Any, prefix: str, text: str) -> None:
    """LinAlgError, with ``text`` about the first batch element whose ``info`` is not zero.

    ``text`` may hold ``{info}``; ``info`` is an int32 array of the batch shape, and ``prefix``
    stands before all.
    """
    if not info.any():
        return
    first = int(info.ravel().nonzero()[0][0])
    where = f"{prefix}(Batch element {first}): " if info.ndim else prefix
    raise LinAlgError(where + text.format(info=int(info.ravel()[first])))


SINGULAR_INVERSE = (
    "The diagonal element {info} is zero, the inversion could not be completed because the input matrix "
    "is singular."
)
SINGULAR_SOLVE = "The solver failed because the input matrix is singular."
NOT_POSITIVE = (
    "The factorization could not be completed because the input is not positive-definite (the leading "
    "minor of order {info} is not positive-definite)."
)
ZERO_PIVOT = (
    "U[{info},{info}] is zero and using it on lu_solve would result in a division by zero. If you still want "
    "to perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)
