"""Runs a part in processes of its own, and says of each of its items what became of it, whatever that is.

An item that crashes its process, or hangs, is an outcome; another process goes on with the others. When the
part's time is over what runs is ended, and what was not begun is counted.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from worker import shown

HERE = Path(__file__).resolve().parent
#: What the supervisor says of an item, beside what its worker does.
CRASHED, HUNG, UNFINISHED = "crashed", "hung", "unfinished"
#: How the last words of a process begin, which ``faulthandler`` writes.
FATAL, TIMEOUT = "Fatal Python error", "Timeout ("
#: The share of a part's time in which a process must have begun, else it ends and says where it is.
STARTING = 0.9
#: How much later than the worker itself the supervisor ends an item that hangs, in seconds.
GRACE = 3.0


@dataclass(frozen=True, slots=True)
class Part:
    """What is to be done: the module with the items, by how many processes, and for how long at most."""

    name: str
    module: str
    seconds: float
    limit: float  # of one item
    workers: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Worker:
    """A process, the item that it does, and since when."""

    process: subprocess.Popen[bytes]
    log: Path
    item: str | None = None
    since: float = 0.0
    began: int = 0  # how many items
    hangs: bool = False  # and was ended therefore

    def text(self) -> str:
        """What it said last of its end, on one line."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        fatal = [line for line in lines if line.startswith((FATAL, TIMEOUT))]
        frames = [line.strip() for line in lines if line.lstrip().startswith("File ")]
        where = f", in {frames[0].rpartition(' in ')[2]}" if fatal and frames else ""
        return shown(fatal[-1] + where if fatal else lines[-1] if lines else "")

    def end(self, seconds: float = 2.0) -> None:
        """End it. One that the system does not let go of in that time is left to it."""
        self.process.kill()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)


class Supervised:
    """A part while it runs: its workers, and what is known of its items."""

    def __init__(self, part: Part, folder: Path, environment: Mapping[str, str]) -> None:
        self.part, self.folder, self.environment = part, folder, environment
        self.workers: list[Worker] = []
        self.results: dict[str, dict[str, Any]] = {}
        self.items: list[str] = []
        self.notes: list[str] = []
        self._read, self._logs = 0, 0
        folder.mkdir(parents=True)
        task = {"part": part.module, "folder": str(folder), "options": part.options}
        task |= {"limit": part.limit, "start": STARTING * part.seconds}
        (folder / "task.json").write_text(json.dumps(task), encoding="utf-8")

    def run(self, changed: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Run the part to its end, or that of its time; ``changed`` is told what is known as it comes."""
        began = time.monotonic()
        try:
            self.start()
            others = self.part.workers - 1  # which find what the first one read
            while self.workers and time.monotonic() < began + self.part.seconds:
                time.sleep(0.05)
                if self.watch():
                    changed(self.record(began))
                if self.items and self.workers:
                    for _ in range(others):
                        self.start()
                    others = 0
        finally:
            for seconds in (0.0, 0.3):  # those that the end of the time meets, all at once
                for worker in self.workers:
                    worker.end(seconds)
            self.read()
            for worker in self.workers:
                self.done(worker, UNFINISHED, "the part's time was over")
        if not self.items and not self.notes:
            self.notes.append(f"nothing was begun: {''.join(w.text() for w in self.workers)}".rstrip(": "))
        return self.record(began)

    def start(self) -> None:
        """Start another process."""
        log = self.folder / f"worker-{self._logs}.log"
        self._logs += 1
        with log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, str(HERE / "worker.py"), str(self.folder / "task.json")],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(self.environment),
            )
        self.workers.append(Worker(process, log))

    def watch(self) -> bool:
        """Take in what was written, and see to those that ended or hang; whether something is new."""
        ended = [w for w in self.workers if w.process.poll() is not None]  # before what they wrote is read
        new = self.read()
        for worker in self.workers:
            hangs = worker.item is not None and time.monotonic() > worker.since + self.part.limit + GRACE
            if hangs and worker not in ended:
                worker.end()
                worker.hangs = True
                ended.append(worker)
        for worker in ended:
            self.workers.remove(worker)
            self.see_off(worker)
        return new or bool(ended)

    def see_off(self, worker: Worker) -> None:
        """What a process that ended leaves: an item, or a reason not to start another."""
        status = worker.process.returncode
        if worker.item is not None:
            text = worker.text()
            hung = worker.hangs or text.startswith(TIMEOUT)
            words = (
                f"more than {self.part.limit:.1f} s" if hung else f"the process ended with status {status}"
            )
            self.done(worker, HUNG if hung else CRASHED, f"{words}: {text}".rstrip(": "))
        elif not status:  # it had done all that was left
            return
        elif not worker.began:
            self.notes.append(f"a process ended with status {status} before it did anything: {worker.text()}")
            return
        self.start()

    def done(self, worker: Worker, outcome: str, text: str) -> None:
        """Note what became of the item that a worker had begun."""
        if worker.item is not None:
            seconds = round(time.monotonic() - worker.since, 3)
            self.results[worker.item] = {"outcome": outcome, "text": text, "seconds": seconds}
            worker.item = None

    def read(self) -> bool:
        """Take in the lines that are whole; whether there were any."""
        path = self.folder / "records.jsonl"
        if not path.exists():
            return False
        with path.open("rb") as file:
            file.seek(self._read)
            lines = file.read().split(b"\n")
        self._read += sum(len(line) + 1 for line in lines[:-1])
        workers = {w.process.pid: w for w in self.workers}
        for line in lines[:-1]:
            record = json.loads(line)
            worker = workers.get(record.pop("worker"))
            if "items" in record:
                self.items = record["items"]
            elif "outcome" in record:
                self.results[record.pop("item")] = record
                if worker is not None:
                    worker.item = None
            elif worker is not None:
                worker.item, worker.since = record["item"], time.monotonic()
                worker.began += 1
        return len(lines) > 1

    def record(self, began: float) -> dict[str, Any]:
        """What is known of the part."""
        left = [name for name in self.items if name not in self.results]
        return {
            "seconds": round(time.monotonic() - began, 1),
            "items": len(self.items),
            "not_reached": left,
            "notes": list(dict.fromkeys(self.notes)),
            "results": {name: self.results[name] for name in self.items if name in self.results},
        }
