"""Every operator's samples, with gradients, on the backends of array libraries.

On that of examples/array_api_backend always; on Dask's and JAX's where these are installed. JAX compiles for
each shape, and takes minutes for all: every tenth is run, and all with ``BACKENDS=all`` in the environment.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest

import tengen
from tengen.testing.backends import LACKS, run_on, tried

OPERATORS = tried()
#: What arrays without strides cannot have, and operators that `lstm` and others do without.
LACKING = frozenset(
    {
        "as_strided",
        "as_strided_copy",
        "slice_inverse",
        "_rnn_layer",
        "_fused_gru_cell",
        "_fused_lstm_cell",
    }
)


def cases() -> Iterator[tuple[str, str]]:
    """The devices, and the operators that are run there."""
    for device, step in (
        ("strict", 1),
        ("dask", 1),
        ("jax", 1 if os.environ.get("BACKENDS") == "all" else 10),
    ):
        if device == "strict" or importlib.util.find_spec(device) is not None:
            yield from ((device, name) for name in sorted(OPERATORS)[::step])


def in_one_thread(device: str) -> AbstractContextManager[object]:
    """Dask computes in this thread: its own mostly wait for each other over a few elements."""
    if device != "dask":
        return nullcontext()
    import dask

    return dask.config.set(scheduler="synchronous")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("device", "name"), list(cases()))
def test_it_does_as_on_the_cpu(device: str, name: str, strict: str) -> None:
    with in_one_thread(device):
        outcome = run_on(device, OPERATORS[name])
    assert (outcome == LACKS) == (name in LACKING)


def test_what_is_lacking_names_operator_and_backend(strict: str) -> None:
    with pytest.raises(NotImplementedError, match=r'"as_strided" not implemented for \'Float\' \(Strict\)'):
        tengen.ones(2, device=strict).as_strided((1,), (1,))
