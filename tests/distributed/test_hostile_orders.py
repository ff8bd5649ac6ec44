"""Ranks that call different collectives, or none: each ends within the timeout, and says where every rank is."""

from __future__ import annotations

import time
from typing import Any

import pytest
from rank_pairs import needs_mpi, outcomes

pytestmark = needs_mpi

# What rank 0 and rank 1 do in a group of their own, and what both must say.
CASES = {
    "another collective": ("dist.all_reduce(x, group=g)", "dist.barrier(g)", ["all_reduce(op=SUM", "barrier()"]),
    "another size": ("dist.all_reduce(x, group=g)", "dist.all_reduce(x[:2], group=g)", ["float32, 3", "float32, 2"]),
    "another dtype": ("dist.all_reduce(x, group=g)", "dist.all_reduce(x.long(), group=g)", ["float32", "int64"]),
    "another operation": ("dist.all_reduce(x, group=g)", "dist.all_reduce(x, dist.ReduceOp.MAX, g)",
                          ["op=SUM", "op=MAX"]),
    "another order": ("dist.all_reduce(x, group=g); dist.barrier(g)", "dist.barrier(g); dist.all_reduce(x, group=g)",
                      ["all_reduce", "barrier"]),
    "asynchronous": ("w = dist.all_reduce(x, group=g, async_op=True); w.wait()",
                     "w = dist.reduce(x, 0, group=g, async_op=True); w.wait()", ["all_reduce", "reduce("]),
    "objects": ("dist.all_gather_object([0, 0], 'a', g)", "dist.barrier(g)", ["all_gather", "barrier"]),
}
# Here a rank may be done with a small message before the other comes: it need not notice.
ONE_NOTICES = {
    "another root": ("dist.broadcast(x, 0, g)", "dist.broadcast(x, 1, g)", ["src=0", "src=1"]),
    "a gather that is a scatter": ("dist.gather(x, [x, x], 0, g)", "dist.scatter(x, [x, x], 1, g)", ["gather(", "scatter("]),
}
ALONE = {
    "one more all_reduce": ("dist.all_reduce(x, group=g)", "all_reduce(op=SUM, float32, 3)"),
    "a barrier for one": ("dist.barrier(g)", "barrier()"),
    "nobody sends": ("dist.recv(x, 1, g)", "recv(float32, 3, src=1, tag=0)"),
    "monitored": ("dist.monitored_barrier(g)", "monitored_barrier()"),
}


def hostile(torch: Any, dist: Any, rank: int, *lines: str) -> list[str]:
    from datetime import timedelta

    names = {"x": torch.ones(3), "dist": dist, "g": dist.new_group([0, 1], timeout=timedelta(seconds=0.3))}
    try:
        exec(compile(lines[rank], f"rank{rank}.py", "exec"), names)
        message = "no error"
    except RuntimeError as error:
        message = str(error)
    dist.barrier()
    return message.splitlines()


@pytest.mark.parametrize("case", CASES)
def test_mismatch(case: str) -> None:
    first, second, words = CASES[case]
    began = time.monotonic()
    told = outcomes("whygrad", hostile, first, second)
    assert time.monotonic() - began < 5
    for rank, lines in enumerate(told):
        assert lines[0].startswith(f"Detected mismatch between collectives on ranks. Rank {rank} is running collective"), lines
        assert [line.split(" is in ")[0].strip() for line in lines[1:]] == ["rank 0", "rank 1"]
        for i, word in enumerate(words):
            assert f"rank{i}.py:1" in lines[1 + i], lines
            assert word in lines[1 + i], lines


@pytest.mark.parametrize("case", ONE_NOTICES)
def test_mismatch_that_one_rank_notices(case: str) -> None:
    first, second, words = ONE_NOTICES[case]
    told = outcomes("whygrad", hostile, first, second)
    noticed = [rank for rank, lines in enumerate(told) if lines != ["no error"]]
    assert noticed
    for rank in noticed:
        assert told[rank][0].startswith("Detected mismatch")
        assert words[rank] in told[rank][0]
        assert f"rank{rank}.py:1" in told[rank][1 + rank]


@pytest.mark.parametrize("case", ALONE)
def test_timeout(case: str) -> None:
    text, call = ALONE[case]
    waits, comes = outcomes("whygrad", hostile, text, "import time; time.sleep(0.6)")
    assert waits[0] == f"Timed out waiting 300ms for {call} to complete."
    assert waits[1] == f"  rank 0 is in rank0.py:1, which is {call}"
    assert waits[2] == "  rank 1 is in rank1.py:1"
    assert comes == ["no error"]
