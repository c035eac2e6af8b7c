"""``infer_schema``: the schema of a function, from its annotations."""

from __future__ import annotations

import collections.abc
import inspect
import typing
from collections.abc import Callable, Iterable
from types import GenericAlias, UnionType
from typing import Any, Final, NoReturn

from ..core.device import device
from ..core.scalar_type import dtype
from ..tensors.tensor import Tensor
from .tags import Tag, as_tags

UNKNOWN: Final = "unknown"
_NUMBER: Final = int | float | bool

#: Of each type the name in schemas, and whether there are ``T[]``, ``T?[]`` and ``T[]?`` of it.
_BASES: Final[list[tuple[Any, str, bool, bool, bool]]] = [
    (Tensor, "Tensor", True, True, False),
    (int, "SymInt", True, False, True),
    (float, "float", True, False, True),
    (bool, "bool", True, False, True),
    (str, "str", False, False, False),
    (_NUMBER, "Scalar", True, False, False),
    (dtype, "ScalarType", False, False, False),
    (device, "Device", False, False, False),
]


def _sequences(element: Any) -> list[Any]:
    return [
        typing.Sequence[element],
        typing.List[element],  # noqa: UP006
        GenericAlias(collections.abc.Sequence, (element,)),
        GenericAlias(list, (element,)),
    ]


def _parameter_types() -> dict[Any, str]:
    found: dict[Any, str] = {}
    for base, name, lists, of_optional, optional_lists in _BASES:
        found[base] = name
        found[typing.Optional[base]] = f"{name}?"  # noqa: UP045
        if lists:
            found.update({kind: f"{name}[]" for kind in _sequences(base)})
        if of_optional:
            found.update({kind: f"{name}?[]" for kind in _sequences(typing.Optional[base])})  # noqa: UP045
        if optional_lists:
            found.update({typing.Optional[k]: f"{name}[]?" for k in _sequences(base)})  # noqa: UP045
    return found


#: What annotations of parameters and of results may be.
PARAMETER_TYPES: Final = _parameter_types()
RETURN_TYPES: Final[dict[Any, str]] = {
    Tensor: "Tensor",
    typing.List[Tensor]: "Tensor[]",  # noqa: UP006
    list[Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    _NUMBER: "Scalar",
}


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Tag | Iterable[Tag] | None = (),
) -> str:
    """The schema of a function with type annotations: ``(Tensor x, SymInt n=2) -> Tensor``.

    ``mutates_args`` are the names of the arguments that it writes to, or ``"unknown"``: all tensors count as
    written to then. ``op_name`` is put before the schema. ``tags`` with ``Tag.inplace`` or ``Tag.out`` say
    that what is written to is returned. Raises ValueError for annotations and defaults that a schema cannot
    have.
    """
    return _Inference(prototype_function, mutates_args, as_tags(tags)).schema(op_name)


