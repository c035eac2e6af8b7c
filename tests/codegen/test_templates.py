"""What is said of a template that is wrong: its line and column, and no traceback of Jinja."""

from __future__ import annotations

from pathlib import Path

import pytest

from tengen.codegen.emit.page import TemplateRenderer
from tengen.codegen.gen import templates_dir
from tengen.codegen.model.diagnostics import CommandError

#: A template, what is said of it, and the character of the line at which the caret stands.
WRONG = {
    "an unknown word": ("{{ header }}\n  {% fro x in y %}\n", "2:6: error: Encountered unknown tag 'fro'"),
    "no end": ("{{ header }}\n{% for x in (1,) %}\n", "2:4: error: Unexpected end of template"),
    "half an expression": ("a {{ header\n", "1:3: error: unexpected end of template"),
    "another word": (
        "{% if header els %}{% endif %}",
        "1:14: error: expected token 'end of statement block', got 'els'",
    ),
    "an unknown name": ("{{ header }}\n\n{{ hedaer }}\n", "3:4: error: 'hedaer' is undefined"),
    "an unknown filter": ("\n{{ header | joined }}\n", "2:13: error: No filter named 'joined'"),
    "another template": (
        "{{ header }}{% include 'nothing.jinja' %}",
        "1:25: error: 'nothing.jinja' not found",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_template_is_shown_where_it_is_wrong(case: str, tmp_path: Path) -> None:
    text, said = WRONG[case]
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "page.py.jinja").write_text(text)
    with pytest.raises(CommandError) as raised:
        TemplateRenderer(folder).page("page.py", "page.py.jinja")
    told, line, caret = str(raised.value).splitlines()
    assert told.startswith(f"templates/page.py.jinja:{said}"), told
    number, column = (int(part) for part in said.split(":")[:2])
    assert line == f"  {text.splitlines()[number - 1]}"
    assert caret.index("^") == column + 1
    assert raised.value.__suppress_context__


def test_a_template_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"^nothing\.jinja: error: 'nothing\.jinja' not found"):
        TemplateRenderer(tmp_path).page("page.py", "nothing.jinja")


def test_each_template_is_read() -> None:
    environment = TemplateRenderer(templates_dir()).environment
    names = environment.list_templates(filter_func=lambda name: not name.startswith("library/"))
    assert len(names) > 10
    for name in names:
        environment.get_template(name)
