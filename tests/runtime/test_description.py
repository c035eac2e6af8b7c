"""What a tensor says of its shape, memory, type and place."""

from __future__ import annotations

import pytest

import tengen


def make():
    return tengen.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_shape():
    x = make()
    assert x.shape == x.size() == (2, 3) and type(x.shape) is tengen.Size
    assert x.size(0) == 2 and x.size(-1) == 3
    assert x.ndim == x.dim() == x.ndimension() == 2
    assert x.numel() == x.nelement() == 6
    assert x.is_same_size(tengen.zeros(2, 3)) and not x.is_same_size(x[0])
    with pytest.raises(IndexError, match=r"Dimension out of range \(expected to be in range of \[-2, 1\]"):
        x.size(5)
    with pytest.raises(IndexError, match="Dimension specified as 0 but tensor has no dimensions"):
        x[0, 0].size(0)


def test_memory():
    x = make()
    row = x[1]
    assert x.stride() == (3, 1) and x.stride(0) == 3 and x.t().stride() == (1, 3)
    assert row.storage_offset() == 3 and row.data_ptr() == x.data_ptr() + 12
    assert x.element_size() == x.itemsize == 4 and x.nbytes == 24
    assert x.is_contiguous() and not x.t().is_contiguous() and x[:, :1].t().is_contiguous() is False
    with pytest.raises(IndexError):
        x.stride(7)


def test_memory_formats():
    image = tengen.zeros(2, 3, 4, 5)
    assert not image.is_contiguous(memory_format=tengen.channels_last)
    assert image.permute(0, 3, 1, 2).is_contiguous(memory_format=tengen.channels_last)
    assert not make().is_contiguous(memory_format=tengen.channels_last)
    assert image.is_contiguous(memory_format=tengen.preserve_format)
    assert not image.mT.is_contiguous(memory_format=tengen.preserve_format)


def test_storage_is_shared_by_views():
    x = make()
    storage = x.untyped_storage()
    assert storage is x.untyped_storage() is x[1].untyped_storage() is x.detach().untyped_storage()
    assert storage.nbytes() == len(storage) == storage.size() == 24
    assert storage.data_ptr() == x.data_ptr() and storage.device == tengen.device("cpu")
    assert storage[3] == 63 and storage.tolist()[:4] == [0, 0, 128, 63]
    assert tengen.is_storage(storage) and repr(storage).endswith("of size 24]")
    assert tengen.zeros(2, device="meta").untyped_storage().nbytes() == 8


def test_is_set_to():
    x = make()
    assert x.is_set_to(x.view(2, 3)) and not x.is_set_to(x.t()) and not x.is_set_to(make())


def test_type():
    x = make()
    assert x.dtype is tengen.float32 and x.device == tengen.device("cpu") and x.layout is tengen.strided
    assert x.type() == "tengen.FloatTensor" == tengen.typename(x)
    assert tengen.zeros(2, device="meta").type() == "tengen.meta.FloatTensor"
    assert x.type(tengen.int8).dtype is tengen.int8
    assert x.type("tengen.DoubleTensor").dtype is tengen.float64
    with pytest.raises(ValueError, match="invalid type: 'foo'"):
        x.type("foo")
    assert x.is_floating_point() and not x.is_complex() and x.is_signed()
    assert x.is_cpu and not (x.is_meta or x.is_cuda or x.is_sparse or x.is_quantized or x.is_nested)
    assert x.get_device() == -1
    assert x.cpu() is x and x.resolve_conj() is x and x.resolve_neg() is x


def test_questions():
    x = make()
    assert tengen.is_tensor(x) and not tengen.is_tensor([1])
    assert tengen.numel(x) == 6 and tengen.is_floating_point(x) and not tengen.is_complex(x)
    assert tengen.is_nonzero(tengen.tensor([1])) and tengen.is_same_size(x, x)
    with pytest.raises(
        TypeError, match=r"numel\(\): argument 'input' \(position 1\) must be Tensor, not int"
    ):
        tengen.numel(1)


def test_transposes():
    x = tengen.tensor([[1 + 1j, 2], [3, 4]])
    assert x.T.tolist() == x.mT.tolist() == [[1 + 1j, 3], [2, 4]]
    assert x.H.tolist() == x.mH.tolist() == x.adjoint().tolist() == [[1 - 1j, 3], [2, 4]]
    batch = tengen.zeros(2, 3, 4)
    assert batch.mT.shape == (2, 4, 3)
    with pytest.warns(UserWarning, match="`x.T` on tensors of dimension other than 2"):
        assert batch.T.shape == (4, 3, 2)
    with pytest.raises(
        RuntimeError, match=r"tensor.H is only supported on matrices \(2-D tensors\). Got 3-D"
    ):
        batch.H  # noqa: B018
    with pytest.raises(RuntimeError, match=r"tensor.mT is only supported on matrices or batches of matrices"):
        batch[0, 0].mT  # noqa: B018
    with pytest.warns(UserWarning, match="deprecated on 0-D tensors"):
        batch[0, 0, 0].T  # noqa: B018


def test_parts():
    x = tengen.tensor([1 + 2j, 3 - 4j])
    assert x.real.tolist() == [1, 3] and x.imag.tolist() == [2, -4]
    x.imag = x.real
    assert x.tolist() == [1 + 1j, 3 + 3j]
    assert make().real.tolist() == make().tolist()
    with pytest.raises(RuntimeError, match="imag"):
        make().imag  # noqa: B018


def test_strides_of_empty_tensors():
    assert tengen.zeros(3, 0).stride() == (1, 1) and tengen.zeros(0, 3).stride() == (3, 1)
    assert tengen.zeros(2, 3)[:, :0].stride() == (3, 1)
    assert tengen.zeros(0).data_ptr() == 0


def test_subclasses():
    class Special(tengen.Tensor):
        pass

    x = tengen.tensor([1.0, 2.0], requires_grad=True)
    y = x.as_subclass(Special)
    assert type(y) is Special and y.requires_grad and y.data_ptr() == x.data_ptr()
    made = tengen.Tensor._make_subclass(Special, x, True)
    assert made.is_leaf and made.requires_grad and repr(made) == "Special([1., 2.], requires_grad=True)"
    assert type(Special([1, 2])) is Special


def test_questions_that_are_functions_too() -> None:
    for dtype, signed in (
        (tengen.uint8, False),
        (tengen.bool, False),
        (tengen.int8, True),
        (tengen.float32, True),
    ):
        assert tengen.is_signed(tengen.zeros(2, dtype=dtype)) is signed
    x = tengen.zeros(2)
    assert (tengen.is_conj(x), tengen.is_neg(x), tengen.get_device(x)) == (False, False, -1)
    for name in ("is_signed", "is_conj", "is_neg", "get_device"):
        with pytest.raises(TypeError, match=f"{name}.*argument 'input'.*must be Tensor, not int"):
            getattr(tengen, name)(1)
