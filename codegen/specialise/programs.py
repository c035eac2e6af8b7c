"""Specialise: the accelerator's programs of methods, bindings and Nodes, which program_code writes.

They follow the statements of ``model/methods``, ``binding`` and ``model/nodes``. A program that meets
something unusual is left, and the function runs from its beginning: so a program changes nothing before it is
sure of its result, and never words an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..ir.expressions import Assigned, Attribute, Call, Constant, Expr, Name, Operation
from ..ir.reader import read_expression
from ..model.methods import (
    CallMethod,
    KernelMethod,
    Method,
    Record,
    Relaid,
    Result,
    ResultKind,
    Save,
    SaveGroup,
    StoreMethod,
    WriteMethod,
)
from ..model.nodes import Branch, NodeClass
from .binding import Attempt, Binding
from .program_code import OUT, Code, Unwritable

_OWN_TYPE = "T if {0}.dtype is T.dtype else T.of_array({0})"
#: A name that is part of no dotted one.
_ALONE = re.compile(r"\b(?<![.:@])\w+\b(?![.:@])")
_ARRAY_SIZE = re.compile(r"(\w+)\._array\.size < LARGE")
_EDGE = re.compile(r"edges\[(\d+)\] is not None")
_VERSION = re.compile(r"0 if (\w+)._storage is None else \1._storage.version")
_OPTIONAL_VERSION = re.compile(
    r"0 if (\w+) is None else \(0 if \1._storage is None else \1._storage.version\)"
)
_SAVED = re.compile(r"(\w+) = node\.(\w+)\._array if \(storage := node\.\2\._storage\) is None or .*")
_SAVED_OPTIONAL = re.compile(
    r"(\w+) = None if node\.(\w+) is None else unpack_array\(node\.\2, node\.\2_version, node\)"
)
#: A zero of the dtype of a Tensor of the Type, which keeps one.
_ZERO = re.compile(r"^xp\.zeros\(\(\), self\._array\.dtype\)$")
_SAVED_RESULT = re.compile(r"(\w+) = unpack_result_array\(node, node\.(_result\d+), \d+\)")


def programs(named: Iterable[tuple[str, str | None]]) -> dict[str, str]:
    """The programs that there are, by the qualified names of their functions."""
    return {name: text for name, text in sorted(named) if text is not None}


def grouped(found: Mapping[str, str]) -> dict[str, list[str]]:
    """The functions by their programs, in which ``@`` stands for the function's own name."""
    groups: dict[str, list[str]] = {}
    for name, text in sorted(found.items()):
        function = name.rpartition(".")[2]
        if function in text:
            text = _without(function, text)
        groups.setdefault(text, []).append(name)
    return groups


def _without(function: str, text: str) -> str:
    """A program with ``@`` for its function's name; by one pattern for all, which are many to compile."""
    return _ALONE.sub(lambda word: "@" if word[0] == function else word[0], text)


# -- methods ---------------------------------------------------------------------------------------


def of_method(method: Method) -> str | None:
    """The program of a Type's method; None where it has none."""
    try:
        if isinstance(method, KernelMethod):
            return _kernel_program(method)
        if isinstance(method, StoreMethod):
            return _write_program(method)
        if isinstance(method, CallMethod):
            return _call_program(method)
    except (Unwritable, SyntaxError):
        pass
    return None


def _parameters(signature: str) -> dict[str, str]:
    """The names of a method's parameters, with their annotations."""
    found = [part.partition(": ") for part in re.split(r", (?=\w+: )", signature) if part]
    return {name: annotation for name, _, annotation in found}


def _method_code(signature: str, locals_: Sequence[tuple[str, str]]) -> tuple[Code, dict[str, str]]:
    """The code that begins by seeing that the tensors among the arguments have NumPy's arrays."""
    parameters = _parameters(signature)
    tensors = [name for name, kind in parameters.items() if kind in ("Tensor", "Tensor | None")]
    values = {name: read_expression(text) for name, text in locals_}
    lists = [name for name, kind in parameters.items() if kind == "Sequence[Tensor]"]
    code = Code(["T", *parameters], tensors, values=values, lists=lists)
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
    return code, parameters


