"""The archive around a pickle: what PyTorch made loads, and what is damaged is refused."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import tarfile
import zipfile
from collections import Counter
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import torch_checkpoint
from archives import archive, changed, records

import tengen
from tengen import serialization


def saved(value: Any, **options: Any) -> bytes:
    """The bytes of a file."""
    file = io.BytesIO()
    tengen.save(value, file, **options)
    return file.getvalue()


def load(data: bytes, **options: Any) -> Any:
    return tengen.load(io.BytesIO(data), **options)


# -- what PyTorch made -----------------------------------------------------------------------


@pytest.mark.parametrize("options", [{}, {"mmap": True}, {"weights_only": False}], ids=str)
def test_a_checkpoint_of_pytorch(options: Any) -> None:
    """A model that PyTorch trained gives the numbers that it gave there, and trains on."""
    found = tengen.load(torch_checkpoint.FILE, **options)
    net = torch_checkpoint.model(tengen)
    net.load_state_dict(found["model"])
    assert found["model"]._metadata["norm"] == {"version": 1}
    out = net(found["inputs"])
    assert tengen.allclose(out, tengen.tensor(found["outputs"]))
    optimiser = tengen.optim.AdamW(net.parameters())
    optimiser.load_state_dict(found["optimiser"])
    assert optimiser.param_groups[0]["lr"] == 0.01 and found["epoch"] == 2
    out.square().sum().backward()
    optimiser.step()
    assert net(found["inputs"]).square().sum() < out.square().sum()


@pytest.mark.parametrize("options", [{}, {"mmap": True}, {"weights_only": False}], ids=str)
def test_tensors_of_pytorch(options: Any) -> None:
    found, expected = (
        tengen.load(torch_checkpoint.FILE, **options)["tensors"],
        torch_checkpoint.tensors(tengen),
    )
    same(found, expected)
    assert found["base"].untyped_storage() is found["row"].untyped_storage()


def same(found: dict[str, Any], expected: dict[str, Any]) -> None:
    """Whether they are alike in all that a file says, and share memory where they did."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert type(found[name]) is type(value) and repr(found[name]) == repr(value), name
        if isinstance(value, tengen.Tensor) and value.layout is tengen.strided:
            assert found[name].stride() == value.stride() and found[name].requires_grad is value.requires_grad
            assert found[name].is_meta or found[name].storage_offset() == value.storage_offset()
    assert found["noted"].note == {"kept": 1}
    with tengen.no_grad():
        found["base"][1, 0] = 9.0
    assert found["row"][0, 0] == found["transposed"][0, 1] == found["parameter"][1, 0] == 9.0


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_is_saved_again(protocol: int) -> None:
    again = load(saved(torch_checkpoint.tensors(tengen), pickle_protocol=protocol))
    same(again, torch_checkpoint.tensors(tengen))


def test_records() -> None:
    """They are PyTorch's, at addresses that memory can be mapped from, and the same for the same data."""
    data = saved(torch_checkpoint.tensors(tengen))
    found, theirs = records(data), records(torch_checkpoint.FILE.read_bytes())
    kept = [name for name in theirs if not name.startswith("data/")]
    assert [name for name in found if not name.startswith("data/")] == kept
    assert [found[n] for n in kept[1:-1]] == [theirs[n] for n in kept[1:-1]] and data == saved(
        torch_checkpoint.tensors(tengen)
    )
    assert found[".data/serialization_id"].isdigit() and len(found[".data/serialization_id"]) == 40
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        for info in opened.infolist():
            names, extra = struct.unpack_from("<HH", data, info.header_offset + 26)
            assert (info.header_offset + 30 + names + extra) % 64 == 0
            assert info.date_time == (1980, 1, 1, 0, 0, 0)  # whenever it was written


def test_names_of_archives(tmp_path: Path) -> None:
    tengen.save(1, tmp_path / "model.v2.pt")
    with zipfile.ZipFile(tmp_path / "model.v2.pt") as found:
        assert found.namelist()[0] == "model.v2/data.pkl"


# -- byte order ------------------------------------------------------------------------------


