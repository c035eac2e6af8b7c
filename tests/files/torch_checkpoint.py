"""A small checkpoint that PyTorch made. ``python tests/files/torch_checkpoint.py`` makes it, with PyTorch.

It has what checkpoints have: a module's state dict, an optimiser's, tensors of several dtypes and layouts,
and the module's inputs and outputs as numbers, so that a test without PyTorch can say whether they come out.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

FILE = Path(__file__).resolve().with_name("torch_checkpoint.pt")


def model(lib: Any) -> Any:
    """The module whose state it is."""
    nn = lib.nn
    return nn.Sequential(
        OrderedDict(
            embedding=nn.Embedding(5, 4),
            norm=nn.LayerNorm(4),
            hidden=nn.Linear(4, 3, dtype=lib.float32),
            activation=nn.GELU(),
            out=nn.Linear(3, 2),
        )
    )


def tensors(lib: Any) -> dict[str, Any]:
    """Tensors of many kinds, which both libraries make alike."""
    x = lib.arange(6.0).reshape(2, 3)
    noted = lib.ones(2)
    noted.note = {"kept": 1}
    return {
        "base": x,
        "transposed": x.t(),
        "row": x[1:],
        "parameter": lib.nn.Parameter(x),
        "scalar": lib.tensor(3),
        "empty": lib.zeros(0, 2),
        "expanded": lib.ones(1, dtype=lib.float64).expand(3),
        "bfloat16": lib.ones(2, dtype=lib.bfloat16),
        "uint16": lib.tensor([1, 65535], dtype=lib.uint16),
        "float8": lib.ones(2, dtype=lib.float8_e4m3fn),
        "bool": lib.tensor([True, False]),
        "conjugate": lib.tensor([1 + 2j]).conj(),
        "sparse": lib.sparse_coo_tensor(lib.tensor([[0, 1], [1, 0]]), lib.ones(2), (2, 2)),
        "csr": lib.eye(3).to_sparse_csr(),
        "meta": lib.zeros(2, 3, device="meta").t(),
        "leaf": lib.ones(2, requires_grad=True),
        "noted": noted,
        "dtype": lib.float16,
        "layout": lib.strided,
        "device": lib.device("cpu"),
        "size": lib.Size([1, 2]),
    }


def main() -> None:
    import torch

    torch.manual_seed(0)
    net, inputs = model(torch), torch.tensor([[0, 4], [2, 2]])
    optimiser = torch.optim.AdamW(net.parameters(), lr=0.01)
    for _ in range(2):
        optimiser.zero_grad()
        net(inputs).square().sum().backward()
        optimiser.step()
    torch.save(
        {
            "model": net.state_dict(),
            "optimiser": optimiser.state_dict(),
            "inputs": inputs,
            "outputs": net(inputs).tolist(),
            "tensors": tensors(torch),
            "epoch": 2,
        },
        FILE,
    )
    print(f"{FILE.name}: {FILE.stat().st_size} bytes, of PyTorch {torch.__version__}")


if __name__ == "__main__":
    main()
