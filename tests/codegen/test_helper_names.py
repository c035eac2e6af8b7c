"""Functions that one operator's declaration names, and nothing else uses, are named after the operator."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tengen.codegen.commands.written import named_functions
from tengen.codegen.gen import runtime_dir
from tengen.testing.declared import declarations

#: What stands before and behind the name of an operator, in its own name and in those of its functions.
PREFIXES, SUFFIXES = ("meta_", "native_", "linalg_", "special_"), ("_forward", "_backward")


def stem(name: str) -> str:
    """The name of an operator, or of a function, without what it has beside the operator's."""
    name = name.strip("_")
    for prefix in PREFIXES:
        name = name.removeprefix(prefix)
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    return name.strip("_")


def parts(name: str) -> Iterator[str]:
    """The runs of words of a name: of ``cholesky_ex`` these are ``cholesky``, ``ex`` and itself."""
    words = name.split("_")
    for start in range(len(words)):
        for end in range(start + 1, len(words) + 1):
            yield "_".join(words[start:end])


def uses(name: str, texts: list[str]) -> int:
    """How often the runtime calls a function, or hands it on."""
    pattern = re.compile(rf"(?<![\w.'\"]){name}(?=[(,)\]])")
    defined = re.compile(rf"^def {name}\(", re.M)
    return sum(len(pattern.findall(t)) - len(defined.findall(t)) for t in texts if name in t)


def test_helpers_of_one_operator_are_named_after_it() -> None:
    declared = declarations()
    derivatives = {str(d.name): d for d in declared.derivatives}
    stems = {stem(o.name.function) for o in declared.operators}
    users: dict[tuple[str, str], set[str]] = {}
    # A symbolic that follows from a kernel has the kernel's name, and bodies share kernels.
    of_kernels = set()
    for operator in declared.operators:
        derived = operator.symbolic is not None and operator.symbolic.derived
        for key, package, qualified in named_functions(operator, derivatives.get(str(operator.name))):
            if package != "references" and ":" not in qualified:
                users.setdefault((package, qualified), set()).add(stem(operator.name.function))
                body = any([operator.view, operator.access, operator.contraction])
                shared = key == "body" or (body and (package == "kernels" or key in ("dispatch", "batching")))
                follows = shared or (key == "symbolic" and derived)
                of_kernels |= {(package, qualified)} if follows else set()
    # Those of losses whose derivatives follow.
    users["formulas", "losses.gradient_of_elements"] |= {o.name.base for o in declared.operators if o.is_loss}
    texts = [path.read_text(encoding="utf-8") for path in runtime_dir().rglob("*.py")]
    wrong, held = [], 0
    for (package, qualified), operators in sorted(users.items()):
        if len(operators) > 1 or (package, qualified) in of_kernels:
            continue
        (only,), name = operators, qualified.rpartition(".")[2]
        family = {part for part in parts(only) if part in stems} | {only}
        named = stem(name)
        if any(named == s or named.startswith(f"{s}_") or named.endswith(f"_{s}") for s in family):
            held += 1
        elif not uses(name, texts):
            wrong.append(f"{package}.{qualified} is used by {only} alone")
    assert not wrong
    assert held > 400
