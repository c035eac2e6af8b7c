"""Check: families of native kernels, which one entry declares: for several numbers of operands the same.

    - kernel: sample_{rows}x{columns}(x[m], r[rows, n]:int64, c[columns, n]:int64, a[columns, n]) -> y[n]
      counts: {rows: [1, 2], columns: [1, 2]}
      body: |
        seen[i, j] = x[r[i] + c[j]] * a[j]
        row[i] = sum(seen[i, j] for j in range(columns))
        y = sum(row[i] for i in range(rows))

The members are written out: r0, r1 and so on are operands, seen01 is what a line assigns.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product

from ...ir.expressions import (
    Call,
    Clause,
    Comprehension,
    Constant,
    Elements,
    Expr,
    Name,
    Operation,
    Subscript,
    replaced,
    rewritten,
    walk,
)
from ..model.diagnostics import Report, one_of, suggestion
from ..model.source import Located
from .body_text import TextReader

Line = tuple[Expr, Expr]
Counts = Mapping[str, int]
_OPERAND = re.compile(r"(\w+)\[(\w+)(?:, )?([^\]]*)\]((?::\w+)?)")


def members(counts: Located | None, report: Report) -> list[Counts]:
    """How many operands there are of each kind in each kernel; of what is no family one that has none."""
    if counts is None:
        return [{}]
    lists = {
        name: [each.value for each in numbers.value] if isinstance(numbers.value, tuple) else []
        for name, numbers in counts.value.items()
    }
    good = all([isinstance(n, int) and n > 0 for numbers in lists.values() for n in numbers])
    if not good or len({len(numbers) for numbers in lists.values()}) != 1 or not all(lists.values()):
        report.error(
            counts.place, "these are no numbers of operands", expected="{rows: [1, 2], columns: [1, 4]}"
        )
        return []
    return [dict(zip(lists, numbers, strict=True)) for numbers in zip(*lists.values(), strict=True)]


def families_of(head: str, counts: Counts) -> dict[str, tuple[str, ...]]:
    """The operands of which there are several, with what counts them."""
    return {found[1]: (found[2],) for found in _OPERAND.finditer(head) if found[2] in counts}


def head_of(head: str, counts: Counts) -> str:
    """The head of a member."""

    def several(found: re.Match[str]) -> str:
        name, count, dims, dtype = found.groups()
        if count not in counts:
            return found[0]
        dims = f"[{dims}]" if dims else ""
        return ", ".join([f"{name}{k}{dims}{dtype}" for k in range(counts[count])])

    for count, number in counts.items():
        head = head.replace(f"{{{count}}}", str(number))
    return _OPERAND.sub(several, head)


class FamilyBody(TextReader):
    """Writes out the lines of a body for one member."""

    def __init__(
        self,
        body: Located,
        families: Mapping[str, tuple[str, ...]],
        counts: Counts,
        tables: Collection[str],
        report: Report,
    ) -> None:
        super().__init__(body, report)
        self.families, self.counts, self.tables = dict(families), counts, tables

    def lines(self, lines: Sequence[Line]) -> list[Line]:
        """The lines, each for all that it is of."""
        return [made for line in lines for made in self.line(*line)] if self.counts else [*lines]

    def line(self, target: Expr, value: Expr) -> Iterator[Line]:
        """One line: what it assigns that has indices is there for each of these."""
        value = rewritten(value, self.summed)
        said: dict[str, str] = {}
        target = rewritten(target, lambda part: _index(part, said))
        known = said | self.ranges(target) | self.ranges(value)
        ranges = {n.id: known[n.id] for n in walk(target) if isinstance(n, Name) and n.id in known}
        left = next((i for i in known if i not in ranges), None)
        if left is not None and self.good:
            expected = f"name[{left}] = ..., or a sum for {left} in range({known[left]})"
            self.wrong(f'the index "{left}" is on the right side alone', target, expected)
        match target:
            case Subscript(Name(name), index) if name not in self.tables:
                own = [part.id for part in _parts(index) if isinstance(part, Name)]
                unknown = [i for i in own if ranges.get(i) not in self.counts]
                if unknown:
                    expected = f"{unknown[0]} in {one_of([*self.counts])}"
                    self.wrong(f'nothing says how many "{unknown[0]}" there are', target, expected)
                self.families.setdefault(name, tuple([ranges.get(i, "") for i in own]))
        if not self.good:
            return
        for numbers in product(*[range(self.counts[count]) for count in ranges.values()]):
            at = {i: Constant(k) for i, k in zip(ranges, numbers, strict=True)}
            yield self.at(target, at), self.at(value, at)

    def ranges(self, expr: Expr) -> dict[str, str]:
        """The names that stand for indices, with what counts them."""
        found: dict[str, str] = {}
        for part in walk(expr):
            match part:
                case Subscript(Name(name), index) if name in self.families:
                    for i, count in zip(_parts(index), self.families[name], strict=False):
                        if isinstance(i, Name) and found.setdefault(i.id, count) != count:
                            self.wrong(f'"{i.id}" counts {found[i.id]} and {count}', i, "one index for each")
        return found

    def at(self, expr: Expr, at: Mapping[str, Expr]) -> Expr:
        """An expression with these indices, and the names of what stands at them."""
        return rewritten(replaced(expr, at), self.named)

    def named(self, expr: Expr) -> Expr:
        """An element of what there are several of, by its name."""
        match expr:
            case Subscript(Name(name), index) if name in self.families:
                numbers = [p.value if isinstance(p, Constant) else -1 for p in _parts(index)]
                sizes = [self.counts[count] for count in self.families[name]]
                if len(numbers) == len(sizes) and all(
                    [0 <= k < n for k, n in zip(numbers, sizes, strict=True)]
                ):
                    return Name(name + "".join(map(str, numbers)), span=expr.span)
                expected = " and ".join([f"an index below {n}" for n in sizes])
                self.wrong(f'there is no such "{name}"', expr, expected)
        return expr

    def summed(self, expr: Expr) -> Expr:
        """A sum of what there are several of, from the first to the last."""
        match expr:
            case Call(
                Name("sum"),
                (Comprehension(_, element, (Clause(Name(i), Call(Name("range"), (Name(count),), ()), ()),)),),
                (),
            ):
                if count not in self.counts:
                    help = suggestion(count, self.counts)
                    self.wrong(f'"{count}" counts nothing', expr, one_of([*self.counts]), help)
                    return expr
                terms = [replaced(element, {i: Constant(k)}) for k in range(self.counts[count])]
                return reduce(lambda a, b: Operation("+", (a, b)), terms)
        return expr


def _index(part: Expr, said: dict[str, str]) -> Expr:
    """``k`` of ``k in taps``, which says what counts it."""
    match part:
        case Operation("in", (Name(i) as index, Name(count))):
            said[i] = count
            return index
    return part


def _parts(index: Expr) -> tuple[Expr, ...]:
    """The indices in brackets."""
    return tuple([p for p in index.elements if p is not None]) if isinstance(index, Elements) else (index,)
