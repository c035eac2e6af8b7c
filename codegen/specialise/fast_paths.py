"""Specialise: the C machine's fast paths of methods, bindings and Nodes, which fast_path_code writes.

They follow the statements of ``model/methods``, ``binding`` and ``model/nodes``. A fast path that meets
something unusual is left, and the function runs from its beginning: so it changes nothing before it is
sure of its result, and never words an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ...ir.expressions import (
    Assigned,
    Attribute,
    Call,
    Conditional,
    Constant,
    Expr,
    Logical,
    Name,
    Operation,
    Starred,
    all_of,
    dotted,
    replaced,
)
from ...ir.reader import read_expression
from ..model.methods import CallMethod, KernelMethod, Method, StoreMethod, WriteMethod
from ..model.names import ELEMENTS_GRADIENT
from ..model.nodes import Branch, Local, NodeClass, Unpacked
from ..model.records import InputKind, Kept, Record, Save, SaveGroup
from ..model.results import Relaid, Result, ResultKind
from .binding import Attempt, Binding
from .fast_path_code import OUT, Code, Unwritable

#: A zero of the dtype of a Tensor of the Type, and the one that the Type keeps.
_ZERO, _KEPT_ZERO = read_expression("xp.zeros((), self._array.dtype)"), read_expression("T.numbers.zero")


@dataclass(frozen=True, slots=True)
class Without:
    """What stands where a function has no fast path: why."""

    reason: str


#: What is written of a function; None: nothing, which is no loss.
Written = str | Without | None


class FastPaths:
    """The fast paths of generated modules, and the functions that have none, by their reasons."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, str]] = {}
        self.without: dict[str, dict[str, list[str]]] = {}

    def note(self, module: str, named: Iterable[tuple[str, Written]]) -> set[str]:
        """Note what was written of functions by their qualified names; those that have fast paths."""
        made = {name: written for name, written in named if written is not None}
        texts = {name: written for name, written in made.items() if isinstance(written, str)}
        if texts:
            self.found.setdefault(module, {}).update(texts)
        for name, written in sorted(made.items()):
            if isinstance(written, Without):
                self.without.setdefault(module, {}).setdefault(written.reason, []).append(name)
        return set(texts)

    def update(self, others: FastPaths) -> None:
        """Note those of other modules, too."""
        self.found.update(others.found)
        self.without.update(others.without)


def grouped(found: Mapping[str, str]) -> dict[str, list[str]]:
    """The functions by their fast paths, in which ``@`` stands for the function's own name."""
    groups: dict[str, list[str]] = {}
    for name, text in sorted(found.items()):
        function = name.rpartition(".")[2]
        if function in text:
            text = _without(function, text)
        groups.setdefault(text, []).append(name)
    return groups


def _without(function: str, text: str) -> str:
    """A fast path with ``@`` for its function's name."""
    instructions = [line.split(" ") for line in text.split("; ")]
    return "; ".join(
        [" ".join(["@" if word == function else word for word in line]) for line in instructions]
    )


# -- methods ---------------------------------------------------------------------------------------


def of_method(method: Method) -> Written:
    """The fast path of a Type's method."""
    try:
        if isinstance(method, KernelMethod):
            return _kernel_path(method)
        if isinstance(method, StoreMethod):
            return _write_path(method)
        if isinstance(method, CallMethod):
            return _call_path(method)
    except Unwritable as without:
        return Without(str(without))
    return None  # the method that calls the plain one, which has a fast path


def _method_code(method: KernelMethod | StoreMethod) -> Code:
    """The code that begins by seeing that the tensors among the arguments have NumPy's arrays."""
    parameters = dict(method.parameters)
    tensors = [name for name, kind in parameters.items() if kind in ("Tensor", "Tensor | None")]
    lists = [name for name, kind in parameters.items() if kind == "Sequence[Tensor]"]
    code = Code(["T", *parameters], tensors, values=dict(method.locals), lists=lists)
    for name in lists:
        code.add("are_tensors", name)
    for name in tensors:
        there = ""
        if parameters[name] != "Tensor":
            there = code.label()
            code.add("is_none", name, to=there, holds=True)
        code.add("is_tensor", name)
        code.add("has_array", name)
        if there:
            code.place(there)
    return code


