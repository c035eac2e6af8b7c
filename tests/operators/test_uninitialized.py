"""What new memory holds in deterministic mode, of all operators whose results nobody has written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.kernels.uninitialized import unwritten
from tengen.testing.declared import calls, dtypes_of, has_values, limited_dtypes_of, operators, run

NAMES = [name for name, operator in operators().items() if not has_values(operator)]
SIZES = (2, 3)


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    tengen.use_deterministic_algorithms(True)
    yield
    tengen.use_deterministic_algorithms(False)
    tengen.utils.deterministic.fill_uninitialized_memory = True


def is_filled(made: Any) -> bool:
    """Whether all elements are what such memory is filled with."""
    if made.dtype.is_floating_point or made.dtype.is_complex:
        parts = tengen.view_as_real(made.to(tengen.complex64))
        return bool(parts[..., 0].isnan().all()) and not parts[..., 1].any()
    return bool(
        (made.numpy() == (True if made.dtype is tengen.bool else np.iinfo(made.numpy().dtype).max)).all()
    )


def dtypes(name: str) -> list[tengen.dtype]:
    """The scalar types of an operator; a composite's are those of what it makes."""
    operator = operators()[name]
    found = [*dtypes_of(operator), *limited_dtypes_of(operator)]
    return found or dtypes("empty.memory_format")


@pytest.mark.parametrize("name", NAMES)
def test_operators_fill_what_they_make(name: str) -> None:
    at = next(i for i, a in enumerate(operators()[name].schema.arguments) if a.name == "dtype")
    for call in calls(name):
        for dtype in dtypes(name):
            given = [*call.tensors(tengen.float32)]
            given[at] = dtype
            made = run(name, given)
            assert made.dtype is dtype and is_filled(made), (call, dtype)


MAKERS: dict[str, Callable[[Any], Any]] = {
    "Tensor(sizes)": lambda m: m.Tensor(*SIZES),
    "new(sizes)": lambda m: m.zeros(1, dtype=m.int16).new(*SIZES),
    "out of another size": lambda m: m.empty(SIZES, out=m.zeros(0)),
    "out of this size": lambda m: m.empty(SIZES, out=m.zeros(SIZES)),
    "empty_like of another order": lambda m: m.empty_like(m.zeros(3, 2).t()),
    "empty_like of a nested tensor": lambda m: m.empty_like(
        m.nested.nested_tensor([m.zeros(2), m.zeros(3)], layout=m.jagged)
    ).values(),
    "resize_": lambda m: m.zeros(2).resize_(7)[2:],
    "resize_ in a memory format": lambda m: m.zeros(2).resize_(
        (2, 2, 2, 2), memory_format=m.channels_last
    ).permute(0, 2, 3, 1).flatten()[2:],
    "resize_ of a view": lambda m: m.zeros(4)[1:3].resize_(7)[3:],
    "resize_as_": lambda m: m.zeros(2, dtype=m.uint8).resize_as_(m.zeros(7))[2:],
    "to_empty": lambda m: m.nn.Linear(2, 2, device="meta").to_empty(device="cpu").weight.detach(),
    "skip_init": lambda m: m.nn.utils.skip_init(m.nn.Linear, 2, 2).weight.detach(),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:An output with")
@pytest.mark.parametrize("name", MAKERS)
def test_whatever_makes_new_memory_fills_it(name: str) -> None:
    assert is_filled(MAKERS[name](tengen))


def test_what_was_there_stays() -> None:
    assert tengen.ones(2).resize_(4)[:2].tolist() == [1, 1]
    assert tengen.ones(4).resize_(2).resize_(4).tolist() == [1, 1, 1, 1]


def test_only_where_both_ask_for_it() -> None:
    def fills() -> bool:
        return is_filled(tengen.from_numpy(unwritten(np.zeros(2))))

    assert fills()
    tengen.utils.deterministic.fill_uninitialized_memory = False
    assert not fills()
    tengen.utils.deterministic.fill_uninitialized_memory = True
    assert fills()
    tengen.use_deterministic_algorithms(False)
    assert not fills()
    tengen.use_deterministic_algorithms(True, warn_only=True)
    assert fills()


def test_the_switch_is_a_bool() -> None:
    with pytest.raises(RuntimeError, match="expected a bool, but got int"):
        tengen.utils.deterministic.fill_uninitialized_memory = 1  # type: ignore[assignment]
    assert tengen.utils.deterministic.fill_uninitialized_memory is True


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_torch_fills_it_so() -> None:
    import torch

    torch.use_deterministic_algorithms(True)
    try:
        for name, make in MAKERS.items():
            ours, theirs = make(tengen), make(torch)
            assert str(ours.dtype).partition(".")[2] == str(theirs.dtype).partition(".")[2], name
            np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), name)
    finally:
        torch.use_deterministic_algorithms(False)
