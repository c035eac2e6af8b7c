"""The claims of the section "Calls"."""

from __future__ import annotations

from differences.claim import Claim

CLAIMS = [
    *(
        Claim("Deprecated calls", f"x = m.ones(2, 2)\nv = m.ones(2)\nm.{call}.sum().item()", TypeError, there)
        for call, there in (
            ("add(x, 2, x)", 12.0),
            ("sub(x, 2, x)", -4.0),
            ("addmm(2, x, 3, x, x)", 32.0),
            ("addmm(2, x, x, x)", 16.0),
            ("addmv(2, v, x, v)", 8.0),
            ("addr(2, x, v, v)", 12.0),
            ("addbmm(2, x, x[None], x[None])", 16.0),
            ("baddbmm(2, x[None], x[None], x[None])", 16.0),
            ("addcmul(x, 2, x, x)", 12.0),
            ("addcdiv(x, 2, x, x)", 12.0),
        )
    ),
]
