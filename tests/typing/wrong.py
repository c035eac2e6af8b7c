"""Wrong uses. Each line that ends in ``# error: MYPY | PYRIGHT`` is one, and the checkers say that.

MYPY and PYRIGHT are the codes of their errors; where versions differ, several.
"""
# ruff: noqa: B015, B018

from __future__ import annotations

import tengen
from tengen import Tensor
from tengen.nn import functional as F

x = tengen.ones(2, 3)

tengen.zeross(2)  # error: attr-defined | reportAttributeAccessIssue
tengen.linalg.invert(x)  # error: attr-defined | reportAttributeAccessIssue
F.rellu(x)  # error: attr-defined | reportAttributeAccessIssue
x.summ()  # error: attr-defined | reportAttributeAccessIssue
x + "1"  # error: operator | reportOperatorIssue
x @ 2  # error: operator | reportOperatorIssue
x < None  # error: operator | reportOperatorIssue, reportOptionalOperand
y = x
y += "1"  # error: arg-type | reportOperatorIssue
x.sum(dim="rows")  # error: arg-type, call-overload | reportArgumentType
x.sum(dims=1)  # error: call-overload | reportCallIssue
x.view("2", 3)  # error: call-overload | reportArgumentType
x.reshape(2.5)  # error: call-overload | reportArgumentType
x.permute([1.0, 0.0])  # error: list-item, call-overload | reportArgumentType
x.exp(2)  # error: call-arg | reportCallIssue
x.exp_(out=x)  # error: call-arg | reportCallIssue
x.unsqueeze()  # error: call-overload | reportCallIssue
x.transpose(0)  # error: call-arg, call-overload | reportCallIssue
tengen.cat(x, x)  # error: arg-type, call-overload | reportArgumentType
tengen.cat([x, 1])  # error: list-item | reportArgumentType
tengen.matmul(x, 2)  # error: arg-type | reportArgumentType
tengen.exp(2)  # error: arg-type | reportArgumentType
tengen.exp(x, out=(x,))  # error: arg-type | reportArgumentType
tengen.zeros(2, dtype="float32")  # error: call-overload | reportArgumentType
tengen.zeros(2, device=0)  # error: call-overload | reportArgumentType
tengen.zeros(2, requires_grad="yes")  # error: call-overload | reportArgumentType
tengen.where(x, x)  # error: call-overload | reportCallIssue
value: Tensor = x.max(dim=1)  # error: assignment | reportAssignmentType
number: float = x.sum()  # error: assignment | reportAssignmentType
one, two, three = x.max(1)  # error: misc | reportAssignmentType
x.max(1).vals  # error: attr-defined | reportAttributeAccessIssue
x.shape.rows  # error: attr-defined | reportAttributeAccessIssue
x.shape = (3, 2)  # error: misc | reportAttributeAccessIssue
x.grad.sum()  # error: union-attr | reportOptionalMemberAccess
F.softmax(x, dim="rows")  # error: arg-type | reportArgumentType
F.conv2d(x)  # error: call-overload | reportCallIssue
tengen.linalg.slogdet(x).logdet  # error: attr-defined | reportAttributeAccessIssue
