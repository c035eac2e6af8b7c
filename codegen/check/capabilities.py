"""Check: the capabilities of backends."""

from __future__ import annotations

from collections.abc import Mapping

from ..model.diagnostics import Report, suggestion
from ..model.operators import Backend
from ..model.source import Located
from ..read.fields import check_keys, is_word, known_word, report_scalar
from ..read.functions import FunctionIndex
from ..read.keys import Key

_KERNELS = {
    "blocks": "the kernel that calls an elementwise function on blocks of large operands",
    "choices": "the kernel that chooses by a mask, in the place of xp.where where that is done in blocks",
    "native_kernels": "the kernel that calls native kernels: an elementwise one on shares of large operands",
    "reduced_kernels": "the kernel that calls the forms of them for float16 and bfloat16",
    "bodies": "the kernel that runs the body of an operator over rows",
    "moves": "the kernel that moves elements as a body says; with _back behind its name, the transposed",
    "contractions": "the kernel that multiplies and sums as a form says; numpy is that of forms themselves",
    "factories": "the kernel that makes a tensor of what the form of a body says of its elements",
    "views": "the kernel that shows what the body of a view says; with _back behind its name, the transposed",
    "sums": "the kernel that sums windows as a body says; with _back behind its name, the transposed",
    "maxima": "the kernel that takes the maxima of windows as a body says; with _back behind, the transposed",
    "losses": "the kernel that brings the elements of losses together",
    "pointwise": "the kernel that stands for every pointwise one",
    "zero_preserving": "the kernel that calls one of strided arrays on what is stored",
    "pointwise_values": "the kernel that calls an elementwise one on the values of all operands",
    "stored_values": "the kernel that calls one that draws each element on the values as they are",
}
_OBJECTS = {"array_class": "what a Tensor holds: numpy.ndarray", "as_array": "makes an array of a scalar"}
_KEYS = {
    **{name: Key(name, ("str",), meaning) for name, meaning in (_KERNELS | _OBJECTS).items()},
    "data": Key("data", ("bool",), "whether its arrays have elements, not only shapes and dtypes"),
    "mutable": Key("mutable", ("bool",), "whether its arrays can be written to"),
    "expressions": Key("expressions", ("bool",), "whether expressions compute on its arrays as they are"),
    "formulas": Key("formulas", ("str",), "arrays, where Nodes apply their formulas to arrays"),
    "values_of": Key("values_of", ("str",), "the backend whose arrays the values are"),
}
NUMPY = "numpy"
#: What goes with another capability.
_NEEDS = {
    "choices": ("blocks",),
    "array_class": ("as_array",),
    "as_array": ("array_class",),
    "formulas": ("array_class",),
    "native_kernels": ("reduced_kernels", "formulas"),
    "reduced_kernels": ("native_kernels",),
    "pointwise_values": ("values_of",),
    "stored_values": ("pointwise_values",),
    "values_of": ("pointwise_values",),
}


def check_capabilities(
    fields: Mapping[str, Located], backends: Mapping[str, Backend], functions: FunctionIndex, report: Report
) -> None:
    """Reports the mistakes in what an entry says that its backend can do."""
    if "capabilities" not in fields or fields["name"].value not in backends:
        return
    backend = backends[fields["name"].value]
    listed = fields["capabilities"]
    good = check_keys(listed.value, _KEYS, f"the capabilities of {backend.name}", report)
    modules = frozenset(backend.kernels)
    for name, located in good.items():
        if name == "contractions" and located.value == NUMPY:
            continue  # the form itself has what multiplies NumPy's arrays
        if name in _KERNELS:
            _check_kernel(located, backend.name, functions, modules, report)
        elif name in _OBJECTS and not _is_object(located.value):
            report_scalar(located, f'"{located.value}" is no object of a module', "as numpy.ndarray", report)
        elif name == "formulas":
            known_word(located.value, located.place, ("arrays",), "way of formulas", report)
        elif name == "values_of":
            others = [b for b in backends if b != backend.name]
            known_word(located.value, located.place, others, "backend", report)
        for needed in _NEEDS.get(name, ()):
            if needed not in listed.value:
                place = located.key or located.place
                message = f'the capability "{name}" needs "{needed}"'
                expected = f"{needed}: {_KEYS[needed].meaning}"
                report.error(place, message, length=len(name), expected=expected)


def _check_kernel(
    located: Located, backend: str, functions: FunctionIndex, modules: frozenset[str], report: Report
) -> None:
    """The function is one of the backend's kernels."""
    found = functions.find(located.value, modules)
    if len(found) > 1:
        homes = ", ".join(f.home for f in found)
        report_scalar(
            located, f'"{located.value}" is a function of {homes}', "one kernel of this name", report
        )
    elif not found:
        names = functions.names(modules)
        message = f'{backend} has no kernel "{located.value}"'
        expected = "a function of a module that its kernels name"
        report_scalar(located, message, expected, report, suggestion(located.value, names))


def _is_object(text: str) -> bool:
    return "." in text and all(is_word(part) for part in text.split("."))
