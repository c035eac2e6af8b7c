"""``import torch`` finds tengen: for scripts and packages that are written for PyTorch, unchanged.

``as_torch`` puts a finder before those of Python. Modules whose name begins with ``torch.`` are tengen's
modules of the same name, and ``torch`` itself is a module in front of ``tengen``, which also answers with the
version of PyTorch whose behaviour this is, and with the private names that many programs use
(``torch_private``).
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable, Iterable, Sequence
from email.message import EmailMessage
from pathlib import Path
from types import ModuleType, TracebackType
from typing import Any

from .core.missing_name import PAGE
from .core.package_name import package
from .torch_homes import Names
from .torch_private import FRONTS, INSTEAD, MODULES, NAMES, REFUSED, Refused, TorchVersion, refusal
from .version import torch_version

_NAME = "torch"
#: What of PyTorch is imported by itself: ``torch``, and the package that it ships beside.
_TOPS = (_NAME, "functorch")


class _Distribution(importlib.metadata.Distribution):
    """What ``importlib.metadata.version("torch")`` finds."""

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            message = EmailMessage()
            message["Metadata-Version"], message["Name"], message["Version"] = "2.1", _NAME, torch_version
            return message.as_string()
        return None

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parent / str(path)


def _absent(name: str) -> str:
    """What to say of a name of PyTorch's that is not here."""
    whole = name if name.partition(".")[0] in _TOPS else f"{_NAME}.{name}"
    parts = name.split(".")
    known = (INSTEAD.get(".".join(parts[:count])) for count in range(len(parts), 0, -1))
    instead = next((text for text in known if text), f"see {PAGE}")
    return f"tengen, which stands in for torch, has no {whole}: {instead}"


def _explain(module: ModuleType) -> Callable[[str], Any]:
    """``__getattr__`` of a module of tengen meanwhile: its own, and its error names PyTorch's module."""
    own = module.__dict__.get("__getattr__")
    _, _, place = module.__name__.partition(".")

    def find(name: str) -> Any:
        try:
            if own is not None:
                return _adopted(name, own(name), f"{_NAME}.{place}")
        except AttributeError:
            if name.startswith("__"):
                raise
        if f"{_NAME}.{place}.{name}" in MODULES:
            return importlib.import_module(f"{_NAME}.{place}.{name}")
        raise AttributeError(_absent(f"{place}.{name}"), name=name, obj=module) from None

    return find


class _Front(ModuleType):
    """A module in front of one of tengen's, which has the rest of its attributes."""

    def __init__(
        self, name: str, behind: str, names: dict[str, Any], path: Sequence[str] | None = None
    ) -> None:
        super().__init__(name, importlib.import_module(behind).__doc__)
        self.__dict__["_behind"] = behind
        self.__dict__.update(names)
        if path is not None:
            self.__path__ = list(path)

    def __getattr__(self, name: str) -> Any:
        behind = sys.modules[self.__dict__["_behind"]]
        for word in (name, name.replace("torch", "tengen").replace("Torch", "Tengen")):
            try:
                return _adopted(name, getattr(behind, word), self.__name__)
            except AttributeError as error:
                if name.startswith("__"):
                    raise error from None
        place = f"{self.__name__}.{name}"
        if importlib.util.find_spec(place) is not None:
            return importlib.import_module(place)
        raise AttributeError(_absent(place.removeprefix(f"{_NAME}.")), name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({*self.__dict__, *dir(sys.modules[self.__dict__["_behind"]])})


class _Loader(importlib.abc.Loader):
    """Puts a module of tengen under a name of PyTorch's."""

    def __init__(self, behind: str) -> None:
        self.behind = behind

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        assert spec is not None
        made: ModuleType
        if spec.name == _NAME:
            own = {"__version__": TorchVersion(torch_version), **NAMES}
            made = _Front(_NAME, self.behind, own, path=[])
            made.__dict__["torch"] = made
        elif spec.name in REFUSED and self.behind != _NOTHING:
            made = _Front(spec.name, self.behind, {}, path=[])
        elif callable(content := MODULES.get(spec.name)):
            made = ModuleType(spec.name)
            made.__path__ = []
            made.__dict__.update(content())
        elif (reason := refusal(spec.name)) is not None and self.behind == _NOTHING:
            made = Refused(spec.name, reason)
        elif spec.name in FRONTS:
            made = _Front(spec.name, self.behind, FRONTS[spec.name], path=[])
        else:
            sys.modules[spec.name] = importlib.import_module(self.behind)
            return
        for name, value in list(made.__dict__.items()):
            _adopted(name, value, spec.name)
        made.__spec__, made.__loader__ = spec, self
        sys.modules[spec.name] = made


class _Finder(importlib.abc.MetaPathFinder):
    """Finds ``torch`` and what is below it."""

    #: What changes ``__module__`` meanwhile.
    names: Names | None = None

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in _TOPS:
            return None
        behind = _behind(fullname)
        if behind is None:
            if target is None and _is_import():
                raise ModuleNotFoundError(_absent(fullname.removeprefix(f"{_NAME}.")), name=fullname)
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(behind), is_package=True)

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context
    ) -> Iterable[importlib.metadata.Distribution]:
        """The distribution ``torch``, for who asks for its version."""
        return [_Distribution()] if context.name == _NAME else []