def _kernel_path(method: KernelMethod) -> str:
    parameters = dict(method.parameters)
    if any(r.optional or r.cast is not None or r.kind is ResultKind.LIST for r in method.results):
        raise Unwritable("a result that is a list, cast, or may be absent")
    if "generator" in parameters:  # what is drawn must not be drawn again
        raise Unwritable("what is drawn must not be drawn again")
    code = _method_code(method)
    if "self" not in parameters and any(r.kind is not ResultKind.TENSOR for r in method.results):
        raise Unwritable("views of no argument")
    code.add("is_type" if method.arguments is None else "is_settled", "T")
    for _, condition in method.refused:
        code.test(condition, OUT, holds=True)
    _refuse_forbidden(code, method)
    for name in method.operands:
        code.add("is_small", name)
    if method.record is not None and method.record.undifferentiable is not None:
        _add_default_dtype(code, method.record, parameters)
    for name, value in method.locals:
        if isinstance(value, Call):  # what is computed is computed once
            code.push(value)
            _store(code, name)
    if len(method.results) == 1:
        _add_result(code, method, parameters)
    else:
        _add_results(code, method, parameters)
    code.add("give")
    return code.text


def _refuse_forbidden(code: Code, method: CallMethod | KernelMethod) -> None:
    for condition, _ in method.forbidden:
        code.test(condition, OUT, holds=True)


def _add_result(code: Code, method: KernelMethod, parameters: Mapping[str, str]) -> None:
    """The call of the kernel, and the Tensor of what it gives, or a tuple of views."""
    result = method.results[0]
    code.push(method.call)
    if method.may_be_scalars and result.is_one:
        code.add("as_array")
    if result.relaid is not None:
        _add_relaid(code, result.variable, result.relaid)
    _add_wrap(code, result)
    if method.record is not None:
        several = "views" if result.kind is ResultKind.VIEWS else "one"
        code.add("record", *_recipe(method.record, several))


def _add_results(code: Code, method: KernelMethod, parameters: Mapping[str, str]) -> None:
    """The same of a kernel with several results, each a Tensor: a tuple, or a class made of one."""
    record = method.record
    if not method.results or any(r.kind is not ResultKind.TENSOR for r in method.results):
        raise Unwritable("results that are not all tensors")
    if record is not None and record.undifferentiable is not None:
        raise Unwritable("several results, whose dtype an argument says")
    if method.structure:
        code.push(dotted(method.structure))
    code.push(method.call)
    code.add("unpack", len(method.results))
    for result in method.results:
        if method.may_be_scalars:
            code.add("as_array")
        _store(code, result.variable)
    for result in method.results:
        code.add("local", result.variable)
        if result.relaid is not None:
            _add_relaid(code, result.variable, result.relaid)
        _add_wrap(code, result)
        _store(code, result.out)
    for result in method.results:
        code.add("local", result.out)
    code.add("tuple", len(method.results))
    if record is not None:
        sets = [sum(1 << number for number in numbers) for numbers in (record.outputs, record.constants)]
        code.add("record", *_recipe(record, ":".join(map(str, (len(method.results), *sets)))))
    if method.structure:
        code.add("call", 1)


def _add_default_dtype(code: Code, record: Record, parameters: Mapping[str, str]) -> None:
    """What is recorded has the Type's own dtype: else it depends on the dtype whether it is."""
    if any(i.kind is not InputKind.TENSOR for i in record.inputs):
        raise Unwritable("a dtype that is asked of lists")
    wanted, end = code.label(), code.label()
    for i in record.inputs:
        code.add("needs_no_grad", i.name, to=wanted)
    code.add("jump", to=end)
    code.place(wanted)
    for name, kind in parameters.items():
        if kind == "dtype | None":
            code.add("is_none", name)
    code.place(end)


def _add_relaid(code: Code, variable: str, relaid: Relaid) -> None:
    """Give the array on top another layout where it needs one."""
    end = code.label()
    _store(code, variable)
    code.test(relaid.condition, end)
    code.push(relaid.call)
    _store(code, variable)
    code.place(end)
    code.add("local", variable)


def _add_wrap(code: Code, result: Result) -> None:
    match result.kind, result.type:
        case ResultKind.VIEWS, _:
            code.add("wrap_views", "self")
        case ResultKind.VIEW, None | Name("T"):
            code.add("wrap_view", "self")
        case ResultKind.TENSOR, Name("T"):
            code.add("wrap")
        case ResultKind.TENSOR, None:
            code.add("wrap_by_dtype")
        case ResultKind.TENSOR, Attribute(Name("T"), name):
            code.add("wrap_as", name)
        case _:
            raise Unwritable("a Type that is computed")


def _recipe(record: Record, results: str) -> Iterator[str]:
    """The words of what is recorded: the Node, its inputs, lists with ``*``, what it keeps, two answers.

    The first is whether it notes versions of its results, the second whether only results of the Type itself
    have a history.
    """
    inputs = [f"*{i.name}" if i.kind is InputKind.LIST else i.name for i in record.inputs]
    lists = [i.name for i in record.inputs if i.kind is InputKind.LIST]
    if lists and len(inputs) > 1 and any(group.condition is not None for group in record.saves):
        raise Unwritable("what is kept of lists depends on who asks")
    if any(
        save.kept is Kept.VALUE and save.source in lists for group in record.saves for save in group.saves
    ):
        raise Unwritable("a list that is kept as it is")
    yield record.node
    yield ",".join(inputs)
    yield ",".join(_kept(record.saves)) or "-"
    yield str(int(record.saves_results))
    yield str(int(record.undifferentiable is not None))
    yield results


