"""The claims of the section "Calls"."""

from __future__ import annotations

from differences.claim import Claim

LSTM = """
weights = m.ones(8, 3), m.ones(8, 2), m.ones(8), m.ones(8)
h = m.zeros(1, {rows}, 2)
m.lstm(m.ones(4, 2, 3), (h, h), weights * {times}, True, 1, 0.0, False, False, False)[0].shape == (4, 2, 2)
"""
PACKED = """
h = m.zeros(1, 2, 2)
weights = m.ones(8, 3), m.ones(8, 2), m.ones(8), m.ones(8)
m.lstm(m.ones(5, 3), m.tensor([1, 2, 2]), (h, h), weights, True, 1, 0.0, False, False)[1].shape == (1, 2, 2)
"""
GROUPED = """
ends = m.tensor([4, 2], dtype=m.int32)
m.nn.functional.grouped_mm(m.ones(4, 8), m.ones(2, 8, 16), offs=ends).shape == (4, 16)
"""
EMPTY = """
norm = m.nn.InstanceNorm1d(2, track_running_stats=True)
norm(m.zeros(0, 2, 3))
norm.running_var.isnan().any().item()
"""
DEFAULT_DEVICE = """
import warnings
warnings.simplefilter("ignore")
with m.device("meta"):
    made = m.{call}
made.device.type
"""
STRIDED = "n = m.nested.nested_tensor([m.ones(2, 1), m.ones(2, 1)])\n"
GAPS = """
values, lengths = m.arange(5.0), m.tensor([1, 2])
n = m.nested.nested_tensor_from_jagged(values, m.tensor([0, 3, 5]), lengths)
other = m.nested.nested_tensor_from_jagged(values, m.tensor([1, 3, 5]), lengths)
"""
CLAIMS = [
    Claim(
        "Deprecated calls", "x = m.ones(2, 2)\nm.addcmul(x, 2, x, tensor2=x).sum().item()", TypeError, 12.0
    ),
    Claim(
        "Deprecated calls", "x = m.ones(2, 2)\nm.addcdiv(x, 2, x, tensor2=x).sum().item()", TypeError, 12.0
    ),
    Claim("Recurrent layers", LSTM.format(rows=2, times=1), True, True),
    Claim("Recurrent layers", LSTM.format(rows=3, times=1), RuntimeError, True),
    Claim("Recurrent layers", LSTM.format(rows=2, times=2), RuntimeError, True),
    Claim("Recurrent layers", PACKED, RuntimeError, True),
    Claim("Groups of `grouped_mm`", GROUPED, RuntimeError, True),
    *(
        Claim("Default device", DEFAULT_DEVICE.format(call=call), "meta", "cpu")
        for call in ("normal(0.0, 1.0, (2,))", "range(0, 3)", "Tensor(2)", "UntypedStorage(2)")
    ),
    Claim("Empty batches", EMPTY, False, True),
    Claim(
        "Nested tensors",
        STRIDED + "n.transpose(1, 2).relu().unbind()[1].tolist()",
        [[1.0, 1.0]],
        RuntimeError,
    ),
    Claim(
        "Nested tensors", STRIDED + "(n * m.tensor([2.0])).unbind()[0].tolist()", [[2.0], [2.0]], RuntimeError
    ),
    Claim("Nested tensors", GAPS + "n.sum(1).tolist()", [0.0, 7.0], RuntimeError),
    Claim("Nested tensors", GAPS + "(n * other).unbind()[0].tolist()", RuntimeError, [0.0]),
    Claim(
        "Nested tensors",
        "m.nested.nested_tensor_from_jagged(m.ones(3), m.tensor([0, 4])).dim()",
        RuntimeError,
        2,
    ),
    Claim(
        "Nested tensors",
        GAPS + "n.contiguous().to_padded_tensor(0.0, (2, 1)).tolist()",
        RuntimeError,
        [[0.0], [3.0]],
    ),
    Claim("Nested tensors", "len(m.nested.narrow(m.ones(2, 3), 1, 0, 2).unbind())", 2, RuntimeError),
]
