"""What the tests of function overrides share: the protocol under the name that each library gives it."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

HAVE_TORCH = importlib.util.find_spec("torch") is not None
TORCH = pytest.param(
    "torch", marks=[pytest.mark.oracle, pytest.mark.skipif(not HAVE_TORCH, reason="torch is not installed")]
)

Handler = Callable[..., Any]


class Library:
    """A library, and the protocol of its function overrides."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.m: ModuleType = importlib.import_module(name)
        self.overrides: Any = importlib.import_module(f"{name}.overrides")
        self.protocol = f"__{name}_function__"
        self.Tensor = self.m.Tensor

    def __getattr__(self, name: str) -> Any:
        return getattr(self.m, name)

    def spelt(self, text: str) -> str:
        """A name of ``tengen.overrides`` as the library has it."""
        return text.replace("tengen", self.name).replace("Tengen", self.name.capitalize())

    def of_overrides(self, name: str) -> Any:
        """What ``tengen.overrides`` has under this name."""
        return getattr(self.overrides, self.spelt(name))

    def disabled(self, *, modes: bool = False) -> Any:
        """The context manager that disables overrides."""
        name = self.spelt("DisableTengenFunction" if modes else "DisableTengenFunctionSubclass")
        return getattr(self.m._C if self.name == "torch" else self.overrides, name)()

    @property
    def opted_out(self) -> Any:
        """The handler of classes that take no part."""
        name = self.spelt("_disabled_tengen_function_impl")
        return getattr(self.m._C if self.name == "torch" else self.overrides, name)

    def define(self, name: str, bases: tuple[type, ...], handler: Handler | None = None, **rest: Any) -> Any:
        """A class whose protocol is ``handler(cls, func, types, args, kwargs)``."""
        body = dict(rest)
        if handler is not None:

            def protocol(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                return handler(cls, func, types, args, kwargs or {})

            body[self.protocol] = classmethod(protocol)
        kind = type(self.Tensor) if any(issubclass(b, self.Tensor) for b in bases) else type
        return kind(name, bases, body)

    def subclass(
        self, handler: Handler | None = None, name: str = "Sub", base: Any = None, **rest: Any
    ) -> Any:
        """A subclass of Tensor."""
        return self.define(name, (base or self.Tensor,), handler, **rest)

    def foreign(self, handler: Handler, name: str = "Foreign", **rest: Any) -> Any:
        """A class of objects that are no tensors."""
        return self.define(name, (), handler, **rest)

    def default(self, cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """What Tensor's own handler does for ``cls``."""
        own = getattr(self.Tensor, self.protocol).__func__
        return own(cls, func, types, args, kwargs)

    def logging(self, log: list[Any], name: str = "Logging") -> Any:
        """A subclass that notes the name of each function it is asked for."""

        def handler(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
            log.append(func.__name__)
            return self.default(cls, func, types, args, kwargs)

        return self.subclass(handler, name)

    def mode(self, handler: Handler) -> Any:
        """A mode with ``handler(func, types, args, kwargs)``."""

        def protocol(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return handler(func, types, args, kwargs or {})

        base = self.of_overrides("TengenFunctionMode")
        return type("Mode", (base,), {self.protocol: protocol})()


@pytest.fixture(params=["tengen", TORCH])
def lib(request: pytest.FixtureRequest) -> Library:
    """tengen, and where it is installed torch: a test of both."""
    return Library(request.param)


@pytest.fixture
def ours() -> Library:
    """tengen alone, where the libraries differ on purpose."""
    return Library("tengen")