def _kernel_program(method: KernelMethod) -> str:
    parameters = _parameters(method.signature)
    if any(r.optional or r.cast is not None or r.kind is ResultKind.LIST for r in method.results):
        raise Unwritable
    if "generator" in parameters:  # what is drawn must not be drawn again
        raise Unwritable
    code, parameters = _method_code(method.signature, method.locals)
    if "self" not in parameters and any(r.kind is not ResultKind.TENSOR for r in method.results):
        raise Unwritable
    code.add("is_settled" if method.arguments else "is_type", "T")
    for _, condition in method.refused:
        code.test(read_expression(condition), OUT, holds=True)
    if method.small:
        _add_small(code, method.small)
    if method.record is not None and method.record.undifferentiable is not None:
        _add_default_dtype(code, method.record, parameters)
    if len(method.results) == 1 and method.returned == method.results[0].out:
        _add_result(code, method, parameters)
    else:
        _add_results(code, method, parameters)
    code.add("give")
    return code.text


def _add_result(code: Code, method: KernelMethod, parameters: Mapping[str, str]) -> None:
    """The call of the kernel, and the Tensor of what it gives, or a tuple of views."""
    result = method.results[0]
    code.push(read_expression(method.call))
    if method.may_be_scalars and result.is_one:
        code.add("as_array")
    if result.relaid is not None:
        _add_relaid(code, result.variable, result.relaid)
    _add_wrap(code, result)
    if method.record is not None:
        several = "views" if result.kind is ResultKind.VIEWS else "one"
        code.add("record", *_recipe(method.record, parameters, several))


def _add_results(code: Code, method: KernelMethod, parameters: Mapping[str, str]) -> None:
    """The same of a kernel with several results, each a Tensor: a tuple, or a class made of one."""
    outs = ", ".join(r.out for r in method.results)
    found = re.fullmatch(rf"(?:([\w.]+)\()?\({re.escape(outs)}\)\)?", method.returned)
    record = method.record
    if found is None or any(r.kind is not ResultKind.TENSOR for r in method.results):
        raise Unwritable
    if record is not None and record.undifferentiable is not None:
        raise Unwritable
    if found[1]:
        code.push(read_expression(found[1]))
    code.push(read_expression(method.call))
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
        code.add("record", *_recipe(record, parameters, ":".join(map(str, (len(method.results), *sets)))))
    if found[1]:
        code.add("call", 1)


def _add_small(code: Code, condition: str) -> None:
    names = _ARRAY_SIZE.findall(condition)
    if " and ".join(f"{n}._array.size < LARGE" for n in names) != condition:
        raise Unwritable
    for name in names:
        code.add("is_small", name)


def _add_default_dtype(code: Code, record: Record, parameters: Mapping[str, str]) -> None:
    """What is recorded has the Type's own dtype: else it depends on the dtype whether it is."""
    inputs = [_input(part, parameters) for part in record.condition.split(" or ")]
    if any(parameters.get(name) != "Tensor" for name in inputs):
        raise Unwritable
    wanted, end = code.label(), code.label()
    for name in inputs:
        code.add("needs_no_grad", name, to=wanted)
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
    code.test(read_expression(relaid.condition), end)
    code.push(read_expression(relaid.call))
    _store(code, variable)
    code.place(end)
    code.add("local", variable)


def _add_wrap(code: Code, result: Result) -> None:
    by_dtype = result.type in ("", _OWN_TYPE.format(result.variable))
    if result.kind is ResultKind.VIEWS:
        code.add("wrap_views", "self")
    elif result.kind is ResultKind.VIEW:
        if not (by_dtype or result.type == "T"):
            raise Unwritable
        code.add("wrap_view", "self")
    elif result.type == "T":
        code.add("wrap")
    elif by_dtype:
        code.add("wrap_by_dtype")
    elif result.type.startswith("T.") and result.type[2:].isidentifier():
        code.add("wrap_as", result.type[2:])
    else:
        raise Unwritable


def _recipe(record: Record, parameters: Mapping[str, str], results: str) -> Iterator[str]:
    """The words of what is recorded: the Node, its inputs, lists with ``*``, what it keeps, two answers.

    The first is whether it notes versions of its results, the second whether only results of the Type itself
    have a history.
    """
    inputs = [_input(part, parameters) for part in record.condition.split(" or ")]
    several = any(name.startswith("*") for name in inputs) and len(inputs) > 1
    if several and any(group.condition is not None for group in record.saves):
        raise Unwritable
    yield record.node
    yield ",".join(inputs)
    kept = list(_kept(record.saves))
    if any(f":value:{name[1:]}:" in one for name in inputs if name.startswith("*") for one in kept):
        raise Unwritable
    yield ",".join(kept) or "-"
    yield str(int(record.saves_results))
    yield str(int(record.undifferentiable is not None))
    yield results


def _input(test: str, parameters: Mapping[str, str]) -> str:
    found = re.fullmatch(r"(\w+)\._requires_grad|\((\w+) is not None and \2\._requires_grad\)", test)
    if found is not None and (found[1] or found[2]) in parameters:
        return found[1] or found[2]
    found = re.fullmatch(r"\(?any_requires_grad\((\w+)\)\)?", test)
    if found is None or parameters.get(found[1]) != "Sequence[Tensor]":
        raise Unwritable
    return f"*{found[1]}"