def _is_import() -> bool:
    """Whether a module is imported, and not only looked for by ``importlib.util.find_spec``."""
    frame = sys._getframe(2)
    while frame is not None and "importlib" in frame.f_code.co_filename:
        if frame.f_code.co_name == "_find_and_load_unlocked":
            return True
        if frame.f_back is None:
            return False
        frame = frame.f_back
    return False


#: In place of the name of a module of tengen, where PyTorch's is one that only refuses.
_NOTHING = ""


def _behind(fullname: str) -> str | None:
    """The module of tengen that a module of PyTorch's is; None where there is none."""
    if fullname == _NAME:
        return "tengen"
    if fullname in MODULES:
        found = MODULES[fullname]
        return found if isinstance(found, str) else "tengen"
    name = f"tengen.{fullname.removeprefix(f'{_NAME}.')}"
    try:
        if importlib.util.find_spec(name) is not None:
            return name
    except (ModuleNotFoundError, ValueError):
        pass
    return None if refusal(fullname) is None else _NOTHING


_finder = _Finder()


def _adopted(name: str, value: Any, place: str) -> Any:
    """What a module shows by a name, which says from now on that it is of there."""
    if _finder.names is not None:
        _finder.names.adopt(name, value, place)
    return value


class as_torch:
    """From here on, or within ``with``, ``import torch`` finds tengen, for programs and packages.

    ``tengen.as_torch()`` lasts until its ``undo()`` is called. Names are printed as PyTorch's
    (``torch.float32``), ``torch.__version__`` is the version whose behaviour this is, and classes with
    ``__torch_function__`` take calls over. What is missing raises AttributeError or ModuleNotFoundError with
    the name and what there is instead. RuntimeError where PyTorch itself was imported before.
    """

    def __init__(self) -> None:
        _check_not_imported()
        self._made = _finder not in sys.meta_path
        if self._made:
            from .tensors.tensor import Tensor

            sys.meta_path.insert(0, _finder)
            package.name = _NAME
            self._names = _finder.names = Names(_explain)
            self._names.begin()
            handler: Any = Tensor.__tengen_function__
            Tensor.__torch_function__ = classmethod(handler.__func__)
            importlib.invalidate_caches()

    def undo(self) -> None:
        """``import torch`` finds what it found before; modules that imported tengen as torch keep it."""
        if self._made:
            from .tensors.tensor import Tensor

            self._made = False
            sys.meta_path.remove(_finder)
            package.name = "tengen"
            _finder.names = None
            self._names.end()
            del Tensor.__torch_function__
            for name in [n for n in sys.modules if n.partition(".")[0] in _TOPS]:
                del sys.modules[name]

    def __enter__(self) -> as_torch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.undo()


def _check_not_imported() -> None:
    found = sys.modules.get(_NAME)
    if found is not None and not isinstance(found, _Front):
        where = getattr(found, "__file__", None)
        raise RuntimeError(f"as_torch: PyTorch was imported already, from {where}; call it before")
