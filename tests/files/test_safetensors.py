"""Files of safetensors, beside the package's own module for NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tengen

safetensors = pytest.importorskip("safetensors", minversion="0.8")
from safetensors import numpy as theirs  # noqa: E402

from tengen.utils import safetensors as ours  # noqa: E402

DTYPES = sorted(set(ours._NAMES.values()))


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name: str, tmp_path: Path) -> None:
    dtype = getattr(tengen, name)
    value = {"a": tengen.tensor([[1, 0, 3], [4, 0, 6]]).to(dtype), "b": tengen.ones(()).to(dtype)}
    value["empty"] = tengen.zeros(0, 2, dtype=dtype)
    ours.save_file(value, tmp_path / "a.safetensors", {"made by": "a test"})
    found = ours.load_file(tmp_path / "a.safetensors")
    for files in (found, ours.load(ours.save(value))):
        assert files.keys() == value.keys()
        for key, tensor in files.items():
            assert tensor.dtype is dtype and tensor.shape == value[key].shape
            assert tensor.tolist() == value[key].tolist()
    with ours.safe_open(tmp_path / "a.safetensors") as file:
        assert sorted(file.keys()) == sorted(value) and file.metadata() == {"made by": "a test"}
        assert file.get_slice("a")[1:, ::2].tolist() == value["a"][1:, ::2].tolist()


def test_files_of_the_package(tmp_path: Path) -> None:
    arrays = {"x": np.arange(6.0).reshape(2, 3), "y": np.array([1, 2], np.int16)}
    theirs.save_file(arrays, tmp_path / "b.safetensors")
    found = ours.load_file(tmp_path / "b.safetensors")
    assert {k: v.tolist() for k, v in found.items()} == {k: v.tolist() for k, v in arrays.items()}
    ours.save_file(found, tmp_path / "c.safetensors")
    again = theirs.load_file(tmp_path / "c.safetensors")
    assert all(np.array_equal(again[k], arrays[k]) for k in arrays)


def test_nothing_is_copied(tmp_path: Path) -> None:
    """Tensors lie in the memory that the file is mapped into, and writing to them leaves the file."""
    path = tmp_path / "d.safetensors"
    ours.save_file({"a": tengen.arange(4.0), "b": tengen.arange(4)}, path)
    before = path.read_bytes()
    with ours.safe_open(path) as file:
        one, two = file.get_tensor("a"), file.get_tensor("a")
    one[1] = 7.0
    assert two[1] == 7.0 and one.data_ptr() == two.data_ptr() and path.read_bytes() == before
    assert ours.load_file(path, device="meta")["a"].is_meta
    net = tengen.nn.Linear(2, 2)
    ours.save_file(net.state_dict(), path)
    again = tengen.nn.Linear(2, 2)
    again.load_state_dict(ours.load_file(path))
    assert again.weight.tolist() == net.weight.tolist()


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "e.safetensors"
    x = tengen.arange(6.0).reshape(2, 3)
    cases: list[tuple[Any, Any, str]] = [
        ({"a": x.t()}, ValueError, "'a' is not contiguous"),
        ({"a": x, "b": x[1:]}, RuntimeError, "'a' and 'b' share memory"),
        ({"a": x.to_sparse()}, TypeError, "expected strided tensors"),
        ({"a": 1}, TypeError, "'a' is a int"),
        ({"a": x.to(tengen.complex128)}, TypeError, "which the format has not"),
    ]
    for value, error, text in cases:
        with pytest.raises(error, match=text):
            ours.save_file(value, path)
    assert not path.exists()
    ours.save_file({"a": x}, path)
    with ours.safe_open(path) as file, pytest.raises(KeyError, match="no tensor 'b'"):
        file.get_tensor("b")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(safetensors.SafetensorError):
        ours.load_file(path)
