"""A process that does the items of a part, one after the other, and writes what becomes of each.

    python worker.py TASK.json

As many as one likes do the same part: each takes the items that no other took. A record is a line of JSON:
``items``, all names of the part; ``item`` alone, when it is begun; with ``outcome`` when it is done. What
is said of an item that ends the process is for the supervisor to say.
"""

from __future__ import annotations

import faulthandler
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

#: An item: returns what is written of it, "outcome" among it, "passed" unless it says so.
Item = Callable[[], Mapping[str, Any]]
PASSED, FAILED = "passed", "failed"


class Records:
    """A file that several processes write lines to: each is one write at its end."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, **record: Any) -> None:
        os.write(self.file, json.dumps({"worker": os.getpid(), **record}).encode() + b"\n")


def taken(folder: Path, number: int) -> bool:
    """Whether this process is the first that asks for the item of a number."""
    try:
        os.close(os.open(folder / f"{number}.taken", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def said(error: BaseException) -> str:
    """An error on one line."""
    return shown(f"{type(error).__name__}: {next(iter(str(error).strip().splitlines()), '')}")


def shown(text: str) -> str:
    """A text as a record has it: not too long, and of paths the last name: folders are those of a machine."""
    return re.sub(r"(?<![\w.)])(?:/[\w.+-]+)+/(?=[\w.+-])", "", text)[:300]


def do(item: Item) -> dict[str, Any]:
    """What became of an item, with what the device says of it when all its work is done."""
    try:
        found = {"outcome": PASSED, **item()}
        synchronize()
    except Exception as error:
        found = {"outcome": FAILED, "text": said(error)}
    return found


def synchronize() -> None:
    """Wait for the device, whose errors come late."""
    if (cupy := sys.modules.get("cupy")) is not None and cupy.cuda.is_available():
        cupy.cuda.Device().synchronize()


def is_sound() -> bool:
    """Whether the device still computes: an illegal access spoils it for the rest of a process."""
    try:
        if (cupy := sys.modules.get("cupy")) is not None and cupy.cuda.is_available():
            cupy.asnumpy(cupy.ones(2) + 1)
    except Exception:
        return False
    return True


def work(task: Mapping[str, Any], records: Records) -> int:
    """Do what is left of a part. Returns 0 where nothing is, 1 where another process should go on."""
    folder, parent = Path(task["folder"]), os.getppid()
    items: dict[str, Item] = import_module(task["part"]).items({**task["options"], "folder": task["folder"]})
    records.write(items=list(items))
    for number, (name, item) in enumerate(items.items()):
        if os.getppid() != parent:  # the supervisor is gone
            return 0
        if not taken(folder, number):
            continue
        records.write(item=name)
        # Whatever hangs, this process ends, and says where.
        faulthandler.dump_traceback_later(task["limit"], exit=True)
        began = time.perf_counter()
        found = do(item)
        records.write(item=name, seconds=round(time.perf_counter() - began, 3), **found)
        faulthandler.cancel_dump_traceback_later()
        if found["outcome"] == FAILED and not is_sound():
            return 1
    return 0


def main(path: str) -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    task = json.loads(Path(path).read_text(encoding="utf-8"))
    faulthandler.dump_traceback_later(task["start"], exit=True)
    status = work(task, Records(Path(task["folder"]) / "records.jsonl"))
    sys.stderr.flush()
    os._exit(status)  # a device that hangs may not let go of an interpreter


if __name__ == "__main__":
    main(sys.argv[1])