class _Inference:
    """The parts of one schema."""

    def __init__(
        self, function: Callable[..., Any], mutates_args: str | Iterable[str], tags: tuple[Tag, ...]
    ) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        self.inplace, self.out = Tag.inplace in tags, Tag.out in tags
        if self.inplace and self.out:
            raise AssertionError("tengen.Tag.inplace and tengen.Tag.out are mutually exclusive")
        if isinstance(mutates_args, str) and mutates_args != UNKNOWN:
            raise ValueError(
                "mutates_args must either be a sequence of the names of the arguments that are mutated or "
                "the string 'unknown'. "
            )
        self.mutated = None if isinstance(mutates_args, str) else tuple(mutates_args)
        self.given = mutates_args
        #: The aliases of out arguments, by name.
        self.outs: dict[str, str] = {}
        #: Name, type and alias of the first argument by position.
        self.first: tuple[str, str, str] | None = None

    def fail(self, what: str) -> NoReturn:
        raise ValueError(f"infer_schema(func): {what} Got func with signature {self.signature})")

    def schema(self, name: str | None) -> str:
        written: list[str] = []
        for number, parameter in enumerate(self.signature.parameters.values()):
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in written:
                written.append("*")
            written.append(self.parameter(number, parameter))
        self._check_mutated()
        return f"{name or ''}({', '.join(written)}) -> {self.returns()}"

    # -- parameters

    def parameter(self, number: int, parameter: inspect.Parameter) -> str:
        """``Tensor(a0!) x=default``."""
        name = parameter.name
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            self.fail("We do not support positional-only args, varargs, or varkwargs.")
        if parameter.annotation is parameter.empty:
            self.fail(f"Parameter {name} must have a type annotation.")
        kind = self._parameter_type(name, self.resolved(parameter.annotation), parameter.annotation)
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and self.first is None:
            self.first = name, kind, f"a{number}"
        kind = self._mutated_type(number, parameter, kind)
        if parameter.default is parameter.empty:
            return f"{kind} {name}"
        return f"{kind} {name}={self._default(name, parameter.default)}"

    def _parameter_type(self, name: str, annotation: Any, shown: Any) -> str:
        try:
            found = PARAMETER_TYPES.get(annotation)
        except TypeError:  # not hashable
            found = None
        if found is not None:
            return found
        valid = f"The valid types are: {PARAMETER_TYPES.keys()}."
        if typing.get_origin(annotation) is tuple:
            example = _as_list(annotation)
            hint = f"For example, {example}.\n\n" if example in PARAMETER_TYPES else ""
            self.fail(
                f"Parameter {name} has unsupported type {shown}. We do not support Tuple inputs in schema. "
                f"As a workaround, please try to use List instead. {hint}{valid}"
            )
        self.fail(f"Parameter {name} has unsupported type {shown}. {valid}")

    def _mutated_type(self, number: int, parameter: inspect.Parameter, kind: str) -> str:
        """The type with an alias, where the function writes to it."""
        name = parameter.name
        is_tensor = kind.startswith("Tensor")
        if self.mutated is None:
            if not is_tensor:
                return kind
        elif name not in self.mutated:
            return kind
        elif not is_tensor:
            self.fail(
                f"Parameter {name} is in mutable_args but only Tensors or collections of Tensors can be "
                "mutated"
            )
        if self.out:
            if parameter.kind is not parameter.KEYWORD_ONLY:
                self.fail("tengen.Tag.out requires mutable arguments to be keyword-only.")
            if kind != "Tensor":
                self.fail("tengen.Tag.out only supports mutable keyword-only Tensor arguments.")
            self.outs[name] = f"a{number}"
        return f"Tensor(a{number}!){kind[len('Tensor') :]}"

    def _default(self, name: str, value: Any) -> str:
        if value is None or isinstance(value, (int, float)):
            return str(value)
        if isinstance(value, (str, device)):
            return f'"{value}"'
        if isinstance(value, dtype):
            return value.name
        self.fail(f"Parameter {name} has an unsupported default value type {type(value)}.")

    def _check_mutated(self) -> None:
        names = set(self.signature.parameters)
        unknown = set(self.mutated or ()) - names
        if unknown:
            self.fail(
                f"{unknown} in mutates_args were not found in the custom op's signature. mutates_args "
                "should contain the names of all args that the custom op mutates, or just the string "
                "'unknown' if you don't know."
            )
        if self.inplace:
            if self.first is None:
                self.fail("tengen.Tag.inplace requires a positional Tensor argument.")
            if self.first[1] != "Tensor":
                self.fail("tengen.Tag.inplace requires the first positional argument to be a Tensor.")
            if self.mutated is None or set(self.mutated) != {self.first[0]}:
                self.fail(
                    "tengen.Tag.inplace requires mutates_args to contain exactly the first positional "
                    f"argument, got {self.given}."
                )
        if self.out and not self.outs:
            self.fail("tengen.Tag.out requires at least one mutable keyword-only Tensor argument.")

    # -- results

    def returns(self) -> str:
        annotation = self.resolved(self.signature.return_annotation)
        if self.out:
            tensors = (Tensor,) * len(self.outs)
            same = annotation is Tensor
            if len(tensors) > 1:
                same = typing.get_origin(annotation) is tuple and typing.get_args(annotation) == tensors
            if not same:
                self.fail(
                    "tengen.Tag.out requires the return annotation to match the mutable keyword-only Tensor "
                    f"arguments {tuple(self.outs)}."
                )
            results = [f"Tensor({alias}!)" for alias in self.outs.values()]
            return results[0] if len(results) == 1 else f"({', '.join(results)})"
        found = self._plain_returns(annotation)
        if self.inplace:
            if found != "Tensor":
                self.fail("tengen.Tag.inplace requires the return annotation to be tengen.Tensor.")
            assert self.first is not None
            return f"Tensor({self.first[2]}!)"
        return found

    def _plain_returns(self, annotation: Any) -> str:
        if annotation is None:
            return "()"
        if annotation is inspect.Parameter.empty:
            self.fail("No return type annotation was provided. Please add one.")
        single = typing.get_origin(annotation) is not tuple
        parts = (annotation,) if single else typing.get_args(annotation)
        if any([part not in RETURN_TYPES for part in parts]):
            self.fail(f"Return has unsupported type {annotation}. The valid types are: {RETURN_TYPES}.")
        if single:
            return RETURN_TYPES[annotation]
        text = ", ".join([RETURN_TYPES[part] for part in parts])
        return f"(({text}))" if len(parts) == 1 else f"({text})"  # a tuple of one is written ((Tensor))

    # -- annotations

    def resolved(self, annotation: Any) -> Any:
        """An annotation without strings in it, and ``X | None`` as typing has it."""
        if isinstance(annotation, str):
            return self.resolved(self._evaluated(annotation))
        origin = typing.get_origin(annotation)
        if origin is None:
            return annotation
        arguments = tuple([self.resolved(a) for a in typing.get_args(annotation)])
        if origin in (UnionType, typing.Union):
            return typing.Union[arguments]  # noqa: UP007
        if arguments != typing.get_args(annotation):
            return GenericAlias(origin, arguments)
        return annotation

    def _evaluated(self, annotation: str) -> Any:
        try:
            return eval(annotation, self.function.__globals__)
        except NameError as error:
            self.fail(
                f"Unsupported type annotation {annotation}. It is not a type. ({error}). If you are using "
                "'from __future__ import annotations', note that annotations are evaluated lazily as "
                "strings; make sure all types referenced in annotations are importable at module scope, "
                "not only inside a local function."
            )
        except Exception as error:
            self.fail(
                f"Unsupported type annotation {annotation}. It is not a type. ({type(error).__name__}: "
                f"{error})"
            )


def _as_list(annotation: Any) -> Any:
    """A tuple's annotation as that of a list."""
    parts = typing.get_args(annotation)
    if not parts:
        return list
    if len(parts) == 2 and parts[1] is Ellipsis:
        parts = parts[:1]
    return GenericAlias(list, (parts[0] if len(parts) == 1 else typing.Union[parts],))  # noqa: UP007