@pytest.mark.parametrize("mapped", [False, True])
def test_files_of_machines_of_the_other_byte_order(tmp_path: Path, mapped: bool) -> None:
    value = {
        "wide": tengen.tensor([1, 1 << 40]),
        "float": tengen.tensor([[1.5, -2.0]]).t(),
        "complex": tengen.tensor([1 + 2j], dtype=tengen.complex128),
        "bytes": tengen.tensor([1, 2], dtype=tengen.uint8),
        "half": tengen.tensor([1.5], dtype=tengen.bfloat16),
        "untyped": tengen.tensor([1, 515], dtype=tengen.uint16),
    }
    widths = {"wide": 8, "float": 4, "complex": 8, "bytes": 1, "half": 2, "untyped": 2}

    def turn(found: dict[str, bytes]) -> None:
        found["byteorder"] = b"big" if sys.byteorder == "little" else b"little"
        for number, width in enumerate(widths.values()):
            content = found[f"data/{number}"]
            parts = [content[i : i + width][::-1] for i in range(0, len(content), width)]
            found[f"data/{number}"] = b"".join(parts)

    path = tmp_path / "big.pt"
    path.write_bytes(changed(saved([value, value["untyped"][1:]]), turn))
    found, rest = tengen.load(path, mmap=mapped)
    assert {k: v.tolist() for k, v in found.items()} == {k: v.tolist() for k, v in value.items()}
    assert rest.tolist() == [515]
    with pytest.raises(pickle.UnpicklingError, match="the byte order b'middle'"):
        load(changed(saved(value), lambda r: r.update(byteorder=b"middle")))


def test_without_a_byte_order() -> None:
    data = saved(tengen.ones(2), _disable_byteorder_record=True)
    assert "byteorder" not in records(data)
    if sys.byteorder == "little":
        assert load(data).tolist() == [1.0, 1.0]


# -- what is refused -------------------------------------------------------------------------

VALUE = {"a": tengen.ones(2, 3, requires_grad=True), "b": [1.5, "text", 1j]}


def stored(data: bytes, name: str) -> int:
    """Where the bytes of a record begin."""
    start = header(data, name)
    names, extra = struct.unpack_from("<HH", data, start + 26)
    return start + 30 + int(names) + int(extra)


def header(data: bytes, name: str) -> int:
    """Where the header of a record begins."""
    with zipfile.ZipFile(io.BytesIO(data)) as found:
        return found.getinfo(name).header_offset


