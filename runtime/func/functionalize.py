"""``functionalize``: a function without writes, its in-place operators as functional ones.

The function is given handles. What a handle stands for, its value, is what operators get; a write makes it
stand for another value, and so what it is a view of, by the view's ``write_back`` rule. All views of that are
then made anew. In the end the inputs that were written to are written for good.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tengen.generated.operators import OPERATORS

from ..autograd.grad_mode import grad_mode
from ..autograd.variable_type_utils import check_inplace, check_writable
from ..autograd.view import adopt_view
from ..core.interception import AliasKind, Layer
from ..core.operands import map_tensors, tensors_in
from ..core.protocols import Operator
from ..core.storage import storage_of
from ..dispatch.functional_variant import functional_variant
from ..dispatch.operator import operator as find_operator
from ..kernels.layout import extent
from ..tensors.tensor import Tensor
from ..utils.pytree import tree_flatten, tree_unflatten
from .batched import ensure_batch_dim, set_value, wrap
from .batching_rules import rule_of

_new = object.__new__


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """The function that does what ``func`` does, without writing before its end.

    In-place operators and ``out=`` become the functional operators, also where they write through views; the
    tensors among the arguments that ``func`` writes to are written to when it has returned. With
    ``remove="mutations_and_views"`` views become copies, too. What is around the call (``jit.trace``,
    ``vmap``, ``grad``) sees the operators that are left. Tensors that ``func`` does not get as arguments
    are written to at once.

    Raises RuntimeError for another ``remove``, and where ``func`` writes to one of two arguments that share
    memory and are not the same tensor.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}."
            " Valid options are:\n"
            "     remove='mutations': all inplace and out= operators will be removed from the program, and "
            "replaced with their out-of-place equivalents.\n"
            "     remove='mutations_and_views': In addition to the above, all aliasing operators {view} will "
            "be replaced with their non-aliasing counterparts, {view}_copy.\n"
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        level = FunctionalLevel(copies=remove == "mutations_and_views")
        leaves, spec = tree_flatten((args, kwargs))
        given, words = tree_unflatten([level.input(t) for t in leaves], spec)
        with level:
            result, result_spec = tree_flatten(func(*given, **words))
        level.write_inputs()
        results = [level.result(t) for t in result]
        level.change_inputs()
        return tree_unflatten(results, result_spec)

    return wrapped


class _Cell:
    """What a handle stands for, and how that is made of another cell's value, if it is a view."""

    __slots__ = (
        "__weakref__",
        "handle",
        "made",
        "number",
        "operator",
        "parent",
        "rest",
        "root",
        "value",
        "views",
        "writes",
    )

    def __init__(self, value: Tensor) -> None:
        self.value = value
        self.handle: Callable[[], Tensor | None] = lambda: None
        self.parent: _Cell | None = None
        self.operator: Operator | None = None
        self.rest: tuple[Any, ...] = ()
        self.number: int | None = None  # of the result, where there are several
        self.root = self
        self.views: list[weakref.ref[_Cell]] = []  # of a root
        self.writes = 0  # to a root
        self.made = 0  # the root's count of writes when the value was made

    def view_of(self, parent: _Cell, operator: Operator, rest: tuple[Any, ...], number: int | None) -> None:
        """Make it a view."""
        self.parent, self.operator, self.rest, self.number = parent, operator, rest, number
        self.root = parent.root
        self.made = self.root.writes
        self.root.views.append(weakref.ref(self))

    def live_views(self) -> Iterator[_Cell]:
        """The views that somebody has, of a root."""
        found = [cell for reference in self.views if (cell := reference()) is not None]
        self.views = [weakref.ref(cell) for cell in found]
        yield from found

    def descends(self, other: _Cell) -> bool:
        """Whether this is a view of the other, or of a view of it."""
        cell: _Cell | None = self
        while cell is not None and cell is not other:
            cell = cell.parent
        return cell is other


