"""Batching rules: how an operator is run on the values of tensors of one vmap level.

Which rule an operator has is declared; ``generated/batching.py`` has the table. Here is what the kinds of
rules do. As in functorch, a *logical* shape or dimension is one that the function under ``vmap`` sees; the
value is the *physical* tensor, whose batch dimension is in front where nothing else is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..core.operands import map_tensors, tensors_in
from ..formulas.batching import pad_to_logical_rank
from ..kernels.dims import wrap_dim
from ..kernels.layout import broadcast_shapes
from ..tensors.tensor import Tensor
from .batched import ensure_batch_dim, is_batched_at, move_batch_dim_to_front, set_value, wrap
from .batching_checks import check_logical_rank, raise_slice_error

if TYPE_CHECKING:
    from ..core.protocols import Operator
    from .level import VmapLevel


def _with_batch_dim(arguments: Sequence[Any], places: Sequence[int], level: VmapLevel) -> list[Any]:
    """The arguments, those at ``places`` with the batch in front."""
    given = list(arguments)
    for i in places:
        given[i] = map_tensors(lambda t: ensure_batch_dim(t, level), (given[i],))[0]
    return given


class Rule:
    """A rule as the table has it; ``run`` takes and returns tensors of the level."""

    __slots__ = ()

    #: Whether the operator draws random numbers: its rule runs even if no argument is batched.
    is_random = False
    #: Whether the operator could take the batch dimension for a logical one that a slice lacks.
    rank_sensitive = False

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        """The results of the operator, as tensors of the level. Its errors are those of one slice."""
        with level.lower():
            if self.rank_sensitive:
                check_logical_rank(level, operator, arguments)
            try:
                result = self.values(level, operator, arguments)
            except Exception:
                if not self.is_random:
                    raise_slice_error(level, operator, arguments)
                raise
        return wrap_results(result, level)

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        """The results as values, the batch dimension in front."""
        raise NotImplementedError

    def write(self, level: VmapLevel, operator: Operator, base: Operator, arguments: Sequence[Any]) -> Any:
        """The in-place variant ``operator`` of ``base``, which has this rule; ``self`` is of the level."""
        from .batching_writes import write_functional

        return write_functional(level, operator, base, arguments)


_rules: dict[str, Rule | None] = {}


def rule_of(operator: Operator) -> Rule | None:
    """The rule of an operator; None where it is run by calling others, which are batched in turn."""
    try:
        return _rules[operator.name]
    except KeyError:
        found = _find(operator)
        if operator.fixed:
            _rules[operator.name] = found
        return found


def _find(operator: Operator) -> Rule | None:
    from tengen.generated.batching import RULES

    from ..dispatch.operator import operator as by_name
    from .batching_loop import ForLoopFallback
    from .batching_writes import InPlace, Out

    if operator.kind == "inplace" and operator.base is not None:
        return InPlace(by_name(operator.base))
    if operator.kind == "out" and operator.base is not None:
        return Out(by_name(operator.base))
    rule: Rule | None = RULES.get(operator.name)
    if rule is None and not operator.decomposes and operator.tensors:
        return ForLoopFallback()
    return rule


# -- arguments and results ---------------------------------------------------------------


def wrap_results(result: Any, level: VmapLevel) -> Any:
    """Values as tensors of the level; in tuples and lists too, of which None stays None."""
    if isinstance(result, Tensor):
        return wrap(result, 0, level)
    if result is None:
        return None
    if isinstance(result, (tuple, list)):
        made = [wrap_results(r, level) for r in result]
        return made if result.__class__ is list else result.__class__(made)
    raise RuntimeError(f"vmap: an operator that returns {type(result).__name__} cannot be batched")


# -- pointwise ---------------------------------------------------------------------------


class Pointwise(Rule):
    """Broadcasts the logical shapes, as for one slice."""

    __slots__ = ()

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        return operator(*self.aligned(level, operator, arguments))

    def aligned(self, level: VmapLevel, functional: Operator, arguments: Sequence[Any]) -> list[Any]:
        """The arguments with values in place of the level's tensors, so that they broadcast."""
        ndim = max([t._array.ndim for t in tensors_in(arguments)])
        arguments = promote_logical_scalars(level, functional, arguments)
        return map_tensors(
            lambda t: pad_to_logical_rank(move_batch_dim_to_front(t), ndim) if is_batched_at(t, level) else t,
            arguments,
        )

    def write(self, level: VmapLevel, operator: Operator, base: Operator, arguments: Sequence[Any]) -> Any:
        target = arguments[0]
        shape = target._array.shape
        for t in tensors_in(arguments[1:]):
            if t._array.ndim > len(shape):
                raise RuntimeError(
                    f"{operator.function}: output with shape {list(shape)} doesn't match the broadcast shape "
                    f"{list(t._array.shape)}"
                )
        with level.lower():
            operator(*self.aligned(level, base, arguments))
        return target


class Broadcast(Pointwise):
    """As Pointwise, for an operator whose last logical dimensions do not broadcast."""

    __slots__ = ()

    rank_sensitive = True


