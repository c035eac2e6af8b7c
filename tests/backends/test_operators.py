"""Every operator's samples, with gradients, on the backend of examples/array_api_backend."""

from __future__ import annotations

import pytest

import tengen
from tengen.testing.backends import LACKS, run_on, tried

OPERATORS = tried()
#: What arrays without strides cannot have, and an operator that `lstm` and the like do without.
LACKING = frozenset({"as_strided", "as_strided_copy", "slice_inverse", "_rnn_layer"})


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_it_does_as_on_the_cpu(name: str, strict: str) -> None:
    outcome = run_on(strict, OPERATORS[name])
    assert (outcome == LACKS) == (name in LACKING)


def test_what_is_lacking_names_operator_and_backend(strict: str) -> None:
    with pytest.raises(NotImplementedError, match=r'"as_strided" not implemented for \'Float\' \(Strict\)'):
        tengen.ones(2, device=strict).as_strided((1,), (1,))