def _kept(groups: Iterable[SaveGroup]) -> Iterator[str]:
    """What a Node keeps: the edges for which it does, what it is, of which argument, the slot."""
    for group in groups:
        edges = 0
        if group.condition is not None:
            numbers = _EDGE.findall(group.condition)
            if " or ".join(f"edges[{n}] is not None" for n in numbers) != group.condition:
                raise Unwritable
            edges = sum(1 << int(n) for n in numbers)
        saves = list(group.saves)
        while saves:
            save = saves.pop(0)
            what, name = _what_is_kept(save, saves[0] if saves else None)
            if what == "tensor":
                saves.pop(0)
            yield f"{edges}:{what}:{name}:{save.slot}"


def _what_is_kept(save: Save, following: Save | None) -> tuple[str, str]:
    text = save.expression
    if following is not None and following.slot == f"{save.slot}_version":
        found = _VERSION.fullmatch(following.expression) or _OPTIONAL_VERSION.fullmatch(following.expression)
        if found is None or found[1] != text:
            raise Unwritable
        return "tensor", text
    for what, pattern in (("shape", r"(\w+)\._array\.shape"), ("type", r"(\w+)\._type")):
        found = re.fullmatch(rf"(?:None if (\w+) is None else )?{pattern}", text)
        if found is not None:
            return what, found[2]
    found = re.fullmatch(r"tuple\(\[(\w+)\._array\.shape for \1 in (\w+)\]\)", text)
    if found is not None:
        return "shapes", found[2]
    if text == "_r":
        return "result", "-"
    if not text.isidentifier():
        raise Unwritable
    return "value", text


def _write_program(method: StoreMethod) -> str:
    """Of an in-place variant: the write is counted before it is done."""
    code, _ = _method_code(method.signature, method.locals)
    code.add("is_type", "T")
    code.add("runs_itself", "T")
    if method.condition:
        code.test(read_expression(method.condition), "")
    code.add("may_write", "self")
    for name, condition in method.sharing:
        there = code.label() if condition.startswith(f"{name} is not None and ") else ""
        if there:
            code.add("is_none", name, to=there, holds=True)
        code.add("is_apart", name)
        if there:
            code.place(there)
    if isinstance(method, WriteMethod):
        code.add("begin_write", "self")
        code.push(read_expression(method.call))
        code.add("pop")
    else:
        code.push(read_expression(_ZERO.sub("T.numbers.zero", method.call)))
        code.add("write", "self")
    code.add("end_write", "self")
    code.add("give")
    return code.text


def _call_program(method: CallMethod) -> str:
    """Of what is one call, whose errors are the caller's."""
    code = Code(["T", *_parameters(method.signature)])
    for _, condition in method.refused:
        code.test(read_expression(condition), OUT, holds=True)
    if method.widened:
        code.test(read_expression("T.rounds"), OUT, holds=True)
    code.invoke(read_expression(method.call))
    code.add("give")
    return code.text


# -- Nodes -----------------------------------------------------------------------------------------


def of_apply(node: NodeClass) -> str | None:
    """The program of a Node's ``apply`` over arrays."""
    try:
        return _apply_program(node)
    except (Unwritable, SyntaxError):
        return None


def of_release(node: NodeClass) -> str | None:
    """The program of a Node's ``release``."""
    if not node.released:
        return None
    return "; ".join([*(f"free {slot} FREED" for slot in node.released), "constant None", "give"])


def _apply_program(node: NodeClass) -> str:
    if node.parameter != "grad" or "spread" in node.returned:
        raise Unwritable
    code = Code(["node", "grad"], node=True)
    code.add("is_array", "grad")
    if any(b.blocked or b.native for b in node.branches):
        code.add("is_small", "grad")
    for name in node.gradients:
        code.add("constant", "None")
        code.add("store", name)
        code.names.add(name)
    for condition, statements in node.common:
        end = _add_condition(code, condition)
        for statement in statements:
            _add_statement(code, statement)
        if end:
            code.place(end)
    for branch in node.branches:
        end = _add_condition(code, branch.condition)
        _add_branch(code, branch)
        if end:
            code.place(end)
    for name in node.gradients:
        code.add("local", name)
    code.add("tuple", len(node.gradients))
    code.add("give")
    return code.text


def _add_condition(code: Code, condition: str) -> str:
    """The test of whether a branch runs; the label behind it."""
    if not condition:
        return ""
    end = code.label()
    code.test(read_expression(condition), end)
    return end


