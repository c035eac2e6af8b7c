"""Eigenvalues of large symmetric matrices, of which only products with vectors are taken.

``lobpcg`` is the Locally Optimal Block Preconditioned Conjugate Gradient method (A. V. Knyazev, SIAM J. Sci.
Comput. 23(2), 2001), in the robust form of J. A. Duersch, M. Shao, C. Yang and M. Gu (SIAM J. Sci. Comput.
40(5), 2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tengen.generated import functions, scalar_types

from ..core.scalar_type import dtype as DType
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from .iteration import LOBPCG

#: What PyTorch takes as the precision, of which the tolerance is the square root.
_PRECISION = {"float64": 2.23e-16}
_SINGLE_PRECISION = 1.2e-07


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[[LOBPCG], Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The ``k`` largest eigenvalues of ``A``, or of ``A x = lambda B x``, and their eigenvectors.

    ``A`` is a symmetric positive definite matrix of shape (..., m, m), strided or sparse, and so is ``B``, by
    default the identity. The eigenvalues have shape (..., k), in descending order, and the eigenvectors, in
    columns, (..., m, k). With ``largest=False`` they are the least ones, in ascending order.

    It starts from ``X`` of shape (..., m, n), by default of ``n`` random columns (``k`` if ``n`` is not
    given), and stops when ``k`` pairs have a relative residual below ``tol``, or after ``niter`` steps
    (1000; -1 for any number). ``k`` is by default the number of columns of ``X``, or 1. ``method`` is
    ``"ortho"``, which keeps the basis orthogonal, or ``"basic"``, whose steps take less time, but are more,
    and may fail; to the latter ``iK`` of shape (m, m) is a preconditioner. ``tracker`` is called with the
    solver after each step. The solver's ``ivars``, ``fvars`` and ``tvars`` say how far it is, and
    ``bvars["force_stop"] = True`` ends it. The last three arguments set ``ortho_i_max``, ``ortho_j_max``,
    ``ortho_tol``, ``ortho_tol_drop``, ``ortho_tol_replace`` and ``ortho_use_drop`` of the method
    ``"ortho"``.

    Gradients flow to a strided real ``A`` where there is no ``B``, and are symmetric. The backward pass
    raises ValueError otherwise. Raises ValueError for ``m < 3 * n``, AssertionError for shapes that do not
    fit, RuntimeError for dtypes that do not, ZeroDivisionError for an ``X`` of zeros, LinAlgError where the
    basis degenerates, TypeError where ``A`` is no Tensor.
    """
    if not isinstance(A, Tensor):
        raise TypeError(f"lobpcg(): argument 'A' (position 1) must be Tensor, not {type(A).__name__}")
    options = (niter, tol, largest, method, tracker, ortho_iparams, ortho_fparams, ortho_bparams)
    if A.requires_grad or (B is not None and B.requires_grad):
        from .gradients import LOBPCGAutogradFunction

        # Of what is symmetric, so that the gradient is symmetric, too.
        symmetric = None if B is None else (B + B.mT) / 2
        found: tuple[Tensor, Tensor] = LOBPCGAutogradFunction.apply(
            (A + A.mT) / 2, k, symmetric, X, n, iK, *options
        )
        return found
    return solve(A, k, B, X, n, iK, *options)


def solve(
    A: Tensor,
    k: int | None,
    B: Tensor | None,
    X: Tensor | None,
    n: int | None,
    iK: Tensor | None,
    niter: int | None,
    tol: float | None,
    largest: bool | None,
    method: str | None,
    tracker: Callable[[LOBPCG], Any] | None,
    ortho_iparams: dict[str, int] | None,
    ortho_fparams: dict[str, float] | None,
    ortho_bparams: dict[str, bool] | None,
) -> tuple[Tensor, Tensor]:
    """``lobpcg`` without its gradient."""
    from .iteration import LOBPCG

    if A.ndim < 2:
        raise IndexError(f"lobpcg: expected A to have at least 2 dimensions, but got shape {A.shape}")
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    dtype = A.dtype if A.dtype.is_floating_point and A.dtype.name != "bfloat16" else scalar_types.float32
    m = A.shape[-1]
    if k is None:
        k = 1 if X is None else X.shape[-1]
    n = X.shape[-1] if X is not None else k if n is None else n
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the "
            f"number of requested eigenpairs (={n})"
        )
    method = "ortho" if method is None else method
    iparams = {"m": m, "n": n, "k": k, "niter": 1000 if niter is None else niter}
    fparams = {"tol": math.sqrt(_PRECISION.get(dtype.name, _SINGLE_PRECISION)) if tol is None else tol}
    bparams = {"largest": True if largest is None else largest}
    if method == "ortho":
        tol = fparams["tol"]
        tolerances = {"ortho_tol": tol, "ortho_tol_drop": tol, "ortho_tol_replace": tol}
        iparams |= {"ortho_i_max": 3, "ortho_j_max": 3} | (ortho_iparams or {})
        fparams |= tolerances | (ortho_fparams or {})
        bparams |= {"ortho_use_drop": False} | (ortho_bparams or {})

    def run(A: Tensor, B: Tensor | None, X: Tensor | None) -> tuple[Tensor, Tensor]:
        start = _start(X, m, n, dtype, A)
        solver = LOBPCG(A, B, start, iK, iparams, fparams, bparams, method, tracker)
        solver.run()
        return solver.E[:k], solver.X[:, :k]

    if A.ndim == 2:
        return run(A, B, X)
    batch = tuple(A.shape[:-2])
    count = math.prod(batch)
    matrices = A.reshape(count, m, m)
    others = [None] * count if B is None else B.reshape(count, m, m)
    starts = [None] * count if X is None else X.reshape(count, *X.shape[-2:])
    dtype = dtype if X is None else X.dtype
    values = functions.empty((count, k), dtype=dtype, device=A.device)
    vectors = functions.empty((count, m, k), dtype=dtype, device=A.device)
    for i in range(count):
        iparams["batch_index"] = i
        values[i], vectors[i] = run(matrices[i], others[i], starts[i])
    return values.reshape(*batch, k), vectors.reshape(*batch, m, k)


def _start(X: Tensor | None, m: int, n: int, dtype: DType, A: Tensor) -> Tensor:
    """The first approximation: a copy of what was given, for it is written over, or random columns."""
    if X is None:
        return functions.randn((m, n), dtype=dtype, device=A.device)
    if tuple(X.shape) != (m, n):
        raise AssertionError(f"X shape mismatch: got {X.shape}, expected {(m, n)}")
    return X.clone()
