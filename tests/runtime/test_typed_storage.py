"""``Tensor.storage()``: memory as elements."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.core import held_memory


@pytest.mark.parametrize(
    "dtype", [tengen.float32, tengen.int64, tengen.bool, tengen.complex64, tengen.bfloat16]
)
def test_it_is_the_whole_memory_of_a_view(dtype: tengen.dtype) -> None:
    base = tengen.arange(6).to(dtype)
    found = base.view(2, 3)[1].storage()
    assert (found.dtype, found.size(), len(found)) == (dtype, 6, 6)
    assert found.tolist() == base.tolist() == list(found)
    assert found.nbytes() == 6 * dtype.itemsize == 6 * found.element_size()
    assert found.data_ptr() == base.data_ptr()
    found[4] = 0
    assert base[4].item() == 0
    found[:2] = [1, 1]
    assert base[:2].tolist() == [1, 1]
    found.fill_(1)
    assert base.tolist() == [1] * 6


def test_storages_of_their_own() -> None:
    assert tengen.TypedStorage(3, dtype=tengen.int64).size() == 3
    made = tengen.TypedStorage([1, 2, 3], dtype=tengen.int64)
    copied = made.clone()
    copied[0] = 7
    assert (made.tolist(), copied.tolist()) == ([1, 2, 3], [7, 2, 3])
    assert tengen.TypedStorage(3).copy_(made).tolist() == [1.0, 2.0, 3.0]
    assert tengen.TypedStorage(wrap_storage=made.untyped(), dtype=tengen.int32).size() == 6
    assert repr(made).endswith("TypedStorage(dtype=tengen.int64, device=cpu) of size 3]")
    assert tengen.FloatStorage is tengen.ones(1).storage_type()
    assert tengen.TypedStorage().size() == 0


def test_bad_input() -> None:
    found = tengen.ones(3).storage()
    with pytest.raises(IndexError, match="index 3 out of range for storage of size 3"):
        found[3]
    with pytest.raises(RuntimeError, match="slices are only supported"):
        found[1:]
    with pytest.raises(TypeError, match=r"can't index a tengen\.TypedStorage with str"):
        found["a"]
    with pytest.raises(RuntimeError, match="self was 3 but src was 2"):
        found.copy_(tengen.TypedStorage(2))
    with pytest.raises(TypeError, match="expected wrap_storage to be an UntypedStorage"):
        tengen.TypedStorage(3, wrap_storage=found.untyped())
    with pytest.raises(TypeError, match="a number of elements or a sequence"):
        tengen.TypedStorage(3, 4)
    assert found.tolist() == [1.0, 1.0, 1.0]


def test_storages_of_bytes() -> None:
    """Of a number, or of the lowest bytes of ints; tensors take them, and share them."""
    assert (tengen.UntypedStorage().nbytes(), tengen.UntypedStorage(4).nbytes()) == (0, 4)
    made = tengen.UntypedStorage((1, 2, 300, -1))
    assert made.tolist() == [1, 2, 44, 255] == tengen.UntypedStorage(made).tolist()
    assert tengen.UntypedStorage(3, device="meta").device.type == "meta" and made.new().nbytes() == 0
    assert made.cpu() is made
    taken = tengen.empty(0, dtype=tengen.uint8).set_(made)
    taken[0] = 7
    assert made[0] == 7 and taken.untyped_storage() is made
    for bad, match in [
        ([1.5], "one of the items was of type float"),
        ([True], "one of the items was of type bool"),
        (1.5, "Expected a sequence type, but got float"),
        (-1, "no negative number of bytes, but got -1"),
    ]:
        with pytest.raises(RuntimeError, match=match):
            tengen.UntypedStorage(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", [tengen.float32, tengen.int64, tengen.bool, tengen.bfloat16])
def test_tensors_over_storages_of_elements(dtype: tengen.dtype) -> None:
    storage = tengen.TypedStorage([1, 0, 1], dtype=dtype)
    like = tengen.empty(0, dtype=dtype)
    for made in (like.clone().set_(storage), like.new(storage), like.clone().set_(storage, 0, (3,))):
        made[1] = 1
        assert storage.tolist() == [1, 1, 1] and made.data_ptr() == storage.data_ptr()
        storage[1] = 0
    assert storage.cpu() is storage
    other = tengen.TypedStorage([1], dtype=tengen.float64)
    for call in (like.set_, like.new):
        with pytest.raises(RuntimeError, match=r"Expected a Storage of .* but got one of tengen\.float64"):
            call(other)
    assert like.shape == (0,)


def test_a_storage_grows_for_all_tensors_over_it() -> None:
    """Also by ``resize_`` of one of them; not where NumPy has the memory, and not below a tensor of it."""
    x = tengen.arange(3.0)
    y = x[1:]
    x.untyped_storage().resize_(40)
    x[1] = 5
    assert y.tolist() == [5, 2] and y.untyped_storage().nbytes() == 40
    x.resize_(50)
    x[2] = 7
    assert y.tolist() == [5, 7]
    with pytest.raises(RuntimeError, match="ends at byte 200"):
        x.untyped_storage().resize_(8)
    memory = tengen.UntypedStorage(4)
    assert tengen.empty(0).set_(memory, 0, (9,)).shape == (9,) and memory.nbytes() == 36
    shared = tengen.ones(3)
    array = shared.numpy()
    for held in (shared, tengen.from_numpy(np.ones(3, np.float32))):
        with pytest.raises(RuntimeError, match="not resizable"):
            held.resize_(9)
        with pytest.raises(RuntimeError, match="not resizable"):
            tengen.add(tengen.ones(9), 1, out=held)
        assert held.shape == (3,)
    assert array.tolist() == [1, 1, 1]


HOLDERS: dict[str, Callable[[tengen.Tensor], Any]] = {
    "numpy": lambda x: x.numpy(),
    "data": lambda x: x.data.numpy(),
    "detach": lambda x: x.detach().numpy(),
    "data of detach": lambda x: x.detach().data.numpy(),
    "view of data": lambda x: x.data[1:].numpy(),
    "asarray": lambda x: np.asarray(x.data),
    "dlpack": lambda x: np.from_dlpack(x.data),
    "buffer": lambda x: memoryview(x.data.numpy()),
    "set_": lambda x: tengen.empty(0).set_(x.data).numpy(),
    "assigned": lambda x: assigned(tengen.empty(0), x).numpy(),
}
MAKERS: dict[str, Callable[[], tengen.Tensor]] = {
    "arange": lambda: tengen.arange(4.0),
    "view": lambda: tengen.arange(6.0)[2:],
    "from_numpy": lambda: tengen.from_numpy(np.arange(4.0, dtype=np.float32)).data,
    "frombuffer": lambda: tengen.frombuffer(bytearray(16), dtype=tengen.float32).data,
    "assigned": lambda: assigned(tengen.ones(1), tengen.from_numpy(np.arange(4.0, dtype=np.float32))),
}


def assigned(tensor: tengen.Tensor, value: tengen.Tensor) -> tengen.Tensor:
    tensor.data = value
    return tensor


@pytest.mark.parametrize("holder", HOLDERS)
def test_memory_that_somebody_holds_stays_where_it_is(holder: str) -> None:
    """Also where the handle that gave it away is gone."""
    for make in MAKERS.values():
        x = make()
        held = np.asarray(HOLDERS[holder](x))
        for resize in (
            lambda x=x: x.resize_(100),
            lambda x=x: x.data.resize_(100),
            lambda x=x: x.untyped_storage().resize_(400),
            lambda x=x: tengen.add(tengen.ones(100), 1, out=x),
        ):
            with pytest.raises(RuntimeError, match="not resizable"):
                resize()
        assert x.shape == (4,)
        assert x.fill_(7)[-1] == held[-1] == 7


def test_what_held_memory_is_forgotten_with_it() -> None:
    before = len(held_memory.held_owners)
    for _ in range(100):
        tengen.ones(3).data[1:].numpy()
        tengen.from_numpy(np.ones(3)).detach()
    assert len(held_memory.held_owners) == before


def test_classes_of_one_dtype() -> None:
    made = tengen.FloatStorage([1, 2.5])
    assert type(made) is tengen.TypedStorage and isinstance(made, tengen.FloatStorage)
    assert not isinstance(made, tengen.LongStorage) and made.type() == "tengen.FloatStorage"
    assert made.long().tolist() == [1, 2] and made.type("torch.DoubleStorage").dtype is tengen.float64
    assert tengen.FloatStorage.from_buffer(b"\0\0\x80?", "little").tolist() == [1.0]
    swapped = tengen.UntypedStorage([1, 2, 3, 4])
    swapped.byteswap(tengen.int16)
    assert swapped.tolist() == [2, 1, 4, 3]


def handles(x: tengen.Tensor) -> list[tengen.Tensor]:
    """All kinds of tensors over a memory of three numbers, of which each sees the second one first."""
    with tengen.inference_mode():
        inside = x[1:]
    set_to, data = tengen.empty(0).set_(x, 1, (2,)), tengen.empty(0)
    data.data = x[1:]
    nested = tengen.func.vjp(lambda v: v[1:], x)[0]
    return [x[1:], x.detach()[1:], x.data[1:], tengen.nn.Parameter(x)[1:], inside, set_to, data, nested]


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("by_storage", [False, True])
def test_all_handles_follow_a_memory_that_grows(by_storage: bool, frozen: bool) -> None:
    for used in (False, True):
        x = tengen.arange(3.0)
        if used:
            assert x.untyped_storage().nbytes() == 12
        others = handles(x)
        if frozen:
            gc.freeze()
        if by_storage:
            x.untyped_storage().resize_(400)
        else:
            x.resize_(100)
        x[1] = 7
        assert [y[0].item() for y in others] == [7] * len(others)
        assert all(y.untyped_storage() is x.untyped_storage() for y in others)
        assert gc.get_freeze_count() == 0


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_a_memory_of_one_tensor_grows_without_a_search(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tengen.UntypedStorage, "_tensors", lambda self: pytest.fail("looked for tensors"))
    x = tengen.empty(0, device=device)
    for size in (3, 2, 7, 9):
        x.resize_(size)
        x.add_(1)
    y = tengen.empty(0, device=device)
    for _ in range(2):
        y.resize_(0)
        tengen.add(x, 1, out=y)
        x.resize_(2 * len(x))
    tengen.ones(4, 4, device=device).t().clone().resize_(9, 9)
    data = x.data
    with pytest.raises(pytest.fail.Exception):
        x.resize_(1000)
    assert data.shape == x.shape


def test_what_cannot_grow_is_left_as_it_was() -> None:
    x = tengen.arange(3.0)
    data = x.data
    array = data.numpy()
    with pytest.raises(RuntimeError, match="not resizable"):
        tengen.linalg.qr(tengen.ones(4, 4), out=(tengen.empty(0), x))
    with pytest.raises(RuntimeError, match="not resizable"):
        x.resize_(9)
    assert x.tolist() == [0, 1, 2] and array.tolist() == [0, 1, 2] and x._version == 0
    x[0] = 5
    assert array[0] == data[0] == 5


@pytest.mark.parametrize("shared", [False, True])
def test_files_are_mapped_into_memory(shared: bool, tmp_path: Path) -> None:
    """What is written is written to a file that is shared, and to no other; a shared one is made as long."""
    path, content = tmp_path / "numbers", np.arange(4, dtype=np.int32)
    content.tofile(path)
    found = tengen.IntStorage.from_file(str(path), shared, 3)
    assert found.tolist() == [0, 1, 2] and found.filename == (str(path) if shared else None)
    found[1] = 7
    assert np.fromfile(path, np.int32).tolist() == [0, 7 if shared else 1, 2, 3]
    assert tengen.UntypedStorage.from_file(str(path), shared=shared, nbytes=0).nbytes() == 0
    if shared:
        assert tengen.IntStorage.from_file(str(path), True, 6).tolist()[3:] == [3, 0, 0]
        assert path.stat().st_size == 24
        return
    for size in (17, 1 << 40):
        with pytest.raises(
            RuntimeError, match=f"size <16> is smaller than the required mapping size <{size}>"
        ):
            tengen.UntypedStorage.from_file(str(path), False, size)
    with pytest.raises(RuntimeError, match="unable to open file"):
        tengen.UntypedStorage.from_file(str(tmp_path / "none"), False, 1)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("cls", [tengen.ShortStorage, tengen.DoubleStorage, tengen.ComplexFloatStorage])
def test_parts_of_buffers(order: Any, cls: Any) -> None:
    """Offsets are in bytes, counts in elements; what reaches beside the buffer is refused."""
    dtype = tengen.empty(0, dtype=cls.dtype).numpy().dtype
    content = np.arange(1, 6).astype(dtype.newbyteorder(">" if order == "big" else "<"))
    buffer, step = b"xyz" + content.tobytes(), dtype.itemsize
    assert cls.from_buffer(buffer, order, 2, 3 + step).tolist() == [2, 3]
    assert cls.from_buffer(buffer, order, -1, 3).tolist() == [1, 2, 3, 4, 5]
    for count, offset in ((6, 3), (5, 4), (-1, len(buffer) + 1), (-1, -1)):
        with pytest.raises(ValueError, match="buffer"):
            cls.from_buffer(buffer, order, count, offset)