def _kept(groups: Iterable[SaveGroup]) -> Iterator[str]:
    """What a Node keeps: the edges for which it does, what it is, of which argument, the slot."""
    for group in groups:
        if group.further is not None:
            raise Unwritable("what is kept depends on more than who asks")
        edges = sum(1 << number for number in group.edges)
        for save in group.saves:
            yield f"{edges}:{_what_is_kept(save)}:{save.slot}"


def _what_is_kept(save: Save) -> str:
    match save.kept, save.kind, save.metadata:
        case Kept.RESULT, _, _:
            # The arrays of several results are locals.
            return "result:-" if save.source == "_r" else f"value:{save.source}"
        case Kept.VALUE, _, _:
            return f"value:{save.source}"
        case Kept.TENSOR, InputKind.TENSOR | InputKind.OPTIONAL, _:
            return f"tensor:{save.source}"
        case Kept.METADATA, InputKind.TENSOR | InputKind.OPTIONAL, ("shape" | "type") as what:
            return f"{what}:{save.source}"
        case Kept.METADATA, InputKind.LIST, "shape":
            return f"shapes:{save.source}"
    raise Unwritable(f"{save.metadata or save.kept.value} of {save.kind.value} is kept")


def _write_path(method: StoreMethod) -> str:
    """Of an in-place variant: the write is counted before it is done."""
    code = _method_code(method)
    code.add("is_type", "T")
    code.add("runs_itself", "T")
    if method.condition is not None:
        code.test(method.condition, "")
    code.add("may_write", "self")
    for name, condition in method.sharing:
        there = code.label() if _is_optional(name, condition) else ""
        if there:
            code.add("is_none", name, to=there, holds=True)
        code.add("is_apart", name)
        if there:
            code.place(there)
    if isinstance(method, WriteMethod):
        code.add("begin_write", "self")
        code.push(method.call)
        code.add("pop")
    else:
        code.push(_KEPT_ZERO if method.call == _ZERO else method.call)
        code.add("write", "self")
    code.add("end_write", "self")
    code.add("give")
    return code.text


def _is_optional(name: str, condition: Expr) -> bool:
    """Whether the test that an operand shares memory asks first whether it is there."""
    match condition:
        case Logical("and", (Operation("is not", (Name(tested), Constant(None))), *_)):
            return tested == name
    return False


def _call_path(method: CallMethod) -> str:
    """Of what is one call, whose errors are the caller's."""
    code = Code(["T", *dict(method.parameters)])
    if isinstance(method.call, Conditional):  # which is asked of tensors
        for name, kind in method.parameters:
            if kind == "Tensor":
                code.add("is_tensor", name)
    for _, condition in method.refused:
        code.test(condition, OUT, holds=True)
    _refuse_forbidden(code, method)
    if method.widened is not None:
        code.test(dotted("T.rounds"), OUT, holds=True)
    code.invoke(method.call)
    code.add("give")
    return code.text


# -- Nodes -----------------------------------------------------------------------------------------


def of_apply(node: NodeClass) -> Written:
    """The fast path of a Node's ``apply`` over arrays."""
    try:
        return _apply_path(node)
    except Unwritable as without:
        return Without(str(without))


def of_release(node: NodeClass) -> str | None:
    """The fast path of a Node's ``release``."""
    if not node.released:
        return None
    return "; ".join([*(f"free {slot} FREED" for slot in node.released), "constant None", "give"])


def _apply_path(node: NodeClass) -> str:
    if node.parameter != "grad" or any(isinstance(e, Starred) for e in node.returned.elements):
        raise Unwritable("several gradients come in, or go to a list")
    code = Code(["node", "grad"], node=True)
    code.add("is_array", "grad")
    sized = any([b.blocked or b.native is not None for b in node.branches])
    made = any([b.targets == ELEMENTS_GRADIENT for b in node.branches])
    if sized and not made:
        code.add("is_small", "grad")
    for name in node.gradients:
        code.add("constant", "None")
        code.add("store", name)
        code.names.add(name)
    for condition, unpacked in node.common:
        end = _add_condition(code, condition)
        for local in unpacked:
            _add_local(code, local)
        if end:
            code.place(end)
    for branch in node.branches:
        end = _add_condition(code, branch.condition)
        _add_branch(code, branch)
        if sized and branch.targets == ELEMENTS_GRADIENT:
            code.add("is_small", ELEMENTS_GRADIENT)
        if end:
            code.place(end)
    for name in node.gradients:
        code.add("local", name)
    code.add("tuple", len(node.gradients))
    code.add("give")
    return code.text