def with_byte(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def behind(name: str) -> Callable[[bytes], bytes]:
    """A record that begins 64 bytes later, as its header says: the padding before it is that much longer."""

    def moved(data: bytes) -> bytes:
        start = header(data, name)
        # the length of all extra fields, and that of the first, which is the padding, behind the name
        for at in (start + 28, start + 30 + len(name) + 2):
            data = data[:at] + struct.pack("<H", struct.unpack_from("<H", data, at)[0] + 64) + data[at + 2 :]
        return data

    return moved


def compressed(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in records(data).items():
            made.writestr(f"archive/{name}", content)
    return file.getvalue()


def overlapping(data: bytes) -> bytes:
    """Two records of the same bytes: the second entry of the directory points at the first one's."""
    first = data.rindex(b"PK\x01\x02", 0, data.index(b"PK\x05\x06"))
    return data[: first + 42] + struct.pack("<I", header(data, "archive/data/0")) + data[first + 46 :]


def doubled(data: bytes) -> bytes:
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a") as made, pytest.warns(UserWarning):
        made.writestr("archive/data.pkl", b"")
    return file.getvalue()


def outside(data: bytes) -> bytes:
    file = io.BytesIO(data)
    with zipfile.ZipFile(file, "a") as made:
        made.writestr("other/data.pkl", b"")
    return file.getvalue()


def tar(data: bytes) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as made:
        info = tarfile.TarInfo("storages")
        info.size = len(data)
        made.addfile(info, io.BytesIO(data))
    return file.getvalue()


def without(name: str) -> Callable[[bytes], bytes]:
    return lambda data: changed(data, lambda found: found.__delitem__(name))


def given(name: str, content: bytes) -> Callable[[bytes], bytes]:
    return lambda data: changed(data, lambda found: found.update({name: content}))


DAMAGED: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "the beginning": (lambda data: data[:200], "the archive is damaged: BadZipFile"),
    "no zip file": (lambda data: b"x" + data[1:], "no zip archive"),
    "a byte of the pickle": (
        lambda data: with_byte(data, stored(data, "archive/data.pkl") + 9),
        "its checksum",
    ),
    "a byte of a storage": (lambda data: with_byte(data, stored(data, "archive/data/0")), "its checksum"),
    "the header of a record": (
        lambda data: with_byte(data, header(data, "archive/data/0")),
        "is not where the archive says",
    ),
    "another name in a header": (
        lambda data: with_byte(data, header(data, "archive/data/0") + 30 + 3),
        "'data/0' has a damaged header",
    ),
    "an encrypted record": (
        lambda data: with_byte(data, data.rindex(b"PK\x01\x02", 0, data.index(b"PK\x05\x06")) + 8),
        "is encrypted",
    ),
    "a record behind its place": (behind("archive/data/0"), "reaches into what follows it"),
    "compressed records": (compressed, "'archive/data.pkl' is compressed"),
    "overlapping records": (overlapping, "reaches into what follows it"),
    "two records of one name": (doubled, "two records of one name"),
    "records of two archives": (outside, "outside of 'archive'"),
    "no pickle": (lambda data: archive(b"").replace(b"data.pkl", b"data.pk_"), "without a record 'data.pkl'"),
    "a short storage": (given("data/0", b"\0" * 20), "20 bytes, and names it as one of 6 elements"),
    "a long storage": (given("data/0", b"\0" * 28), "28 bytes, and names it as one of 6 elements"),
    "no storage": (without("data/0"), "no record 'data/0'"),
    "a pickle": (lambda data: pickle.dumps(VALUE["b"]), r"no zip archive.*save it again"),
    "a tar archive": (tar, "tar archive, as PyTorch before 0.1.10 wrote"),
    "a TorchScript archive": (given("constants.pkl", b""), r"TorchScript archive.*state_dict\(\)"),
}


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("case", DAMAGED)
def test_what_is_damaged(case: str, weights_only: bool) -> None:
    change, expected = DAMAGED[case]
    with pytest.raises(pickle.UnpicklingError, match=f"^load: .*{expected}"):
        load(change(saved(VALUE)), weights_only=weights_only)


def test_a_long_zip_of_little() -> None:
    """A record that says it is longer than the file is not believed."""
    data = saved(VALUE)
    entry = data.index(b"PK\x01\x02", data.index(b"data/0", stored(data, "archive/data/0")) - 50)
    huge = struct.pack("<II", 0xFFFFFFF0, 0xFFFFFFF0)
    with pytest.raises(pickle.UnpicklingError, match="reaches into what follows it"):
        load(data[: entry + 20] + huge + data[entry + 28 :])


def test_nothing_is_written_of_what_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / "kept.pt"
    tengen.save(1, path)
    x = tengen.ones(2)
    for value, error, text in (
        ([x, x.view(tengen.int32)], RuntimeError, "view the same data as different types"),
        ([x, lambda: 1], (pickle.PicklingError, AttributeError), "lambda"),
        (x.to("meta").untyped_storage(), RuntimeError, "device meta has no data"),
    ):
        with pytest.raises(error, match=text):  # type: ignore[arg-type]
            tengen.save(value, path)
    with pytest.raises(RuntimeError, match=r"before PyTorch 1.6 are not written"):
        tengen.save(1, path, _use_new_zipfile_serialization=False)
    assert tengen.load(path) == 1


# -- arguments -------------------------------------------------------------------------------


def test_where_storages_go() -> None:
    data = saved([tengen.ones(2), tengen.ones(3)[1:]])
    seen: list[tuple[int, str]] = []

    def keep(storage: Any, location: str) -> Any:
        seen.append((storage.nbytes(), location))
        return storage if len(seen) == 1 else None

    first, second = load(data, map_location=keep)
    assert seen == [(8, "cpu"), (12, "cpu")] and first.sum() == second.sum() == 2
    for place in ("meta", tengen.device("meta"), {"cpu": "meta"}, {"cpu": tengen.device("meta")}):
        first, second = load(data, map_location=place)
        assert first.is_meta and second.storage_offset() == 1
    assert load(data, map_location={"cuda:0": "meta"})[0].device.type == "cpu"
    with pytest.raises(TypeError, match="map_location gave a int"):
        load(data, map_location=lambda storage, location: 1)  # type: ignore[arg-type, return-value]
    with pytest.raises(ZeroDivisionError):
        load(data, map_location=lambda storage, location: 1 / 0)  # type: ignore[arg-type, return-value]
    with pytest.raises(TypeError, match="must be a device, a string, a dict or a function, not int"):
        load(data, map_location=3)  # type: ignore[arg-type]


def test_devices_that_are_not_here() -> None:
    def elsewhere(found: dict[str, bytes]) -> None:
        found["data.pkl"] = found["data.pkl"].replace(b"\x03\x00\x00\x00cpu", b"\x05\x00\x00\x00xla:0")

    data = changed(saved([tengen.ones(2)]), elsewhere)
    with pytest.raises(
        pickle.UnpicklingError, match=r"device 'xla:0', which is not here.*map_location='cpu'"
    ):
        load(data)
    for place in ("cpu", {"xla:0": "cpu"}, lambda storage, location: storage):
        assert load(data, map_location=place)[0].tolist() == [1.0, 1.0]  # type: ignore[arg-type]


def test_memory_that_is_mapped(tmp_path: Path) -> None:
    path = tmp_path / "mapped.pt"
    tengen.save([tengen.arange(5.0), tengen.arange(5.0)[2:]], path)
    before = path.read_bytes()
    first, second = tengen.load(path, mmap=True)
    first[2] = 7.0
    second += 1
    assert first.tolist() == [0, 1, 7, 3, 4] and second.tolist() == [3, 4, 5] and path.read_bytes() == before
    assert second.untyped_storage().nbytes() == 20
    os.remove(path)
    assert second.sum() == 12
    with pytest.raises(ValueError, match="must be a path with mmap=True"):
        load(before, mmap=True)


def test_mapped_elements_are_at_addresses_of_their_kind(tmp_path: Path) -> None:
    """Wherever a record begins: other writers of such archives do not align them."""
    path, expected = tmp_path / "mapped.pt", tengen.arange(1.0, 5.0).to(tengen.complex128)
    found = records(saved(expected))
    text, begins = found.pop("data.pkl"), set()
    for length in range(1, 17):
        data = archive(text, found, "n" * length)
        begins.add(data.index(expected.numpy().tobytes()) % 16)
        path.write_bytes(data)
        mapped = tengen.load(path, mmap=True)
        assert mapped.data_ptr() % 8 == 0 and mapped.numpy().flags.aligned
        mapped += 1
        assert tengen.equal(mapped, expected + 1) and path.read_bytes() == data
    assert any(b % 8 for b in begins)


def test_other_picklers() -> None:
    class Mine:
        Pickler, Unpickler = pickle._Pickler, pickle.Unpickler  # type: ignore[attr-defined]

    class Fast:
        __name__ = "fast"
        Pickler = pickle.Pickler

    data = saved([tengen.ones(2)], pickle_module=Mine)
    assert load(data, pickle_module=Mine, encoding="latin1")[0].tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="not written in Python"):
        saved(1, pickle_module=Fast())
    with pytest.raises(RuntimeError, match="takes no pickle_module"):
        load(data, pickle_module=Mine, weights_only=True)
    with pytest.raises(ValueError, match="takes no errors"):
        load(data, errors="strict")


