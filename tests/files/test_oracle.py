"""Files of PyTorch, and what its unpickler of weights refuses, beside ours."""

from __future__ import annotations

import io
import pickle
import warnings
from pathlib import Path
from typing import Any

import pytest
from archives import archive

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

PICKLES = [
    "ctorch\nTensor\n(N}X\x07\0\0\0__add__Nstb",
    "ctorch\nTensor\n}X\x03\0\0\0sumNsb",
    "ctorch\nSize\n(N}tb",
    "ctorch\nTensor\nNa",
    "ctorch\nTensor\n(Ne",
    "ctorch\nTensor\nK\0Ns",
    "ctorch\nSize\n)RNa",
    "cos\nsystem\n",
    "cbuiltins\neval\n",
    "cbuiltins\ngetattr\n",
    "ctorch\nload\n",
    "ctorch.serialization\nload\n",
    "cnumpy\nndarray\n",
    "csubprocess\nPopen\n",
    "ctorch\nTensor.__add__\n",
    "ctorch.nn\nTensor\n",
    "K\0)R",
    "])R",
    "N)R",
    "ctorch\ndevice\nX\3\0\0\0cpu\x85R)R",
    "N)\x81",
    "])\x81",
    "K\1K\1\x81",
    "N}b",
    "]}b",
    "}}b",
    ")}b",
    "K\1}b",
    ")Na",
    "}Na",
    "NNa",
    "N(Ne",
    ")(Ne",
    "]K\0Ns",
    ")K\0Ns",
    "NK\0Ns",
    "](NNu",
    "}]Ns",
    "(itorch\nTensor\n",
    "(ctorch\nTensor\no",
    "\x82\1",
    "\x83\1\0",
    "\x84\1\0\0\0",
    "P1\n",
    "NQ",
    "N2",
    "I1\n",
    "L1L\n",
    "F1.5\n",
    "S'a'\n",
    "Va\n",
    "T\1\0\0\0a",
    "g0\n",
    "Np0\n",
    "\x97",
    "\x98",
    "h\0",
    "j\0\0\0\0",
    "q\0",
    "a",
    "s",
    "u",
    "e",
    "t",
    "\x85",
    "R",
    "b",
    "\x81",
    "",
    "X\xff\xff\0\0a",
    "\x8a\5",
    "X\1\0\0\0\xff",
    "G\0",
    "K",
    "ctorch",
    "ctorch\n",
    "\xff",
]


@pytest.mark.parametrize("text", PICKLES)
def test_what_torch_refuses_is_refused(text: str) -> None:
    from torch._weights_only_unpickler import Unpickler

    data = b"\x80\x02" + text.encode("latin1") + b"."
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception):  # noqa: B017 - it has no documented one
            Unpickler(io.BytesIO(data)).load()
    with pytest.raises(pickle.UnpicklingError):
        tengen.load(io.BytesIO(archive(data)))


