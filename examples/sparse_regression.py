"""Ridge regression on a sparse design matrix: a bag of words for each row, stored row by row (CSR).

    python examples/sparse_regression.py --rows 20000 --columns 2000

A row has a few of many columns, as a text has of a vocabulary, so that the matrix is stored sparse, and never
made dense. Products and gradients are those of a dense matrix; a part of the rows is computed dense, too,
and compared.
"""

from __future__ import annotations

import argparse
import time

import tengen
from tengen import Tensor


def data(rows: int, columns: int, words: int, seed: int = 0) -> tuple[Tensor, Tensor]:
    """A CSR matrix with some words in each row, and targets that a linear function of it gives.

    The matrix is (rows, columns) and stores at most ``words`` counts a row; the targets are (rows,).
    """
    tengen.manual_seed(seed)
    row = tengen.arange(rows).repeat_interleave(words)
    column = tengen.randint(0, columns, (rows * words,))
    counts = tengen.ones(rows * words, dtype=tengen.float64)
    # A word that is drawn twice counts twice: equal indices of the coordinate format add up.
    design = tengen.sparse_coo_tensor(tengen.stack([row, column]), counts, (rows, columns)).to_sparse_csr()
    truth = tengen.randn(columns, dtype=tengen.float64)
    return design, design @ truth + 0.1 * tengen.randn(rows, dtype=tengen.float64)


def loss(design: Tensor, weights: Tensor, targets: Tensor, ridge: float = 1e-3) -> Tensor:
    """The mean square of what is left, and the penalty of the weights."""
    left = design @ weights - targets
    return (left * left).mean() + ridge * (weights * weights).sum()


def fit(design: Tensor, targets: Tensor, steps: int) -> tuple[Tensor, list[float]]:
    """The weights after some steps of L-BFGS from zero, and the loss before each."""
    weights = tengen.zeros(design.shape[1], dtype=design.dtype, requires_grad=True)
    optimiser = tengen.optim.LBFGS([weights], max_iter=5, line_search_fn="strong_wolfe")
    losses: list[float] = []

    def closure() -> Tensor:
        optimiser.zero_grad()
        value = loss(design, weights, targets)
        value.backward()
        return value

    for _ in range(steps):
        losses.append(optimiser.step(closure).item())
    return weights.detach(), losses


def gradients(design: Tensor, weights: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of the loss to the values that the matrix stores, and to the weights."""
    values = design.values().clone().requires_grad_()
    weights = weights.clone().requires_grad_()
    matrix = tengen.sparse_csr_tensor(design.crow_indices(), design.col_indices(), values, design.shape)
    loss(matrix, weights, targets).backward()
    assert values.grad is not None and weights.grad is not None
    return values.grad, weights.grad


def difference(design: Tensor, weights: Tensor, targets: Tensor) -> float:
    """How far the two gradients are from those of the dense matrix, at most."""
    dense, at = design.to_dense().requires_grad_(), weights.clone().requires_grad_()
    loss(dense, at, targets).backward()
    assert dense.grad is not None and at.grad is not None
    stored = design.to_sparse_coo().indices()
    expected = (dense.grad[stored[0], stored[1]], at.grad)
    found = gradients(design, weights, targets)
    return max((a - b).abs().max().item() for a, b in zip(found, expected, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit a linear function of a sparse matrix.")
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=2_000)
    parser.add_argument("--words", type=int, default=10, help="drawn for each row")
    parser.add_argument("--steps", type=int, default=5, help="each is up to 5 iterations of L-BFGS")
    given = parser.parse_args()
    design, targets = data(given.rows, given.columns, given.words)
    stored = design.values().numel()
    print(f"{stored} of {given.rows * given.columns} elements are stored")
    began = time.perf_counter()
    weights, losses = fit(design, targets, given.steps)
    print("losses", *[f"{value:.4g}" for value in losses], f"in {time.perf_counter() - began:.1f} s")
    few, their = data(200, given.columns, given.words)
    print(f"gradients differ from the dense ones by {difference(few, weights, their):.1e} at most")


if __name__ == "__main__":
    main()
