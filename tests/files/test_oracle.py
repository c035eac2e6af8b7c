"""What PyTorch's unpickler of weights refuses in a pickle, ours refuses."""

from __future__ import annotations

import io
import pickle
import warnings

import pytest

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

#: Pickles in which {lib} is the library: what they ask for has the same name in both.
PICKLES = [
    "c{lib}\nTensor\n(N}}X\x07\0\0\0__add__Nstb",
    "c{lib}\nTensor\n}}X\x03\0\0\0sumNsb",
    "c{lib}\nSize\n(N}}tb",
    "c{lib}\nTensor\nNa",
    "c{lib}\nTensor\n(Ne",
    "c{lib}\nTensor\nK\0Ns",
    "c{lib}\nSize\n)RNa",
    "cos\nsystem\n",
    "cbuiltins\neval\n",
    "cbuiltins\ngetattr\n",
    "c{lib}\nload\n",
    "c{lib}.serialization\nload\n",
    "cnumpy\nndarray\n",
    "csubprocess\nPopen\n",
    "c{lib}\nTensor.__add__\n",
    "c{lib}.nn\nTensor\n",
    "K\0)R",
    "])R",
    "N)R",
    "c{lib}\ndevice\nX\3\0\0\0cpu\x85R)R",
    "N)\x81",
    "])\x81",
    "K\1K\1\x81",
    "N}}b",
    "]}}b",
    "}}}}b",
    ")}}b",
    "K\1}}b",
    ")Na",
    "}}Na",
    "NNa",
    "N(Ne",
    ")(Ne",
    "]K\0Ns",
    ")K\0Ns",
    "NK\0Ns",
    "](NNu",
    "}}]Ns",
    "(i{lib}\nTensor\n",
    "(c{lib}\nTensor\no",
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
    "c{lib}",
    "c{lib}\n",
    "\xff",
]


@pytest.mark.parametrize("text", PICKLES)
def test_what_torch_refuses_is_refused(text: str) -> None:
    from torch._weights_only_unpickler import Unpickler

    ours, theirs = (b"\x80\x02" + text.format(lib=m).encode("latin1") + b"." for m in ("tengen", "torch"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception):  # noqa: B017 - it has no documented one
            Unpickler(io.BytesIO(theirs)).load()
    with pytest.raises(pickle.UnpicklingError):
        tengen.load(io.BytesIO(ours))


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
    assert tengen.load(io.BytesIO(data)) == Unpickler(io.BytesIO(data)).load() == value