class FunctionalLevel(Layer):
    """The layer of one call. With ``copies`` views are copies."""

    def __init__(self, copies: bool) -> None:
        self.copies = copies
        #: Whether operators are called on values.
        self.lowered = False
        self.cells: dict[int, _Cell] = {}
        #: By the id of an input: it, its handle, the cell of its elements, what changed its geometry.
        self.inputs: dict[int, tuple[Tensor, Tensor, list[_Cell], list[Callable[[Tensor], Any]]]] = {}

    # -- handles

    def input(self, given: Any) -> Any:
        """What the function is given for an argument."""
        if not isinstance(given, Tensor):
            return given
        if id(given) not in self.inputs:
            cell = _Cell(given)
            self.inputs[id(given)] = given, self.handle(cell), [cell], []
        return self.inputs[id(given)][1]

    def handle(self, cell: _Cell, handle: Tensor | None = None) -> Tensor:
        """A handle on a cell's value: a new one, unless one is given."""
        made = _handle_on(cell.value) if handle is None else handle
        key = id(made)
        cell.handle = weakref.ref(made, lambda _: self.cells.pop(key, None))
        self.cells[key] = cell
        return made

    def value(self, tensor: Tensor) -> Tensor:
        """What a tensor stands for."""
        cell = self.cells.get(id(tensor))
        if cell is None:
            return tensor
        if tensor._requires_grad and not cell.value._requires_grad:  # made a leaf by requires_grad_
            del self.cells[id(tensor)]
            return tensor
        return cell.value

    def on_alias(self, tensor: Any, out: Any, how: AliasKind, map: Any) -> None:
        cell = self.cells.get(id(tensor))
        if cell is not None and how is not AliasKind.COPIED and not self.lowered:
            view = _Cell(_handle_on(out))
            view.view_of(cell, find_operator("alias" if how is AliasKind.ALIAS else "detach"), (), None)
            self.handle(view, out)

    # -- operators

    def __call__(self, operator: Operator, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        if self.lowered:
            return proceed(*arguments)
        if operator.base is not None and operator.written:
            targets = tensors_in([arguments[i] for i in operator.written])
            if any([id(t) in self.cells for t in targets]):
                return self.write(operator, arguments, targets, proceed)
        elif operator.kind == "composite":
            return self.wrap_new(arguments, proceed(*arguments))
        given = tuple(map_tensors(self.value, arguments))
        with _Lowered(self):
            if operator.kind == "view" and id(arguments[0]) in self.cells:
                result = self.view(operator, given, proceed)
            else:
                result = proceed(*given)
        if operator.base is not None:
            return arguments[-1] if operator.kind == "out" else arguments[0]
        return self.wrap(operator, arguments, result)

    def view(self, operator: Operator, given: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        """The result of a view operator, or a copy of it."""
        if not self.copies:
            return proceed(*given)
        function, _, overload = operator.name.partition(".")
        copy = f"{function}_copy.{overload}" if overload else f"{function}_copy"
        if copy in OPERATORS:
            return find_operator(copy)(*given)
        return proceed(*given).clone()

    def wrap_new(self, arguments: tuple[Any, ...], result: Any) -> Any:
        """The result of a composite; as a handle, if no operator made it, as of ``zeros_like``."""
        if not isinstance(result, Tensor) or id(result) in self.cells or result._requires_grad:
            return result
        memory = storage_of(result)
        if any([storage_of(t) is memory for t in tensors_in(arguments)]):
            return result
        return self.handle(_Cell(result))

    def wrap(self, operator: Operator, arguments: tuple[Any, ...], result: Any) -> Any:
        """The results of an operator as handles."""
        source = self.cells.get(id(arguments[0])) if operator.kind == "view" else None
        if operator.kind == "view" and source is None:
            return result  # of a tensor that is no handle
        single = isinstance(result, Tensor)
        made = []
        for number, value in enumerate((result,) if single else result or ()):
            if not isinstance(value, Tensor) or (value._requires_grad and value._edge is None):
                made.append(value)
                continue
            cell = _Cell(value)
            if source is not None:
                cell.view_of(source, operator, arguments[1:], None if single else number)
            made.append(self.handle(cell))
        if single:
            return made[0]
        return type(result)(made) if made else result  # also what has names takes one sequence

    # -- writes

    def write(
        self,
        operator: Operator,
        arguments: tuple[Any, ...],
        targets: Sequence[Any],
        proceed: Callable[..., Any],
    ) -> Any:
        """Run the functional operator, and make its results what the targets stand for."""
        given = arguments[:-1] if operator.kind == "out" else arguments
        functional = functional_variant(operator, given)
        if functional is None and operator.kind == "composite" and rule_of(operator) is None:
            return proceed(*arguments)  # which writes by operators that have one
        if functional is None:
            raise RuntimeError(f"functionalize: {operator.name} has no functional variant")
        direct = operator.kind in ("inplace", "out")
        if direct and grad_mode.enabled and any([t._requires_grad for t in tensors_in(arguments)]):
            for target in targets:
                check_inplace(self.value(target))
        result = functional(*(self.unsaved(given, targets) if direct else given))
        results = (result,) if isinstance(result, Tensor) else tuple(result)
        for target, made in zip(targets, results, strict=True):
            if direct and not (operator.kind == "out" and target._array.shape != made._array.shape):
                check_writable(operator.function, target, made, False)
        for target, made in zip(targets, results, strict=True):
            self.assign(operator, arguments, target, made)
        return arguments[-1] if operator.kind == "out" else arguments[0]

    def unsaved(self, given: tuple[Any, ...], targets: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments, with copies of targets in the memory of inputs, which is written in the end."""
        if not grad_mode.enabled or not any([t._requires_grad for t in tensors_in(given)]):
            return given
        memories = {id(storage_of(x)) for x, *_ in self.inputs.values()}

        def put(tensor: Tensor) -> Tensor:
            value = self.value(tensor)
            if any([tensor is t for t in targets]) and id(storage_of(value)) in memories:
                with _Lowered(self):
                    return value.clone()
            return tensor

        return tuple(map_tensors(put, given))

    def assign(self, operator: Operator, arguments: tuple[Any, ...], target: Tensor, made: Tensor) -> None:
        """Make a target stand for what was made."""
        cell, found = self.cells.get(id(target)), self.cells.get(id(made))
        value = self.value(made)
        if cell is None:
            with _Lowered(self):
                target.copy_(value)
            return
        if found is cell:
            return
        if found is not None and found.descends(cell):
            self.reshape(cell, found, lambda x: operator(x, *arguments[1:]))
            return
        with _Lowered(self):
            if value.dtype is not target.dtype:
                value = value.to(target.dtype)
            if operator.kind != "out" and value.shape != target.shape:
                value = value.expand(target.shape)
            if any([storage_of(value) is storage_of(self.value(t)) for t in tensors_in(arguments)]):
                value = value.clone()
            self.store(cell, value)

    def store(self, cell: _Cell, value: Tensor) -> None:
        """Make a cell stand for a value, and what it is a view of, and the views of that."""
        from tengen.generated.write_backs import WRITE_BACKS

        self.check_shared(cell.root)
        while cell.parent is not None:
            assert cell.operator is not None
            rule = WRITE_BACKS.get(cell.operator.name)
            if rule is None:
                raise RuntimeError(
                    f"functionalize: a write to what {cell.operator.name} gives, which has no write_back rule"
                )
            whole, given, rest = cell.parent.value, value, map_tensors(self.value, cell.rest)
            if cell.number is not None:
                parts: Any = list(cell.operator(whole, *rest))
                parts[cell.number] = value
                given = parts
            cell, value = cell.parent, rule(whole, *rest, given)
        cell.writes += 1
        cell.made = cell.writes
        self.replace(cell, _laid_out_as(value, cell.value))
        for view in cell.live_views():
            self.refresh(view)

    def refresh(self, cell: _Cell) -> None:
        """Make a view anew, if what it is a view of was written to."""
        if cell.made == cell.root.writes or cell.parent is None:
            return
        assert cell.operator is not None
        self.refresh(cell.parent)
        given = (cell.parent.value, *map_tensors(self.value, cell.rest))
        result = self.view(cell.operator, given, cell.operator)
        cell.made = cell.root.writes
        self.replace(cell, result if cell.number is None else result[cell.number])

    def replace(self, cell: _Cell, value: Tensor) -> None:
        """Give a cell and its handle a value. Where nothing is recorded, the history stays as it is."""
        if not grad_mode.enabled and cell.value._requires_grad:
            if storage_of(cell.value) is not storage_of(value):
                cell.value.copy_(value)
            return
        cell.value = value
        handle = cell.handle()
        if handle is not None:
            _become(handle, value)

    def reshape(self, cell: _Cell, found: _Cell, change: Callable[[Tensor], Any]) -> None:
        """Make a target the view ``found`` of what it was: only its geometry changes."""
        before = _Cell(cell.value)
        if cell.parent is None:
            before.views, before.writes, before.made = cell.views, cell.writes, cell.made
            for view in before.live_views():
                view.root = before
        else:
            assert cell.operator is not None
            before.view_of(cell.parent, cell.operator, cell.rest, cell.number)
            before.made = cell.made
        for view in before.root.live_views():
            if view.parent is cell:
                view.parent = before
        for _, own, memory, changes in self.inputs.values():
            if memory[0] is cell:
                memory[0] = before
            if cell.handle() is own:
                changes.append(change)
        assert found.parent is not None and found.operator is not None
        cell.view_of(found.parent, found.operator, found.rest, found.number)
        cell.value = found.value
        handle = cell.handle()
        if handle is not None:
            _become(handle, found.value)

    def check_shared(self, root: _Cell) -> None:
        """RuntimeError where an input that is written to shares its memory with another one."""
        for given, _, memory, _ in self.inputs.values():
            if memory[0] is root and any([
                other is not given and storage_of(other) is storage_of(given)
                for other, *_ in self.inputs.values()
            ]):  # fmt: skip
                raise RuntimeError(
                    "functionalize: two of the arguments share memory that is written to; clone() one of them"
                )

    # -- the end

    def write_inputs(self) -> None:
        """Write what the function wrote to its arguments."""
        for given, _, memory, _ in self.inputs.values():
            root = memory[0]
            if root.value is not given:
                if given._array.shape != root.value._array.shape:
                    given.resize_(root.value.shape)
                given.copy_(root.value)
                root.value = given
                root.writes += 1
                root.made = root.writes

    def change_inputs(self) -> None:
        """Give the arguments the geometry that they have got: behind all that is made of their elements."""
        for given, _, _, changes in self.inputs.values():
            for change in changes:
                change(given)

    def result(self, tensor: Any) -> Any:
        """What is returned for a handle: of an argument this itself."""
        cell = self.cells.get(id(tensor)) if isinstance(tensor, Tensor) else None
        if cell is None:
            return tensor
        for given, handle, *_ in self.inputs.values():
            if handle is tensor:
                return given
        self.lowered = True
        self.refresh(cell)
        return cell.value


class _Lowered:
    """A context in which a level passes operators on."""

    __slots__ = ("before", "level")

    def __init__(self, level: FunctionalLevel) -> None:
        self.level = level

    def __enter__(self) -> None:
        self.before = self.level.lowered
        self.level.lowered = True

    def __exit__(self, *error: object) -> None:
        self.level.lowered = self.before


def _handle_on(value: Any) -> Any:
    """Another tensor object for the same elements and history."""
    if value._wraps:
        return wrap(value._value, value._bdim, value._layer)
    return adopt_view(value, _new(Tensor))


def _laid_out_as(value: Any, like: Any) -> Any:
    """A value with the strides of another of its shape: on these it depends what can be viewed."""
    shape, strides = tuple(like.shape), tuple(like.stride())
    if tuple(value.shape) != shape or not like._type.backend.is_strided or _alike(value, shape, strides):
        return value
    order = sorted(range(len(shape)), key=lambda dim: -strides[dim])
    placed = value.permute(order).contiguous().permute(sorted(range(len(shape)), key=lambda i: order[i]))
    if _alike(placed, shape, strides):
        return placed
    memory = value.new_zeros(extent(shape, strides))
    return memory.as_strided_scatter(value, shape, strides, 0).as_strided(shape, strides, 0)


def _alike(value: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Whether a tensor of a shape has these strides, where they matter."""
    found = value.stride()
    return 0 in shape or all([n < 2 or a == b for n, a, b in zip(shape, found, strides, strict=True)])


def _become(handle: Any, value: Any) -> None:
    """Make a handle one on a value. RuntimeError where it would hide a batch dimension that it had not."""
    if handle._wraps:
        set_value(handle, ensure_batch_dim(value, handle._layer))
    elif value._wraps:
        raise RuntimeError(
            "vmap: an in-place operator is not possible, for what is written is vmapped over and the tensor "
            "that it is written to is not; use out-of-place operators instead"
        )
    else:
        adopt_view(value, handle)
