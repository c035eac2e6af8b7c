"""Copies in row-major order have the elements of what they are copied from, whatever its layout."""

from __future__ import annotations

from itertools import permutations

import ml_dtypes
import numpy as np
import pytest

from tengen.kernels.copies import copy_in_rows, in_rows

DTYPES = [np.bool_, np.uint8, np.float16, ml_dtypes.bfloat16, np.float32, np.float64, np.complex128]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "shape", [(70, 130), (3, 40, 75), (40, 2, 65), (0, 5), (1, 4000), (4000, 1), (5,), ()]
)
def test_every_order_of_dims(dtype: type, shape: tuple[int, ...]) -> None:
    a = (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 101).astype(dtype)
    for order in permutations(range(len(shape))):
        turned = a.transpose(order)
        for given in (turned, turned[..., ::-1] if shape else turned, turned[::2] if shape else turned):
            found = copy_in_rows(given)
            assert found.flags.c_contiguous and found.flags.owndata
            assert (found.dtype, found.shape) == (given.dtype, given.shape)
            np.testing.assert_array_equal(found, given)


def test_repeated_elements() -> None:
    repeated = np.broadcast_to(np.arange(90.0), (80, 90)).T
    np.testing.assert_array_equal(copy_in_rows(repeated), repeated)


def test_what_is_in_order_is_not_copied() -> None:
    a = np.ones((70, 130))
    assert in_rows(a) is a
    assert in_rows(a.T).flags.c_contiguous
