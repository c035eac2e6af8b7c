"""The error of a name that a module lacks, whose text says what was probably meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable

#: Modules of PyTorch's that tengen has not.
LACKING = frozenset(
    {
        "ao",
        "contrib",
        "export",
        "futures",
        "fx",
        "monitor",
        "mtia",
        "nativert",
        "numa",
        "package",
        "quantization",
        "torch_version",
    }
)
#: Where it is told what there is in place of what is missing.
PAGE = "'Coming from PyTorch' in tengen's documentation"
#: How alike names are of which one was probably meant, as difflib measures it.
_ALIKE = 0.75


class MissingName(AttributeError):
    """An AttributeError whose text looks for names like the one that is missing.

    It looks when the text is read: ``hasattr`` asks for names that may not be there, and reads none. Python
    itself makes such a suggestion only of modules with at most 750 names.
    """

    def __init__(self, module: str, missing: str, names: Callable[[], Iterable[str]]) -> None:
        super().__init__(f"module {module!r} has no attribute {missing!r}", name=missing, obj=None)
        self.names = names

    def __str__(self) -> str:
        if self.name in LACKING:
            return f"{self.args[0]}: tengen lacks this module of PyTorch's, see {PAGE}"
        from difflib import get_close_matches

        close = get_close_matches(str(self.name), sorted(self.names()), 1, _ALIKE)
        return f"{self.args[0]}. Did you mean: {close[0]!r}?" if close else str(self.args[0])
