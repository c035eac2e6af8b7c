"""Which operators autocast casts for, and to what, beside PyTorch: over all operators that have a tag."""

from __future__ import annotations

import itertools
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

import tengen
from tengen.generated.operators import AUTOCAST

pytestmark = pytest.mark.oracle
torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
TESTS = Path(__file__).resolve().parents[1]
for folder in (TESTS / "opinfo", TESTS / "operators"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

#: What PyTorch registers, and is no operator here, or has another name; what it does is the same.
ELSEWHERE = {
    "_addmm_activation",
    "_convolution.deprecated",
    "_grid_sampler_2d_cpu_fallback",
    "_native_multi_head_attention",
    "conv_transpose2d.input",
    "conv_transpose3d.input",
    "fake_quantize_per_tensor_affine",
    "mkldnn_rnn_layer",
    "multilabel_margin_loss_forward",
    "stft",
}
RENAMED = {"conv_transpose2d", "conv_transpose3d"}
FUNCTIONS = {name.partition(".")[0] for name in AUTOCAST}


def test_the_same_operators_have_tags() -> None:
    registered = torch._C._dispatch_get_registrations_for_dispatch_key("AutocastCPU")
    theirs = {name.removeprefix("aten::") for name in registered if name.startswith("aten::")}
    ours = {name for name in AUTOCAST if "::" not in name}  # of others: what tests before this registered
    assert ours - RENAMED == theirs - ELSEWHERE


def dtypes(side: Any, library: Any, low: str) -> Any:
    """The dtypes of the results and of the gradients, or the type of the error."""
    try:
        with library.autocast("cpu", dtype=getattr(library, low)):
            found = side.tensors(side.result())
        wanted = [t for t in found if t.requires_grad and not t.is_complex()]
        if wanted and side.case.op.supports_autograd:
            sum(t.float().sum() for t in wanted).backward()  # type: ignore[union-attr]
    except Exception as error:
        return type(error).__name__
    leaves = side.tensors([side.arguments, side.keywords])
    grads = [t.grad is not None and str(t.grad.dtype).partition(".")[2] for t in leaves]
    return [str(t.dtype).partition(".")[2] for t in found], grads


def cases(op: Any) -> Any:
    """The first sample in float32, and the same in a shorter dtype."""
    from database import Case

    for kind in (torch.float32, torch.bfloat16):
        for sample in itertools.islice(op.sample_inputs("cpu", torch.float32, requires_grad=True), 1):

            def cast(value: Any, kind: Any = kind) -> Any:
                if not isinstance(value, torch.Tensor) or value.dtype is not torch.float32:
                    return value
                return value.detach().to(kind).requires_grad_(value.requires_grad)

            yield Case(op, kind, 0, sample.transform(cast))


def tagged() -> list[str]:
    from database import OPERATORS

    return [name for name, op in OPERATORS.items() if op.aten_name in FUNCTIONS]


@pytest.mark.parametrize("low", ["bfloat16", "float16"])
def test_dtypes_of_results_and_gradients(low: str) -> None:
    from asking import sides
    from database import OPERATORS

    different, compared = [], set()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in tagged():
            op = OPERATORS[name]
            if torch.float32 not in op.dtypes:
                continue
            for case in cases(op):
                ours, theirs = sides(case)
                found, expected = dtypes(ours, tengen, low), dtypes(theirs, torch, low)
                if isinstance(expected, str):  # PyTorch has no kernel, or no rule for mixed halves
                    continue
                compared.add(op.aten_name)
                if found != expected:
                    different.append(f"{name} {case.dtype}: {found}, PyTorch {expected}")
    assert different == []
    assert len(compared) > 0.6 * len(FUNCTIONS)
