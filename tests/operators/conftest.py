"""The operators' tests import their neighbours by name."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent

for folder in (HERE, HERE.parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What an operator declares that it warns of is no news: it is asserted where samples are checked."""
    from tengen.testing import declared

    told = {
        name: operator.warns for name, operator in declared.declared_operators().items() if operator.warns
    }
    here = {path: HERE in path.parents for path in {item.path for item in items}}
    for item in items:
        if here[item.path] and isinstance(item, pytest.Function):
            name = item.callspec.params.get("name") if hasattr(item, "callspec") else None
            if text := told.get(str(name)):
                item.add_marker(pytest.mark.filterwarnings(f"ignore:.*{re.escape(text.partition(':')[0])}"))
