"""Specialise: methods that most subclasses share move up to their superclass.

The classes of a backend form a tree: CPUFloatType and CPUDoubleType below CPUFloatingType,
below CPUType. A method stays as low as it must and goes as high as it can.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from ..model.methods import AbsentMethod, CallMethod, KernelMethod, Method

#: How long methods are, one kind beside another.
_LENGTHS: dict[type[Method], int] = {KernelMethod: 3, CallMethod: 2}


@dataclass(slots=True)
class ClassNode:
    """A class of the tree; leaves are the classes of one scalar type."""

    name: str
    children: list[ClassNode] = field(default_factory=list)
    methods: dict[str, Method] = field(default_factory=dict)


def hoist(node: ClassNode) -> None:
    """Move what most children have alike into ``node``, from the leaves up.

    A child that has another text keeps it, and overrides; one that lacks the method says so.
    """
    for child in node.children:
        hoist(child)
    names = dict.fromkeys(name for child in node.children for name in child.methods)
    for name in names:
        found = _counted([child.methods[name] for child in node.children if name in child.methods])
        # Of two that are as common the longer one: more is saved.
        method, count = max(found, key=lambda each: (each[1], _LENGTHS.get(type(each[0]), 1)))
        if isinstance(method, AbsentMethod) or count < 2:
            continue
        node.methods[name] = method
        for child in node.children:
            own = child.methods.get(name)
            if own == method:
                del child.methods[name]
            elif own is None:
                child.methods[name] = AbsentMethod(name)


def _counted(methods: Iterable[Method]) -> list[tuple[Method, int]]:
    """The methods that differ, and how often each is there: to hash what is long takes longer."""
    found: list[tuple[Method, int]] = []
    for method in methods:
        for at, (known, count) in enumerate(found):
            if known is method or known == method:
                found[at] = known, count + 1
                break
        else:
            found.append((method, 1))
    return found


def tree(root: str, branches: Mapping[str, Mapping[str, dict[str, Method]]]) -> ClassNode:
    """The class tree of a backend: root, then categories, then leaves with their methods.

    A category with one scalar type only is that leaf.
    """
    top = ClassNode(root)
    for category, leaves in branches.items():
        made = [ClassNode(name, [], dict(methods)) for name, methods in leaves.items()]
        if len(made) == 1:
            top.children.append(made[0])
        else:
            top.children.append(ClassNode(category, made))
    return top


def prune(node: ClassNode, needed: Collection[str] = ()) -> bool:
    """Take away the classes that add nothing to their superclasses; returns whether ``node`` adds something.

    A class adds something if it has a method, if one below it does, or if it is among those ``needed``.
    """
    node.children = [child for child in node.children if prune(child, needed)]
    return bool(node.children or node.methods) or node.name in needed
