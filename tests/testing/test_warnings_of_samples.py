"""What samples warn of is declared, or is a failure."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from tengen.testing.aspects import Case, in_first_dtype, undeclared_warnings
from tengen.testing.failure import Failure


def case_of(name: str) -> Case:
    return next(in_first_dtype(name))


def test_what_is_declared_passes() -> None:
    with undeclared_warnings(case_of("adjoint")):
        warnings.warn("Tensor.mH is deprecated on 0-D tensors.", UserWarning, stacklevel=1)


@pytest.mark.parametrize("name", ["adjoint", "mul.Tensor"])
def test_what_is_not_declared_is_a_failure(name: str) -> None:
    with (
        pytest.raises(Failure, match=f"{name} warns: it is late") as caught,
        undeclared_warnings(case_of(name)),
    ):
        warnings.warn("it is late", UserWarning, stacklevel=1)
    assert "warns" in caught.value.help


def test_numpy_is_heard_where_it_speaks_for_itself() -> None:
    with pytest.raises(Failure, match="Mean of empty slice"), undeclared_warnings(case_of("mul.Tensor")):
        np.mean(np.ones(0))