# -- what is allowed besides -----------------------------------------------------------------


class Kind(Enum):
    FIRST = 1


class Point:
    __slots__ = ("__dict__", "x")


class Special(tengen.Tensor):
    pass


def made(value: int) -> Any:
    raise AssertionError("nothing of a file is called")


def special() -> Any:
    value = tengen.ones(2).as_subclass(Special)
    value.note = "kept"
    return value


def point() -> Point:
    value = Point()
    value.x, value.y = 1, [2]  # type: ignore[attr-defined]
    return value


@pytest.mark.parametrize("protocol", [2, 4])
def test_classes_that_a_program_allows(protocol: int) -> None:
    data = saved([Kind.FIRST, point(), special(), tengen.float32], pickle_protocol=protocol)
    names = [f"{__name__}.{name}" for name in ("Kind", "Point", "Special")]
    assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == names
    for allowed in ([], [Kind, Point], [Kind, Special]):
        with (
            serialization.safe_globals(allowed),
            pytest.raises(pickle.UnpicklingError, match="not allowed with"),
        ):
            load(data)
    with serialization.safe_globals([Kind, (Point, names[1]), Special]):
        assert serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data)) == []
        assert len(serialization.get_safe_globals()) == 3
        kind, where, tensor, scalar_type = load(data)
    assert not serialization.get_safe_globals()
    assert kind is Kind.FIRST and (where.x, where.y) == (1, [2]) and scalar_type is tengen.float32
    assert type(tensor) is Special and tensor.note == "kept" and tensor.tolist() == [1.0, 1.0]
    serialization.add_safe_globals([Kind])
    assert serialization.get_safe_globals() == [Kind]
    serialization.clear_safe_globals()
    with pytest.raises(TypeError, match="expected functions and classes, but got a int"):
        serialization.add_safe_globals([1])  # type: ignore[list-item]
    assert load(data, weights_only=False)[0] is Kind.FIRST


