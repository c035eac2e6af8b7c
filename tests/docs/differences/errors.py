"""The claims of the section "Errors and warnings"."""

from __future__ import annotations

from differences.claim import Claim

WARNINGS = """
def warned():
    x = m.ones(1, requires_grad=True)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        x.exp().backward(create_graph=True)
    return len(found)
warned()
warned()
"""
NOTES = """
def notes():
    y = m.ones(1, requires_grad=True) * 1
    z = y.exp()
    z.add_(1)
    m.autograd.set_detect_anomaly(True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            z.backward()
    except RuntimeError as error:
        return sum("Error detected in" in note for note in getattr(error, "__notes__", []))
    finally:
        m.autograd.set_detect_anomaly(False)
notes()
"""
TEXT = """
def text(f):
    try:
        f()
    except Exception as error:
        return str(error).partition("(")[0]
text(lambda: m.ones(2) + m.ones(3))
"""
CLAIMS = [
    Claim("Limits", "tuple(m.ones(3).unfold(0, 1, 2**62).shape)", RuntimeError, (1, 1)),
    Claim("Limits", "m.ones((1,) * 65).dim()", RuntimeError, 65),
    Claim("Limits", "m.ones(1).expand(2**62).dim()", RuntimeError, 1),
    Claim("Limits", "m.ones(1).expand(2**60).dim()", 1, 1),
    Claim("Texts", TEXT, "add: The size of tensor a ", "The size of tensor a "),
    Claim("Texts", "m.tensor([1j, 2]).sort()", NotImplementedError, RuntimeError),
    Claim("Warnings", WARNINGS, 1, 0),
    Claim("Warnings", NOTES, 1, 0),
    Claim("Divisions by zero", "(m.tensor(1.0) / 0).item()", float("inf"), float("inf")),
    Claim(
        "Divisions by zero",
        "warnings.simplefilter('error')\n(m.tensor(1.0) / 0).item()",
        RuntimeWarning,
        float("inf"),
    ),
]