def promote_logical_scalars(level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Sequence[Any]:
    """The arguments, with logical 0-d tensors cast to the dtype that one slice has.

    A 0-d tensor does not promote others of its category, but its value has a batch dimension and would.
    """
    if not operator.promote:
        return arguments
    operands = tensors_in([arguments[i] for i in operator.promoted])
    if len({t._type.scalar_type for t in operands}) < 2:
        return arguments
    if not any(is_batched_at(t, level) and t._array.ndim == 0 for t in operands):
        return arguments
    from ..core.promotion import common_dtype

    values: list[Any] = []
    for i in operator.promoted:
        value = arguments[i]
        values += value if value.__class__ in (list, tuple) else [] if value is None else [value]
    common = common_dtype(values, operator.promote)

    def cast(tensor: Any) -> Any:
        if is_batched_at(tensor, level) and tensor._array.ndim == 0:
            return wrap(tensor._value.to(common), tensor._bdim, level)
        return tensor

    taking = set(operator.promoted)
    return [map_tensors(cast, (a,))[0] if i in taking else a for i, a in enumerate(arguments)]


# -- dimensions --------------------------------------------------------------------------


class Reduction(Rule):
    """Goes over the dimensions ``dim``, all where there is none, of its first tensor."""

    __slots__ = ("dim", "is_list", "keepdim", "tensor")

    def __init__(self, tensor: int, dim: int, is_list: bool, keepdim: int | None) -> None:
        self.tensor = tensor
        self.dim = dim
        self.is_list = is_list
        self.keepdim = keepdim

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        given = list(arguments)
        value = ensure_batch_dim(given[self.tensor], level)
        size, *shape = value._array.shape
        ndim = len(shape)
        keep = self.keepdim is not None and bool(given[self.keepdim])
        dim = given[self.dim]
        everything = dim is None or (dim.__class__ in (tuple, list) and not dim)
        if everything or ndim == 0:
            for d in () if everything else (dim if self.is_list else (dim,)):
                wrap_dim(d, 0)
            value = value.reshape((size, _numel(shape)))
            dims: tuple[int, ...] = (1,)
            if self.keepdim is not None:
                given[self.keepdim] = False
        else:
            dims = tuple([wrap_dim(d, ndim) + 1 for d in (dim if self.is_list else (dim,))])
        given[self.tensor], given[self.dim] = value, dims if self.is_list else dims[0]
        result = operator(*given)
        if not everything and ndim:
            return result

        def restored(made: Tensor) -> Tensor:
            """What is one number for all, or has all elements, which stand in a row."""
            if made._array.ndim == 2:
                return made.reshape((size, *shape))
            return made.reshape((size, *[1] * ndim)) if keep else made

        return map_results(restored, result)


def _numel(shape: Sequence[int]) -> int:
    count = 1
    for n in shape:
        count *= n
    return count


def map_results(function: Callable[[Any], Any], result: Any) -> Any:
    """``function`` of a result, or of each of several."""
    if isinstance(result, Tensor):
        return function(result)
    if result is None:
        return None
    made = [map_results(function, r) for r in result]
    return made if result.__class__ is list else result.__class__(made)


class Leading(Rule):
    """The operator itself, on values with the batch dimension in front.

    ``tensors`` are the arguments that are given with them, ``dims`` those that count dimensions, of a
    tensor with ``added`` more than the first of ``tensors`` has, and ``sizes`` those that are shapes.
    ``atleast_1d``: logical 0-d tensors count as vectors of one element.
    """

    __slots__ = ("added", "atleast_1d", "dims", "sizes", "tensors")

    rank_sensitive = True

    def __init__(
        self,
        tensors: Sequence[int],
        dims: Sequence[int] = (),
        added: int = 0,
        sizes: Sequence[int] = (),
        atleast_1d: bool = False,
    ) -> None:
        self.tensors = tensors
        self.dims = dims
        self.added = added
        self.sizes = sizes
        self.atleast_1d = atleast_1d

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        given = _with_batch_dim(arguments, self.tensors, level)
        first = tensors_in([given[i] for i in self.tensors])[0]
        ndim = first._array.ndim - 1
        single = bool(self.dims) and not self.added and ndim == 0
        if single or self.atleast_1d:  # what has no dimension counts as having one
            for i in self.tensors:
                given[i] = map_tensors(lambda t: pad_to_logical_rank(t, 1), (given[i],))[0]
        for i in self.dims:
            given[i] = physical_dims(given[i], ndim + self.added)
        for i in self.sizes:
            if given[i] is not None:
                shape = _infer_size(given[i], first._array.shape[1:]) if -1 in given[i] else given[i]
                given[i] = (level.size, *((1,) if single and not shape else shape))
        result = operator(*given)
        return map_results(_drop_dim, result) if single else result


def _drop_dim(result: Any) -> Any:
    """Results of one element for each slice as logical 0-d tensors."""
    shape = result._array.shape
    if len(shape) > 1 and shape[1] != 1:
        raise RuntimeError(
            "vmap: the results of 0-d tensors have one element, and cannot be differently shaped"
        )
    return result.squeeze(1) if len(shape) > 1 else result


def _infer_size(size: Sequence[int], shape: Sequence[int]) -> Sequence[int]:
    """``size`` with the size that -1 stands for, inferred from the logical ``shape``."""
    rest = _numel([n for n in size if n != -1])
    if rest == 0 or list(size).count(-1) != 1:
        return size
    return tuple([_numel(shape) // rest if n == -1 else n for n in size])


def physical_dims(dim: Any, ndim: int) -> Any:
    """Logical dimensions, one or several or None, as those of the value."""
    if dim is None:
        return None
    if dim.__class__ in (tuple, list):
        return tuple([wrap_dim(d, ndim) + 1 for d in dim])
    return wrap_dim(dim, ndim) + 1


class Fold(Rule):
    """The operator on values whose dimensions before the last ``rank`` are folded into one."""

    __slots__ = ("rank", "tensors")

    rank_sensitive = True

    def __init__(self, tensors: Sequence[int], rank: int) -> None:
        self.tensors = tensors
        self.rank = rank

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        given = list(arguments)
        lead: tuple[int, ...] = ()
        for i in self.tensors:
            if given[i] is None:
                continue
            value = ensure_batch_dim(given[i], level)
            shape = value._array.shape
            at = len(shape) - self.rank
            if not lead:
                lead = tuple(shape[: max(at, 1)])
            if at > 1:
                value = value.reshape((_numel(shape[:at]), *shape[at:]))
            given[i] = value
        result = operator(*given)
        return (
            map_results(lambda r: r.reshape((*lead, *r._array.shape[1:])), result)
            if len(lead) > 1
            else result
        )


class Loss(Rule):
    """A loss of elements, with an argument ``reduction``, or its gradient.

    The unreduced loss is computed and then reduced for each slice; a gradient is expanded first.
    """

    __slots__ = ("grad", "reduction", "tensors")

    def __init__(self, tensors: Sequence[int], reduction: int, grad: int | None) -> None:
        self.tensors = tensors
        self.reduction = reduction
        self.grad = grad  # of its gradient: the argument that is the result's

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        given = list(arguments)
        reduction, given[self.reduction] = given[self.reduction], 0
        others = [i for i in self.tensors if i != self.grad and given[i] is not None]
        ndim = max([given[i]._array.ndim for i in others])
        for i in others:
            given[i] = pad_to_logical_rank(ensure_batch_dim(given[i], level), ndim)
        if self.grad is not None:
            given[self.grad] = self._element_grad(level, given, others, reduction, ndim)
            return operator(*given)
        result = operator(*given)
        if reduction == 0:
            return result
        row = result.reshape((level.size, _numel(result._array.shape[1:])))
        return row.mean(1) if reduction == 1 else row.sum(1)

    def _element_grad(
        self, level: VmapLevel, given: Sequence[Any], others: Sequence[int], reduction: int, ndim: int
    ) -> Any:
        """The gradient of each element's loss."""
        assert self.grad is not None
        grad = ensure_batch_dim(given[self.grad], level)
        if reduction == 0:
            return pad_to_logical_rank(grad, ndim)
        shape = broadcast_shapes(*[tuple(given[i]._array.shape) for i in others])
        if reduction == 1:
            grad = grad / _numel(shape[1:])
        return grad.reshape((level.size, *[1] * ndim)).expand(shape)


class PhysicalFunction(Rule):
    """A function of the arguments, those in ``tensors`` as values."""

    __slots__ = ("function", "tensors")

    rank_sensitive = True

    def __init__(self, tensors: Sequence[int], function: Callable[..., Any]) -> None:
        self.tensors = tensors
        self.function = function

    def values(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        given = _with_batch_dim(arguments, self.tensors, level)
        return self.function(*given)


class Decompose(Rule):
    """A function of the arguments as they are, whose operators are batched in turn."""

    __slots__ = ("function",)

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        check_logical_rank(level, operator, arguments)
        try:
            return self.function(*arguments)
        except Exception:
            with level.lower():
                raise_slice_error(level, operator, arguments)
            raise


class Become(Decompose):
    """An in-place operator after which ``self`` is the view of itself that the function gives."""

    __slots__ = ()

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        view = self.function(*arguments)
        set_value(arguments[0], view._value, view._bdim)
        return arguments[0]


class Refuse(Rule):
    """The operator cannot be batched: RuntimeError with this text."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        raise RuntimeError(f"vmap: {self.text}")


class Cases(Rule):
    """Rules by which arguments are batched: the first rule that covers these arguments."""

    __slots__ = ("cases",)

    def __init__(self, cases: Sequence[tuple[frozenset[int] | None, Rule]]) -> None:
        self.cases = cases

    def run(self, level: VmapLevel, operator: Operator, arguments: Sequence[Any]) -> Any:
        batched = {i for i, a in enumerate(arguments) if level.any_batched((a,))}
        rule = next(rule for covered, rule in self.cases if covered is None or batched <= covered)
        return rule.run(level, operator, arguments)
