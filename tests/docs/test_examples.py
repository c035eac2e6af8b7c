"""The examples run: sparse and nested tensors, and a model that is deployed."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name: str) -> ModuleType:
    """The program of that name, imported."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(
    module: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *given: str
) -> str:
    """What ``python examples/NAME.py GIVEN`` prints."""
    monkeypatch.setattr(sys, "argv", [module.__name__, *given])
    module.main()
    return capsys.readouterr().out


def test_regression_on_a_sparse_matrix_gives_what_the_dense_one_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = example("sparse_regression")
    design, targets = program.data(200, 50, 5)
    weights, losses = program.fit(design, targets, 4)
    assert losses[0] > losses[1] > losses[-1]
    assert program.difference(design, weights, targets) < 1e-12
    assert program.loss(design.to_dense(), weights, targets).item() == pytest.approx(
        program.loss(design, weights, targets).item(), rel=1e-12
    )
    # Fitted: what a solver finds of the dense normal equations.
    dense = design.to_dense()
    normal = dense.T @ dense + 1e-3 * 200 * program.tengen.eye(50, dtype=dense.dtype)
    exact = program.tengen.linalg.solve(normal, dense.T @ targets)
    far, _ = program.fit(design, targets, 20)
    assert (far - exact).abs().max().item() < 1e-3
    printed = run(program, monkeypatch, capsys, "--rows", "300", "--columns", "40", "--steps", "2")
    assert "elements are stored" in printed and "differ" in printed


def test_attention_on_a_nested_tensor_gives_what_a_loop_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = example("nested_attention")
    batch, labels = program.sentences(9, 7, 8)
    assert len({one.shape[0] for one in batch}) > 2 and 0 < labels.sum().item() < 9
    model = program.Classifier(8, 2, 2).double()
    assert program.difference(model, batch, labels) < 1e-12
    padded, nested = program.padded(model, batch), program.jagged(model, batch)
    assert (padded - nested).abs().max().item() < 1e-12
    losses = program.train(model, batch, labels, 10)
    assert losses[-1] < losses[0]
    printed = run(program, monkeypatch, capsys, "--sentences", "4", "--longest", "5", "--steps", "2")
    assert [line.partition(":")[0] for line in printed.splitlines()[2:]] == ["jagged", "looped", "padded"]


def test_a_deployed_model_answers_over_http(tmp_path: Path) -> None:
    """With parameters that nothing trained: the classes are the model's own."""
    code = """
import json, sys, threading, urllib.error, urllib.request
import tengen
with tengen.as_torch():
    from model import Network
    tengen.save(Network().state_dict(), sys.argv[1])
import serve
server = serve.ThreadingHTTPServer(("127.0.0.1", 0), serve.Requests)
threading.Thread(target=server.serve_forever, daemon=True).start()
def ask(body):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}", body) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())
pixels = [[i / 64] * 64 for i in range(3)]
found = ask(json.dumps({"pixels": pixels}).encode())
assert found == (200, serve.handler({"pixels": pixels}))
assert len(found[1]["classes"]) == 3
for bad, said in ((b"{}", "pixels"), (b'{"pixels": [[1]]}', "invalid for input of size"), (b"{", "not JSON")):
    status, answer = ask(bad)
    assert status == 400 and said in answer["error"], answer
"""
    parameters = tmp_path / "model.pt"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(parameters)],
        env={**os.environ, "MODEL": str(parameters)},
        cwd=EXAMPLES / "deploy",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
