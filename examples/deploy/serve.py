"""The model behind HTTP, or in a cloud's function: NumPy and tengen are all it needs.

    MODEL=model.pt python serve.py 8000
    curl -d '{"pixels": [[0, 0, 5, ...]]}' localhost:8000

``handler(event, context)`` is what function services call. An event that has no pixels is answered with an
error, as is one whose rows are not 64 numbers.
"""

import json
import os
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import tengen

tengen.as_torch()

from model import Network, classes  # noqa: E402

network = Network()
network.load_state_dict(
    tengen.load(os.environ.get("MODEL", "model.pt"))
)  # a file of PyTorch's or of tengen's
network.eval()


def handler(event, context=None):
    """The classes of the images in ``event["pixels"]``, with their probabilities."""
    try:
        found, probabilities = classes(network, event["pixels"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"classes": found, "probabilities": probabilities}


class Requests(BaseHTTPRequestHandler):
    def do_POST(self):
        try:
            answer = handler(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        except ValueError as error:
            answer = {"error": f"not JSON: {error}"}
        body = json.dumps(answer).encode()
        self.send_response(400 if "error" in answer else 200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


if __name__ == "__main__":
    ThreadingHTTPServer(("", int(sys.argv[1])), Requests).serve_forever()