def _add_statement(code: Code, statement: str) -> None:
    """A statement that unpacks what a Node has saved, or that names something."""
    for pattern, operation in (
        (_SAVED, "saved"),
        (_SAVED_OPTIONAL, "saved_or_none"),
        (_SAVED_RESULT, "saved_result"),
    ):
        found = pattern.fullmatch(statement)
        if found is not None:
            code.add(operation, found[2])
            _store(code, found[1])
            return
    name, equals, text = statement.partition(" = ")
    if not equals or not name.isidentifier():
        raise Unwritable
    code.push(read_expression(_over_slots(text)))
    _store(code, name)


def _over_slots(text: str) -> str:
    """``edges`` is a slot of the Node's."""
    return re.sub(r"\bedges\b", "node.next_edges", text)


def _store(code: Code, name: str) -> None:
    code.add("store", name)
    code.names.add(name)


def _add_branch(code: Code, branch: Branch) -> None:
    for statement in branch.prepare:
        _add_statement(code, statement)
    targets = branch.targets.split(", ")
    end = ""
    if branch.native:
        found = re.fullmatch(r"\(_k := (.*)\) is not None", branch.native[0])
        call = branch.native[2].strip().partition(f"{branch.targets} = ")[2]
        if found is None or not call:
            raise Unwritable
        otherwise, end = code.label(), code.label()
        code.push_kernel_call(read_expression(found[1]), read_expression(call), otherwise)
        code.add("jump", to=end)
        code.place(otherwise)
    for statement in branch.named:
        _add_statement(code, statement)
    code.push(read_expression(_over_slots(branch.formula)))
    if end:
        code.place(end)
    if len(targets) > 1:
        code.add("unpack", len(targets))
    for target in targets:
        if branch.may_be_scalars:
            code.add("as_array")
        _store(code, target)


# -- bindings --------------------------------------------------------------------------------------


def of_binding(binding: Binding) -> str | None:
    """The program of a function or method that users call: its first paths, as many as can be written."""
    try:
        code = _binding_start(binding)
    except (Unwritable, SyntaxError):
        return None
    written = 0
    for receiver, attempts in binding.receivers():
        following = code.label()
        before = list(code.lines)
        try:
            _add_receiver(code, receiver, following)
            for attempt in attempts:
                before = list(code.lines)
                _add_attempt(code, attempt, receiver)
                written += 1
        except (Unwritable, SyntaxError):
            code.lines[:] = before
            code.place(following)
            break
        code.place(following)
    code.add("leave")
    return code.text if written else None


def _binding_start(binding: Binding) -> Code:
    names = re.findall(r"(?:^|, )(\w+)(?==|,|$)", binding.signature)
    loose = "*args" in binding.signature
    if "*more" in binding.signature:
        raise Unwritable
    code = Code(names, loose=loose)
    code.add("not_intercepted")
    for _, word, _ in binding.words:
        code.add("is_missing", word)
    for test in binding.guard.split(" and "):
        if test not in ("not active", "not keywords"):  # what the callable itself sees to
            _add_guard(code, read_expression(test))
    return code


def _add_guard(code: Code, test: Expr) -> None:
    match test:
        case Operation("not x", (Name(name),)) if name in code.names:
            code.add("is_same", name, False)
        case Operation(
            "is not",
            (
                Assigned("t", Call(Name("one_type"), (Assigned(own, Call(Name("held"), (Name(name),))),))),
                Constant(None),
            ),
        ):
            code.add("have_one_type", name)
            code.push(read_expression(f"tuple({name})"))
            _store(code, own)
            code.add("runs_all", own)
        case _:
            code.test(test, "")


def _add_receiver(code: Code, receiver: str, following: str) -> None:
    """See that the tensor whose Type runs the operator is one."""
    if not receiver:  # the guard has seen to it
        return
    name = code.local(read_expression(receiver))
    if name is None:
        raise Unwritable
    if receiver == "self":
        code.add("is_tensor", name, to=following)
    else:
        code.add("is_plain", name, to=following)
    code.add("runs", name)


def _add_attempt(code: Code, attempt: Attempt, receiver: str) -> None:
    following = code.label()
    if attempt.condition != "True":
        code.test(read_expression(attempt.condition), following)
    call = read_expression(attempt.call)
    owners = [Name("t"), *([Attribute(read_expression(receiver), "_type")] if receiver else [])]
    match call:
        case Call(Attribute(owner, method), arguments, ()) if owner in owners:
            for argument in arguments:
                code.push(argument)
            code.add("method", method, len(arguments))
            code.add("give")
        case _:
            raise Unwritable
    code.place(following)
