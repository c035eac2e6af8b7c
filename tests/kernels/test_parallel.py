"""Loops in several threads: every element once, errors out, no threads inside threads."""

import os
import threading

import numpy as np
import pytest
from in_threads import in_threads

import tengen
from tengen.kernels.parallel import parallel_for


@pytest.fixture(autouse=True)
def two_threads(threads_kept):
    tengen.set_num_threads(2)


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize(("count", "grain"), [(0, 1), (1, 1), (5, 10), (20, 10), (1000, 7), (1001, 1)])
def test_every_element_is_in_one_range(threads, count, grain):
    tengen.set_num_threads(threads)
    seen = np.zeros(count, int)
    ranges = []

    def task(begin, end):
        ranges.append(end - begin)
        seen[begin:end] += 1

    parallel_for(task, count, grain)
    assert (seen == 1).all()
    assert len(ranges) <= threads
    assert len(ranges) == 1 or min(ranges) >= grain


def test_uses_several_threads_and_not_inside_of_one():
    meeting = threading.Barrier(2, timeout=60)
    inner = []

    def task(begin, end):
        meeting.wait()  # which only two threads at once can pass
        assert tengen.get_num_threads() == 1
        parallel_for(lambda i, j: inner.append(threading.current_thread()), 100, 1)

    parallel_for(task, 2, 1)
    assert len(set(inner)) == 2
    assert tengen.get_num_threads() == 2


@pytest.mark.parametrize("where", [0, 1])
def test_an_error_is_raised_when_all_have_ended(where):
    ended = []

    def task(begin, end):
        if begin == where:
            raise ValueError("bad")
        ended.append(begin)

    with pytest.raises(ValueError, match="bad"):
        parallel_for(task, 2, 1)
    assert ended == [1 - where]
    assert tengen.get_num_threads() == 2


def test_the_callers_floating_point_settings_hold_in_all_threads():
    def task(begin, end):
        np.ones(1) / np.zeros(1)

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        parallel_for(lambda begin, end: task(begin, end) if begin else None, 2, 1)


def test_many_callers_at_once():
    totals = [0] * 8

    def caller(k):
        parts = np.zeros(1000)

        def task(begin, end):
            parts[begin:end] = k

        for _ in range(50):
            parallel_for(task, 1000, 10)
            tengen.set_num_threads(1 + k % 3)
        totals[k] = parts.sum()

    in_threads(caller, range(8))
    assert totals == [1000 * k for k in range(8)]


def test_the_number_may_change_when_the_work_is_cut(monkeypatch):
    def asked():
        tengen.set_num_threads(1)  # another thread does
        return 2

    monkeypatch.setattr("tengen.kernels.parallel.get_num_threads", asked)
    seen = np.zeros(10)

    def task(begin, end):
        seen[begin:end] += 1

    parallel_for(task, 10, 1)
    assert (seen == 1).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_process_makes_threads_of_its_own():
    parallel_for(lambda begin, end: None, 2, 1)
    child = os.fork()
    if child == 0:
        seen = np.zeros(10)

        def task(begin, end):
            seen[begin:end] = 1

        parallel_for(task, 10, 1)
        os._exit(0 if seen.all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("count", [0, -1])
def test_a_number_of_threads_is_positive(count):
    with pytest.raises(RuntimeError, match=f"set_num_threads expects a positive integer, but got {count}"):
        tengen.set_num_threads(count)
    assert tengen.get_num_threads() == 2


@pytest.mark.parametrize("count", [1.0, "2", None, True])
def test_a_number_of_threads_is_an_int(count):
    with pytest.raises(RuntimeError, match="set_num_threads expects an int, but got"):
        tengen.set_num_threads(count)


def test_blas_follows():
    from threadpoolctl import threadpool_info

    for count in (1, 2):
        tengen.set_num_threads(count)
        pools = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
        assert set(pools) <= {count}
