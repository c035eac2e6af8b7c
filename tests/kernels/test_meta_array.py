"""MetaArray beside numpy.ndarray: the same shapes, dtypes and strides, and no data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tengen.kernels.layout import contiguous_strides, is_contiguous, is_dense, preserved_strides, view_strides
from tengen.kernels.meta import backend, meta_broadcast, meta_elementwise, meta_reduced, namespace as xp
from tengen.kernels.meta.array import MetaArray, broadcast_shapes

F4, F8 = np.dtype(np.float32), np.dtype(np.float64)


def like(array: Any) -> MetaArray:
    return backend.from_numpy(array)


def same(meta: MetaArray, array: Any) -> None:
    assert (meta.shape, meta.dtype, meta.strides) == (array.shape, array.dtype, array.strides)
    assert (meta.ndim, meta.size, meta.nbytes) == (array.ndim, array.size, array.nbytes)


@pytest.mark.parametrize(
    "view",
    [
        lambda a: a.T,
        lambda a: a.transpose(2, 0, 1),
        lambda a: a.transpose((0, 2, 1)),
        lambda a: a.swapaxes(0, -1),
        lambda a: a[1],
        lambda a: a[:, 1:],
        lambda a: a[..., ::2],
        lambda a: a[1, ..., 0],
        lambda a: a[-1, 1:2, :3],
        lambda a: a[::-1],
        lambda a: a.reshape(6, 4),
        lambda a: a.reshape((4, -1)),
        lambda a: a.T.reshape(24),
        lambda a: a.ravel(),
        lambda a: a[:1].squeeze(),
        lambda a: a[:1].squeeze(0),
        lambda a: a.astype(np.float64),
        lambda a: a.T.astype(np.int16),
        lambda a: a.T.copy("K"),
        lambda a: a.T.copy(),
        lambda a: a.view(np.int32),
        lambda a: a.view(np.int16),
        lambda a: a + 1,
        lambda a: a * a[0],
        lambda a: 2 - a,
        lambda a: a < a[..., :1],
        lambda a: -a,
        lambda a: abs(a.T),
    ],
)
def test_as_numpy(view: Any) -> None:
    a = np.zeros((2, 3, 4), np.float32)
    same(view(like(a)), view(a))


def test_storage() -> None:
    a = MetaArray((4, 5), F4)
    part = a[1:, 2:]
    assert part.storage is a.storage and part.offset == 7
    assert backend.root(part).shape == (20,) and backend.nbytes(backend.root(part)) == 80
    assert backend.storage_offset(part) == 7 and backend.strides(part) == (5, 1)
    assert a.copy().storage is not a.storage
    window = backend.as_strided(part, (2, 2), (1, 1), 3)
    assert window.offset == 3 and window.storage is a.storage
    complex_ = MetaArray((3,), np.dtype(np.complex64))
    assert (complex_.imag.dtype, complex_.imag.element_strides, complex_.imag.offset) == (F4, (2,), 1)


def test_namespace() -> None:
    a = MetaArray((3, 1), F4)
    assert xp.exp(a).dtype == F4
    assert xp.where(a > 0, a, 0.0).shape == (3, 1)
    assert xp.maximum(a, MetaArray((4,), F8)).dtype == F8
    assert xp.isnan(a).dtype == np.bool_
    assert xp.float32 is np.float32 and xp.pi == np.pi
    assert xp.exp(0.0) == 1


def test_elementwise() -> None:
    a, b = MetaArray((3, 1), F4), MetaArray((4,), F4)
    assert meta_elementwise(a, b).shape == (3, 4) == meta_broadcast(a, b)
    assert meta_elementwise(a, 2, None, dtype=F8).dtype == F8
    c = MetaArray((3, 2), F4).T
    assert meta_elementwise(c, c).element_strides == (1, 2)
    with pytest.raises(RuntimeError, match=r"tensor a \(3\) must match the size of tensor b \(2\)"):
        broadcast_shapes((3,), (2,))
    assert meta_reduced(MetaArray((2, 3), F4), 0, True).shape == (1, 3)
    assert meta_reduced(MetaArray((2, 3), F4)).shape == ()
    with pytest.raises(IndexError):
        meta_reduced(MetaArray((2, 3), F4), 2)


def test_no_data() -> None:
    a = MetaArray((1,), F4)
    for action in (a.item, a.__bool__, a.__int__, a.__float__, a.__index__):
        with pytest.raises(RuntimeError):
            action()
    for action in (a.tolist, a.__array__, lambda: backend.to_numpy(a), lambda: np.asarray(a)):
        with pytest.raises(NotImplementedError, match="no data"):
            action()
    with pytest.raises(RuntimeError, match="broadcast"):
        backend.copyto(a, MetaArray((2,), F4))
    with pytest.raises(TypeError):
        len(MetaArray((), F4))
    with pytest.raises(IndexError):
        a[1]
    with pytest.raises(ValueError):
        a.reshape(2)


def test_layout() -> None:
    assert contiguous_strides((2, 0, 3)) == (3, 3, 1)
    assert is_contiguous((2, 1, 3), (3, 99, 1)) and not is_contiguous((2, 3), (1, 2))
    assert is_dense((2, 3), (1, 2)) and not is_dense((2, 3), (4, 1))
    assert preserved_strides((2, 3), (4, 1)) == (3, 1)
    assert preserved_strides((2, 3, 4), (0, 1, 3)) == (12, 1, 3)
    assert view_strides((3, 4), (1, 3), (12,)) is None
    assert view_strides((3, 4), (1, 3), (3, 2, 2)) == (1, 6, 3)
    assert view_strides((), (), (1, 1)) == (1, 1)
