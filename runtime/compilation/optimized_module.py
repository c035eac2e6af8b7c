"""Compiled modules: a module whose calls run the programs of another one."""

from __future__ import annotations

from typing import Any

from ..nn.modules.module import Module
from .function import Compiled


class OptimizedModule(Module):
    """A module, compiled: attributes, parameters and mode are those of the module itself, ``_orig_mod``."""

    __module__ = "tengen._dynamo"

    def __init__(self, module: Module, options: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__["_compiled"] = Compiled(module, options)
        self._modules["_orig_mod"] = module
        for name in [n for n in vars(self) if n == "training" or n.startswith(("_forward", "_backward"))]:
            del self.__dict__[name]  # the mode and the hooks of calls are the module's

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_compiled"](*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self._orig_mod.forward(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        module = self.__dict__["_modules"].get("_orig_mod")
        return module if name == "_orig_mod" else getattr(module, name)

    def __setattr__(self, name: str, value: Any) -> None:
        module = self.__dict__.get("_modules", {}).get("_orig_mod")
        if module is None:
            super().__setattr__(name, value)
        else:
            setattr(module, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._orig_mod, name)

    def train(self, mode: bool = True) -> OptimizedModule:
        self._orig_mod.train(mode)
        return self

    def eval(self) -> OptimizedModule:
        return self.train(False)

    def __len__(self) -> int:
        return len(self._orig_mod)

    def __getitem__(self, index: Any) -> Any:
        return self._orig_mod[index]

    def __reduce__(self) -> Any:
        from ..compiler import compile

        return compile, (self._orig_mod,)