def _add_condition(code: Code, condition: Expr | None) -> str:
    """The test of whether a branch runs; the label behind it."""
    if condition is None:
        return ""
    end = code.label()
    code.test(condition, end)
    return end


#: What takes each out of a slot.
_UNPACKING = {
    Unpacked.TENSOR: "saved",
    Unpacked.OPTIONAL: "saved_or_none",
    Unpacked.RESULT: "saved_result",
}


def _add_local(code: Code, local: Local) -> None:
    """A name for what a Node has saved, or for what is computed."""
    if not local.name.isidentifier():
        raise Unwritable("names for several values at once")
    if local.unpacked is None:
        code.push(_over_slots(local.value))
    else:
        code.add(_UNPACKING[local.unpacked], local.slot)
    _store(code, local.name)


def _over_slots(expr: Expr) -> Expr:
    """The expression in which ``edges`` is a slot of the Node's."""
    return replaced(expr, {"edges": dotted("node.next_edges")})


def _store(code: Code, name: str) -> None:
    code.add("store", name)
    code.names.add(name)


def _add_branch(code: Code, branch: Branch) -> None:
    for local in branch.prepare:
        _add_local(code, local)
    end = ""
    if (native := branch.native) is not None:
        otherwise, end = code.label(), code.label()
        code.push_kernel_call(native.kernel, native.small, otherwise)
        code.add("jump", to=end)
        code.place(otherwise)
    for local in branch.named:
        _add_local(code, local)
    code.push(_over_slots(branch.formula))
    if end:
        code.place(end)
    targets = branch.targets.split(", ")
    if len(targets) > 1:
        code.add("unpack", len(targets))
    for target in targets:
        if branch.may_be_scalars:
            code.add("as_array")
        _store(code, target)


# -- bindings --------------------------------------------------------------------------------------


def of_binding(binding: Binding) -> Written:
    """The fast path of a function or method that users call: its first paths, as many as can be written."""
    try:
        code = _binding_start(binding)
    except Unwritable as without:
        return Without(str(without))
    written, reason = 0, "it has no first path"
    for receiver, attempts in binding.receivers():
        following = code.label()
        before = list(code.lines)
        try:
            _add_receiver(code, receiver, following)
            for attempt in attempts:
                before = list(code.lines)
                _add_attempt(code, attempt, receiver)
                written += 1
        except Unwritable as without:
            reason = str(without)
            code.lines[:] = before
            code.place(following)
            break
        code.place(following)
    code.add("leave")
    return code.text if written else Without(reason)


#: What the callable itself sees to.
_SEEN_TO = (read_expression("not active"), read_expression("not keywords"))


def _binding_start(binding: Binding) -> Code:
    if "*more" in binding.parameters:
        raise Unwritable("arguments as PyTorch took them formerly")
    code = Code(binding.names, loose="*args" in binding.parameters)
    code.add("not_intercepted")
    for _, word, _ in binding.words:
        code.add("is_missing", word)
    for test in binding.guard:
        if test not in _SEEN_TO:
            _add_guard(code, test)
    return code


def _add_guard(code: Code, test: Expr) -> None:
    match test:
        case Operation("not x", (Name(name),)) if name in code.names:
            code.add("is_same", name, False)
        case Operation(
            "is not",
            (
                Assigned("T", Call(Name("one_type"), (Assigned(own, Call(Name("held"), (Name(name),))),))),
                Constant(None),
            ),
        ):
            code.add("have_one_type", name)
            code.push(read_expression(f"tuple({name})"))
            _store(code, own)
            code.add("runs_all", own)
        case _:
            code.test(test, "")


def _add_receiver(code: Code, receiver: Expr | None, following: str) -> None:
    """See that the tensor whose Type runs the operator is one."""
    if receiver is None:  # the guard has seen to it
        return
    name = code.local(receiver)
    if name is None:
        raise Unwritable("what no name is runs it")
    if receiver == Name("self"):
        code.add("is_tensor", name, to=following)
    else:
        code.add("is_plain", name, to=following)
    code.add("runs", name)


def _add_attempt(code: Code, attempt: Attempt, receiver: Expr | None) -> None:
    following = code.label()
    if attempt.tests:
        code.test(all_of(attempt.tests), following)
    owners = [Name("T"), *([] if receiver is None else [Attribute(receiver, "_type")])]
    match attempt.call:
        case Call(Attribute(owner, method), arguments, ()) if owner in owners:
            for argument in arguments:
                code.push(argument)
            code.add("method", method, len(arguments))
            code.add("give")
        case _:
            raise Unwritable("it returns what it was given")
    code.place(following)