def test_names_are_found_and_not_used() -> None:
    for protocol in (2, 4):
        data = saved({"f": made, "g": [print, print], "h": Counter("ab")}, pickle_protocol=protocol)
        found = serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(data))
        assert found == ["builtins.print", f"{__name__}.made"]
    with pytest.raises(pickle.UnpicklingError, match=r"no zip archive"):
        serialization.get_unsafe_globals_in_checkpoint(io.BytesIO(pickle.dumps(1)))


def test_modules_of_pytorch() -> None:
    """A whole module, of a file that is trusted: PyTorch's names are ours."""
    net = tengen.nn.Sequential(tengen.nn.Linear(2, 2), tengen.nn.ReLU())

    def theirs(found: dict[str, bytes]) -> None:
        found["data.pkl"] = found["data.pkl"].replace(b"ctengen.", b"ctorch.")

    data = changed(saved(net), theirs)
    assert "torch.nn.modules.linear.Linear" in serialization.get_unsafe_globals_in_checkpoint(
        io.BytesIO(data)
    )
    found = load(data, weights_only=False)
    x = tengen.ones(2)
    assert type(found[0]) is tengen.nn.Linear and found(x).tolist() == net(x).tolist()
    gone = changed(data, lambda r: r.update({"data.pkl": r["data.pkl"].replace(b"ReLU", b"LeRU")}))
    with pytest.raises(
        pickle.UnpicklingError, match=r"torch.nn.modules.activation.LeRU, which tengen has not"
    ):
        load(gone, weights_only=False)


@pytest.mark.parametrize("weights_only", [True, False])
def test_an_empty_file_is_one_that_ended(weights_only: bool, tmp_path: Path) -> None:
    path = tmp_path / "empty.pt"
    path.write_bytes(b"")
    for file in (io.BytesIO(), path):
        with pytest.raises(EOFError, match="the file is empty"):
            tengen.load(file, weights_only=weights_only)
    with pytest.raises(EOFError, match="the file is empty"):
        tengen.load(path, weights_only=weights_only, mmap=True)


def test_a_changed_bit_of_a_mapped_file_is_an_error_or_changes_nothing(tmp_path: Path) -> None:
    """Of all bytes but the storage's own, which mapping does not look through; and every file cut short."""
    path, expected = tmp_path / "mapped.pt", tengen.arange(1.0, 4.0)
    tengen.save(expected, path)
    data = path.read_bytes()
    content = data.index(expected.numpy().tobytes())
    refused = 0
    for at in range(len(data)):
        if content <= at < content + 12:
            continue
        path.write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
        try:
            found = tengen.load(path, mmap=True)
        except pickle.UnpicklingError:
            refused += 1
        else:
            assert tengen.equal(found, expected), at
    assert refused > 200
    for length in range(1, len(data), 7):
        path.write_bytes(data[:length])
        with pytest.raises(pickle.UnpicklingError):
            tengen.load(path, mmap=True)