VALUES = [
    [1, -1, 1 << 40, 1.5, None, True, False],
    {"a": [1, (2, 3), ()]},
    {1, 2},
    1 - 2j,
    bytearray(b"ab"),
    b"ab\xff",
    "ä€𝄞",
    ((1, 2), (1, 2, 3, 4)),
    {},
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_what_torch_reads_is_read(value: object) -> None:
    """Containers and numbers as torch.save writes them, in protocol 2."""
    from torch._weights_only_unpickler import Unpickler

    data = pickle.dumps(value, 2)
    assert tengen.load(io.BytesIO(archive(data))) == Unpickler(io.BytesIO(data)).load() == value


# -- files both ways -------------------------------------------------------------------------

LIBRARIES = {"from tengen": (tengen, torch), "from torch": (torch, tengen)}
DTYPES = sorted({d.name for d in tengen.dtype.registry.values() if hasattr(torch, d.name)})


def sent(value: Any, way: str, tmp_path: Path, **options: Any) -> Any:
    """What the other library reads of a file."""
    writer, reader = LIBRARIES[way]
    path = tmp_path / "sent.pt"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer.save(value, path)
        return reader.load(path, **options)


@pytest.mark.parametrize("options", [{}, {"mmap": True}, {"weights_only": False}], ids=str)
@pytest.mark.parametrize("way", LIBRARIES)
def test_all_kinds_of_tensors(way: str, options: Any, tmp_path: Path) -> None:
    import torch_checkpoint

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer, reader = LIBRARIES[way]
        found, expected = (
            sent(torch_checkpoint.tensors(writer), way, tmp_path, **options),
            torch_checkpoint.tensors(reader),
        )
    for name, value in expected.items():
        assert type(found[name]) is type(value) and repr(found[name]) == repr(value), name
        if isinstance(value, (tengen.Tensor, torch.Tensor)) and value.layout in (
            tengen.strided,
            torch.strided,
        ):
            assert found[name].stride() == value.stride() and found[name].requires_grad is value.requires_grad
    assert found["noted"].note == {"kept": 1}
    found["base"][1, 0] = 9.0
    assert found["row"][0, 0] == found["transposed"][0, 1] == found["parameter"][1, 0] == 9.0


@pytest.mark.parametrize("way", LIBRARIES)
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_and_strides(name: str, way: str, tmp_path: Path) -> None:
    def made(lib: Any) -> list[Any]:
        x = lib.tensor([[1, 0, 3], [4, 0, 6]]).to(getattr(lib, name))
        return [x, x.t(), x[1:, ::2], x[0, 0], x[:0], x[:, :1].expand(2, 3)]

    writer, reader = LIBRARIES[way]
    for found, value in zip(sent(made(writer), way, tmp_path), made(reader), strict=True):
        assert found.dtype is value.dtype and found.shape == value.shape and found.stride() == value.stride()
        assert found.storage_offset() == value.storage_offset() and found.tolist() == value.tolist()


NAMES = [
    "SGD",
    "Adam",
    "AdamW",
    "Adagrad",
    "RMSprop",
    "Adadelta",
    "NAdam",
    "RAdam",
    "Adamax",
    "ASGD",
    "Rprop",
]


@pytest.mark.parametrize("way", LIBRARIES)
@pytest.mark.parametrize("name", NAMES)
def test_training_goes_on(name: str, way: str, tmp_path: Path) -> None:
    """A model and its optimiser take the same steps after a file as those that were saved."""

    def made(lib: Any) -> tuple[Any, Any]:
        net = lib.nn.Sequential(
            lib.nn.BatchNorm1d(3), lib.nn.Linear(3, 4), lib.nn.Tanh(), lib.nn.Linear(4, 1)
        )
        net = net.to(lib.float64)
        return net, getattr(lib.optim, name)(net.parameters(), lr=0.05)

    def step(lib: Any, net: Any, optimiser: Any) -> None:
        x = lib.arange(15, dtype=lib.float64).reshape(5, 3).sin()
        optimiser.zero_grad()
        net(x).square().sum().backward()
        optimiser.step()

    writer, reader = LIBRARIES[way]
    net, optimiser = made(writer)
    step(writer, net, optimiser)
    state = sent({"net": net.state_dict(), "optimiser": optimiser.state_dict()}, way, tmp_path)
    other, loaded = made(reader)
    other.load_state_dict(state["net"])
    loaded.load_state_dict(state["optimiser"])
    assert state["net"]._metadata == net.state_dict()._metadata
    for _ in range(2):
        step(writer, net, optimiser)
        step(reader, other, loaded)
    for key, value in net.state_dict().items():
        one, two = (torch.tensor(v.tolist(), dtype=torch.float64) for v in (value, other.state_dict()[key]))
        # NAdam has its product of momenta as a float32 in PyTorch.
        assert (one - two).abs().max() < (1e-7 if name == "NAdam" else 1e-12), key


def test_modules_of_a_trusted_file(tmp_path: Path) -> None:
    nn = torch.nn
    net = nn.Sequential(
        nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Flatten(), nn.LayerNorm(9)
    ).eval()
    x = torch.arange(20.0).reshape(2, 2, 5)
    found = sent(net, "from torch", tmp_path, weights_only=False)
    assert repr(found) == repr(net)
    out = torch.tensor(found(tengen.tensor(x.tolist())).tolist())
    assert torch.allclose(out, net(x), atol=1e-6)


@pytest.mark.parametrize("weights_only", [True, False])
def test_formats_before_the_archive(tmp_path: Path, weights_only: bool) -> None:
    x = torch.arange(12.0).reshape(3, 4)
    given = {
        "x": x, "part": x.t()[1:], "p": torch.nn.Parameter(x), "i": torch.tensor([1, 2]),
        "b": torch.tensor([True, False]), "h": torch.ones(3).bfloat16(), "c": torch.ones(2) * 1j,
        "none": torch.empty(0),
        "f": torch.ones(3).to(torch.float8_e5m2), "sparse": torch.eye(3).to_sparse(), "else": [1, {2.5}, "x"],
    }  # fmt: skip
    torch.save(given, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    for mapped in (False, True):
        found = tengen.load(tmp_path / "old.pt", weights_only=weights_only, mmap=mapped)
        assert found.keys() == given.keys() and found["else"] == given["else"]
        assert found["x"].untyped_storage() is found["part"].untyped_storage()
        assert type(found["p"]) is tengen.nn.Parameter
        for name in given.keys() - {"else"}:
            one, two = found[name], given[name]
            assert str(one.dtype).split(".")[1] == str(two.dtype).split(".")[1]
            assert one.to_dense().cfloat().tolist() == two.to_dense().cfloat().tolist()


def test_a_module_before_the_archive(tmp_path: Path) -> None:
    """Beside the class of a module the file has its source."""
    torch.save(torch.nn.ReLU(), tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert type(tengen.load(tmp_path / "old.pt", weights_only=False)) is tengen.nn.ReLU


def test_programs(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.jit.script(torch.nn.Linear(2, 2)).save(str(tmp_path / "script.pt"))
    with pytest.raises(pickle.UnpicklingError, match="TorchScript archive"):
        tengen.load(tmp_path / "script.pt")
