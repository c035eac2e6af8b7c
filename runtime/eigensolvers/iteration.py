"""The steps of LOBPCG.

A step takes the best approximations (Rayleigh and Ritz) out of the space that ``S`` spans: the approximations
``X``, the directions ``P`` of the step before, and the preconditioned residuals ``W``. Pairs that have
converged, up to the first that has not, bring no more residuals. ``"ortho"`` leaves them out, for the rest of
the basis is orthogonal to them; ``"basic"`` keeps them in, or it would find them again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tengen.generated import functions, linalg_functions

from ..tensors.tensor import Tensor


def apply(matrix: Tensor | None, columns: Tensor) -> Tensor:
    """The product of a matrix, strided or sparse, with columns; None is the identity."""
    return columns if matrix is None else matrix @ columns


def quadratic_form(matrix: Tensor | None, columns: Tensor) -> Tensor:
    """``columns^H matrix columns``."""
    return columns.mH @ apply(matrix, columns)


def eigenpairs(matrix: Tensor, largest: bool) -> tuple[Tensor, Tensor]:
    """All eigenvalues and eigenvectors of a small Hermitian matrix, the wanted ones first."""
    values, vectors = linalg_functions.eigh(matrix, UPLO="U")
    return (values.flip(-1), vectors.flip(-1)) if largest else (values, vectors)


def _norm(columns: Tensor) -> float:
    return float(linalg_functions.vector_norm(columns.detach()))


class LOBPCG:
    """One run for one matrix; ``tracker`` is called with it after each step.

    ``iparams``, ``fparams`` and ``bparams`` are the parameters, ``ivars``, ``fvars``, ``bvars`` and
    ``tvars`` what changes, by types: ``ivars["istep"]`` and ``ivars["iterations_left"]`` count steps,
    ``ivars["converged_count"]`` is how many of the first pairs have converged, and ``tvars["rerr"]`` has
    the relative residuals. ``E`` and ``X`` are the approximations, ``R`` the residuals and ``S`` the basis,
    of which the first ``ivars["converged_end"]`` columns count.
    """

    def __init__(
        self,
        A: Tensor,
        B: Tensor | None,
        X: Tensor,
        iK: Tensor | None,
        iparams: dict[str, int],
        fparams: dict[str, float],
        bparams: dict[str, bool],
        method: str,
        tracker: Callable[[LOBPCG], Any] | None,
    ) -> None:
        self.A, self.B, self.iK = A, B, iK
        self.iparams, self.fparams, self.bparams = iparams, fparams, bparams
        self.method = method
        self.tracker = tracker
        m, n = iparams["m"], iparams["n"]
        self.X = X
        self.E = X.new_zeros(n)
        self.R = X.new_zeros(m, n)
        self.S = X.new_zeros(m, 3 * n)
        self.tvars: dict[str, Tensor] = {}
        self.ivars: dict[str, int] = {"istep": 0}
        self.fvars: dict[str, float] = {"_": 0.0}
        self.bvars: dict[str, bool] = {"_": False}

    def __str__(self) -> str:
        names = (
            "iparams",
            "fparams",
            "bparams",
            "ivars",
            "fvars",
            "bvars",
            "tvars",
            "A",
            "B",
            "iK",
            "X",
            "E",
        )
        return "".join(["LOBPCG:\n", *[f"  {name}={getattr(self, name)}\n" for name in names]])

    def run(self) -> None:
        """Make steps until there is a reason to stop."""
        self.update()
        self.call_tracker()
        while not self.stop_iteration():
            self.update()
            self.call_tracker()

    def call_tracker(self) -> None:
        """Call the tracker, if there is one."""
        if self.tracker is not None:
            self.tracker(self)

    def stop_iteration(self) -> bool:
        """Whether the tracker wants it, no step is left, or enough pairs have converged."""
        return (
            self.bvars.get("force_stop", False)
            or self.ivars["iterations_left"] == 0
            or self.ivars["converged_count"] >= self.iparams["k"]
        )

    def update(self) -> None:
        """Make a step."""
        first = self.ivars["istep"] == 0
        if first:
            self._set_scales()
            self.ivars |= {
                "iterations_left": self.iparams["niter"],
                "converged_count": 0,
                "converged_end": 0,
            }
        if self.method == "ortho":
            self._first_ortho() if first else self._next_ortho()
        else:
            self._first_basic() if first else self._next_basic()
        self.ivars["iterations_left"] -= 1
        self.ivars["istep"] += 1

    def _set_scales(self) -> None:
        """The norms of the first approximation, and estimates of those of the matrices."""
        norm = _norm(self.X)
        if norm == 0:
            raise ZeroDivisionError("lobpcg: expected an X that is not zero, but its norm is 0.0")
        self.fvars["X_norm"] = norm
        self.fvars["A_norm"] = _norm(apply(self.A, self.X)) / norm
        self.fvars["B_norm"] = _norm(apply(self.B, self.X)) / norm

    def update_residual(self) -> None:
        """Compute the residuals of all pairs."""
        self.R = apply(self.A, self.X) - apply(self.B, self.X) * self.E

    def update_converged_count(self) -> int:
        """Count the pairs that have converged, from the first to one that has not, and return how many.

        The criterion is backward stable: the residual's norm over that of the vector and of the matrices. The
        count may be less than it was: rounding moves what was just below the tolerance.
        """
        scales = self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"]
        errors = linalg_functions.vector_norm(self.R, 2, 0)
        errors = errors / (linalg_functions.vector_norm(self.X, 2, 0) * scales)
        tol = self.fparams["tol"]
        count = 0
        for error in errors.detach().tolist():
            if not error < tol:
                break
            count += 1
        self.ivars["converged_count"] = count
        self.tvars["rerr"] = errors
        return count

    # -- the method "basic"

    def _first_basic(self) -> None:
        values, vectors = self._ritz_pairs(self.X)
        self.X = self.X @ vectors
        self.E = values.to(self.X.dtype)
        self._set_basis(None)

    def _next_basic(self) -> None:
        done, end, n = self.ivars["converged_count"], self.ivars["converged_end"], self.iparams["n"]
        basis = self.S[:, :end]
        values, vectors = self._ritz_pairs(basis, 2 * n - done)
        found = basis @ vectors
        self.X = found[:, :n]
        self.E = values[:n].to(self.X.dtype)
        self._set_basis(found[:, n:])

    def _ritz_pairs(self, basis: Tensor, count: int | None = None) -> tuple[Tensor, Tensor]:
        """The eigenvalues in what ``basis`` spans, and coefficients of the first ``count`` eigenvectors."""
        transform = self._rayleigh_ritz_transform(basis)
        reduced = quadratic_form(quadratic_form(self.A, basis), transform)
        values, vectors = eigenpairs(reduced, self.bparams["largest"])
        return values, transform @ vectors[:, :count]

    def _set_basis(self, directions: Tensor | None) -> None:
        """Compute residuals; put approximations, directions and preconditioned residuals into the basis."""
        self.update_residual()
        done, n = self.update_converged_count(), self.iparams["n"]
        self._fill_basis(directions)
        used = n if directions is None else n + directions.shape[-1]
        # In the first step all residuals, in the others those of pairs that have not converged.
        self._append(apply(self.iK, self.R if directions is None else self.R[:, done:]), used)

    def _fill_basis(self, directions: Tensor | None) -> None:
        n = self.iparams["n"]
        self.S[:, :n] = self.X
        if directions is not None:
            self.S[:, n : n + directions.shape[-1]] = directions

    def _append(self, residuals: Tensor, used: int) -> None:
        end = used + residuals.shape[-1]
        self.S[:, used:end] = residuals
        self.ivars["converged_end"] = end

    def _rayleigh_ritz_transform(self, basis: Tensor) -> Tensor:
        """The triangular matrix that makes a basis orthonormal, by a Cholesky factorization.

        What is factorized has ones on its diagonal: it is scaled from both sides.
        """
        gram = quadratic_form(self.B, basis)
        scale = gram.diagonal(0, -2, -1) ** -0.5
        factor = linalg_functions.cholesky(gram * scale * scale.unsqueeze(-1), upper=True)
        return linalg_functions.solve_triangular(factor, scale.diag_embed(), upper=True, left=False)

    # -- the method "ortho"

    def _first_ortho(self) -> None:
        self.X = self.X @ self._ritz_pairs(self.X)[1]
        # The values stay 0 until the second step, so that nothing has converged in the first one.
        self._set_orthogonal_basis(None)

    def _next_ortho(self) -> None:
        done, end, n = self.ivars["converged_count"], self.ivars["converged_end"], self.iparams["n"]
        basis = self.S[:, done:end]
        values, vectors = eigenpairs(quadratic_form(self.A, basis), self.bparams["largest"])
        left = n - done
        self.X[:, done:] = basis @ vectors[:, :left]
        self.E[done:] = values[:left]
        rest = vectors[:, left:]
        self._set_orthogonal_basis(basis @ (rest @ linalg_functions.qr(rest[:left].mH).Q))

    def _set_orthogonal_basis(self, directions: Tensor | None) -> None:
        """As ``_set_basis``; the residuals are made orthogonal to the rest, and no preconditioner is used."""
        self.update_residual()
        done, n = self.update_converged_count(), self.iparams["n"]
        self._fill_basis(directions)
        if directions is None:
            self._append(self._orthogonalized(self.R, self.X), n)
        else:
            used = n + directions.shape[-1]
            self._append(self._orthogonalized(self.R[:, done:], self.S[:, :used]), used)

    def _orthogonalized(self, U: Tensor, V: Tensor) -> Tensor:
        """Orthonormal columns that span, with ``V``, what ``U`` and ``V`` do; none where ``V`` spans it all.

        Algorithms 3 and 6 of J. A. Duersch's thesis (2015), the latter with ``ortho_use_drop``: what ``V``
        spans is taken away and the rest made orthonormal, until rounding is all that is left.
        """
        self._forget_errors()
        tol = self.fparams["ortho_tol"]
        norm_BV = _norm(apply(self.B, V))
        overlap = V.mH @ apply(self.B, U)
        i = j = 0
        for i in range(self.iparams["ortho_i_max"]):
            U, j = self._orthonormalized(U - V @ overlap, i)
            if U.numel() == 0:
                break
            overlap = V.mH @ apply(self.B, U)
            error = _norm(overlap) / (norm_BV * _norm(U))
            self.fvars[f"ortho_VBU_rerr[{i}]"] = error
            if error < tol:
                break
            if self.iparams["m"] < U.shape[-1] + V.shape[-1]:
                raise ValueError(
                    f"Overdetermined shape of U: #B-cols(={self.iparams['m']}) >= #U-cols(={U.shape[-1]}) + "
                    f"#V-cols(={V.shape[-1]}) must hold"
                )
        self.ivars["ortho_i"], self.ivars["ortho_j"] = i, j
        return U

    def _forget_errors(self) -> None:
        """Forget what the orthogonalization of the step before has said."""
        for name in [name for name in self.fvars if name.startswith("ortho_")]:
            del self.fvars[name]
        self.ivars.pop("ortho_i", None)
        self.ivars.pop("ortho_j", None)

    def _orthonormalized(self, U: Tensor, i: int) -> tuple[Tensor, int]:
        """Orthonormal columns that span what ``U`` does, and how often it took."""
        drops = self.bparams["ortho_use_drop"]
        j = 0
        for j in range(self.iparams["ortho_j_max"]):
            # What is small is replaced at first, and dropped when it is still small.
            tau = self.fparams["ortho_tol_drop" if drops and j == 0 else "ortho_tol_replace"]
            U = self._svqb(U, drops and j > 0, tau)
            if U.numel() == 0:
                break
            BU = apply(self.B, U)
            gram = U.mH @ BU
            error = _norm(gram - functions.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device))
            error /= _norm(BU) * _norm(U)
            self.fvars[f"ortho_UBUmI_rerr[{i}, {j}]"] = error
            if error < self.fparams["ortho_tol"]:
                break
        return U, j

    def _svqb(self, U: Tensor, drop: bool, tau: float) -> Tensor:
        """Orthonormal columns by the eigenvectors of the Gram matrix (A. Stathopoulos and K. Wu, 2002).

        Eigenvalues below ``tau`` times the largest one are replaced by that, or their columns dropped.
        Columns of zeros are dropped always.
        """
        if U.numel() == 0:
            return U
        gram = quadratic_form(self.B, U)
        squares = gram.diagonal(0, -2, -1)
        kept = (squares != 0).nonzero().squeeze(-1)
        if kept.numel() < squares.numel():
            U, gram, squares = U[:, kept], gram[kept][:, kept], squares[kept]
            if U.numel() == 0:
                return U
        scale = squares**-0.5
        values, vectors = eigenpairs(gram * scale * scale.unsqueeze(-1), False)
        least = tau * values.abs().max()
        if drop:
            kept = (values > least).nonzero().squeeze(-1)
            values, vectors = values[kept], vectors[:, kept]
        else:
            values = functions.where(values < least, least, values)
        return (U * scale) @ (vectors * values**-0.5)
