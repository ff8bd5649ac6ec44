"""What surrounds the kernels: threads, processes, the cache on disk, the allocator, and doing without."""

from __future__ import annotations

import marshal
import os
import shutil
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest

import whygrad as torch
from whygrad.base import disk_cache
from whygrad.kernels import code, linker, memory, stats
from whygrad.kernels.pool import pool


def run(script: str, **environment: str) -> str:
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False,
                          timeout=120, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PROGRAM = """
    import whygrad as torch
    torch.manual_seed(0)
    x = torch.randn(300, 100, requires_grad=True)
    w = torch.randn(100, 50, requires_grad=True)
    loss = torch.nn.functional.gelu(x @ w).softmax(1).log().mean()
    loss.backward()
    print(round(loss.item(), 4), round(float(w.grad.abs().sum()), 5), torch.kernels.stats().get("compiled"))
"""


def test_on_and_off(tmp_path):
    off = run(PROGRAM, WHYGRAD_KERNELS="0")
    first = run(PROGRAM, WHYGRAD_CACHE=str(tmp_path))
    again = run(PROGRAM, WHYGRAD_CACHE=str(tmp_path))
    assert off.split()[:2] == first.split()[:2] == again.split()[:2]
    assert off.split()[2] == "None"
    assert int(first.split()[2]) > 0
    assert again.split()[2] == "0"


def of_wrong_content(path, content):
    """A file that is whole, under its own name, but not what the compiler wrote."""
    return disk_cache._digest(path.name, content) + content


@pytest.fixture(scope="module")
def filled_cache(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache")
    return folder, run(PROGRAM, WHYGRAD_CACHE=str(folder))


@pytest.mark.parametrize("damage", ["cut", "changed", "emptied", "removed", "exchanged", "no object", "no image", "no symbol"])
def test_a_damaged_cache_is_written_anew(filled_cache, tmp_path, damage):
    shutil.copytree(filled_cache[0], tmp_path, dirs_exist_ok=True)
    expected = filled_cache[1].split()
    files = sorted(tmp_path.glob("*.o"))
    assert files
    assert {oct(path.stat().st_mode & 0o777) for path in files} == {"0o600"}
    other = files[-1].read_bytes()
    for path in files:
        data = path.read_bytes()
        if damage == "removed":
            path.unlink()
        else:
            path.write_bytes({
                "cut": data[:len(data) // 2], "changed": data[:-1] + b"\x01", "emptied": b"", "exchanged": other,
                "no object": of_wrong_content(path, b"neither an image nor an object"),
                "no image": of_wrong_content(path, linker.MAGIC + b"?"),
                "no symbol": of_wrong_content(path, linker.MAGIC + marshal.dumps((b"", {}, [], []))),
            }[damage])
            other = data
    assert run(PROGRAM, WHYGRAD_CACHE=str(tmp_path)).split() == expected
    assert run(PROGRAM, WHYGRAD_CACHE=str(tmp_path)).split()[2] == "0"


def test_a_warm_cache_needs_no_compiler(tmp_path):
    told = textwrap.dedent(PROGRAM) + "\nimport sys; print('llvmlite.binding' in sys.modules)"
    first, again = (run(told, WHYGRAD_CACHE=str(tmp_path)).split() for _ in range(2))
    assert first[3] == "True"
    assert again == [*first[:2], "0", str(not linker.SUPPORTED)]


def test_objects_that_llvm_links(tmp_path):
    """As on other systems than Linux, or with relocations that linker.py does not know."""
    by_llvm = "from whygrad.kernels import linker\nlinker.pack = lambda code: None\n" + textwrap.dedent(PROGRAM)
    assert run(by_llvm, WHYGRAD_CACHE=str(tmp_path)).split()[:2] == run(PROGRAM).split()[:2]
    assert run(PROGRAM, WHYGRAD_CACHE=str(tmp_path)).split()[2] == "0"


LITTLE_MEMORY = """
    import resource
    import whygrad as torch
    x = torch.randn(300, 100)
    (x @ x.t()).softmax(1)
    kept = [torch.ones(n) for n in (3_000_000, 200_000) for _ in range(40)]
    del kept
    before = torch.memory_stats()["kept_bytes"]
    with open("/proc/self/statm") as file:
        limit = int(file.read().split()[0]) * resource.getpagesize() + (100 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    large = torch.ones(50_000_000)  # 200 MB: only if what is kept is given back
    print(large.sum().item(), before > 400e6 > torch.memory_stats()["kept_bytes"])
    w = torch.ones(60_000, 1, requires_grad=True)
    rows = large.expand(50, 50_000_000)
    tried = ["torch.ones(10**10)", "rows * 2", "rows * rows", "rows > 1", "rows.exp()", "-rows", "rows.clone()",
             "rows[[0, 1, 2]]", "w @ w.t()", "torch.nn.functional.linear(w, w)", "torch.cat([large] * 9)", "torch.randn(10**10)",
             "rows.double()", "torch.autograd.grad(w.expand(-1, 10**6).mul(1), w, large[:1].expand(60_000, 10**6))"]
    for line in tried:
        try:
            eval(line)
            print(line)
        except RuntimeError as error:
            assert "DefaultCPUAllocator: can't allocate memory" in str(error)
    print(torch.ones(1000).sum().item())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the allocator is installed on Linux alone")
def test_what_is_kept_is_given_back_before_memory_runs_out():
    assert run(LITTLE_MEMORY, WHYGRAD_KERNELS="always").split() == ["50000000.0", "True", "1000.0"]


FEW_CALLS = """
    import whygrad as torch
    from whygrad.kernels import jit, stats
    jit.START_AFTER = {start}
    x = torch.arange(64.0).reshape(8, 8) / 64
    for _ in range({calls}):
        result = torch.log_softmax(torch.exp(x), 1)
    print(round(float(result.sum()), 3), stats()["calls"]["native"], stats().get("loaded"))
"""


def test_cached_kernels_are_used_before_a_row_is_hot(tmp_path):
    def told(start, calls, **environment):
        return run(FEW_CALLS.format(start=start, calls=calls), WHYGRAD_CACHE=str(tmp_path), **environment).split()

    assert told(10 ** 9, 50)[1:] == ["0", "None"]
    assert told(0, 50)[1:] == ["0", "None"]  # not in the cache: nothing is compiled, and LLVM is not loaded
    filled = told(0, 1, WHYGRAD_KERNELS="always")
    assert int(filled[1]) > 0
    again = told(0, 50)
    assert again[0] == filled[0]
    assert int(again[1]) > 50
    assert int(again[2]) > 0


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    assert run(PROGRAM, WHYGRAD_CACHE=str(tmp_path / "file")).split()[:2] == run(PROGRAM, WHYGRAD_KERNELS="0").split()[:2]


NOT_INSTALLED = """
    import sys
    sys.modules["llvmlite"] = None
"""
FAILING = """
    from whygrad.kernels import linker, llvm
    def fail(*args, **named):
        raise RuntimeError("memory must not be executed")
    linker.place = llvm.link = fail
"""


@pytest.mark.parametrize(("trouble", "reason"), [(NOT_INSTALLED, "llvmlite is not installed"), (FAILING, "must not be executed")])
def test_why_there_are_no_kernels_is_said_once(trouble, reason):
    """NumPy does it all, and one warning says so."""
    program = textwrap.dedent(trouble) + textwrap.dedent(PROGRAM) + "\nprint(torch.kernels.stats()['unavailable'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split()[:2] == run(PROGRAM, WHYGRAD_KERNELS="0").split()[:2]
    assert done.stderr.count("whygrad runs on NumPy alone") == 1
    assert reason in done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="needs prctl")
def test_memory_that_must_not_be_executed():
    """PR_SET_MDWE, as hardened systems have it."""
    script = """
        import ctypes
        if ctypes.CDLL(None).prctl(65, 1, 0, 0, 0):
            print("skip")
            raise SystemExit
    """
    told = run(textwrap.dedent(script) + textwrap.dedent(PROGRAM) + "\nprint(torch.kernels.stats()['unavailable'])")
    if told == "skip":
        pytest.skip("this Linux does not know it")
    assert told.split()[:2] == run(PROGRAM, WHYGRAD_KERNELS="0").split()[:2]
    assert "does not allow" in told


def test_small_programs_never_load_the_compiler():
    assert run("""
        import sys, whygrad as torch
        x = torch.ones(3, requires_grad=True)
        (x * 2).sum().backward()
        print('llvmlite' in sys.modules)
    """) == "False"


def test_threads_and_blas_share_the_pool():
    pool()
    a = np.random.default_rng(0).standard_normal((200, 200)).astype("f4")
    expected = a.astype("f8") @ a.astype("f8")
    failures = []

    def work() -> None:
        for _ in range(20):
            if not np.allclose(a @ a, expected, atol=1e-3):
                failures.append("wrong")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_its_own_workers():
    assert run("""
        import os
        import numpy as np, whygrad as torch
        x = torch.randn(500, 500)
        expected = float((x * 2).sum())
        child = os.fork()
        if not child:
            a = np.ones((300, 300))
            os._exit(0 if float((x * 2).sum()) == expected and (a @ a)[0, 0] == 300 else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), float((x * 2).sum()) == expected)
    """) == "0 True"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_forks_while_other_threads_compute():
    """A child finds the pool free, whoever was at work in the parent."""
    assert run("""
        import os, threading
        import whygrad as torch
        x = torch.randn(400, 500)
        expected = (x * 2).tanh().softmax(1).sum().item()
        stop = threading.Event()
        def work():
            while not stop.is_set():
                (x * 2).tanh().softmax(1)
        threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        answers = []
        for _ in range(8):
            child = os.fork()
            if not child:
                os._exit(0 if (x * 2).tanh().softmax(1).sum().item() == expected else 1)
            answers.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        stop.set()
        for thread in threads:
            thread.join()
        print(answers)
    """) == str([0] * 8)


def test_a_process_ends_well_whatever_is_freed_first():
    """Freed memory is overwritten: functions that outlive what they point at would be noticed."""
    assert run("""
        import whygrad as torch
        print(torch.randn(300, 300).tanh().shape)
    """, PYTHONMALLOC="malloc", MALLOC_PERTURB_="170", WHYGRAD_KERNELS="always") == "torch.Size([300, 300])"


def test_threads_compute_at_once():
    """Whoever finds the pool busy computes alone: the same numbers in any case."""
    rng = np.random.default_rng(0)
    arrays = [torch.from_numpy(rng.standard_normal((300, 200)).astype("f4")) for _ in range(4)]
    expected = [((x * 2).tanh() + x[0]).softmax(1).numpy() for x in arrays]
    wrong = []

    def work(i: int) -> None:
        for _ in range(30):
            if not np.array_equal(((arrays[i] * 2).tanh() + arrays[i][0]).softmax(1).numpy(), expected[i]):
                wrong.append(i)
            memory.empty_cache()

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


def test_interrupts_arrive():
    assert run("""
        import signal, whygrad as torch
        x = torch.randn(2000, 500)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            while True:
                x = (x * 1.0001).tanh()
        except KeyboardInterrupt:
            print("interrupted", (x * 2).shape)
    """).startswith("interrupted")


def test_the_allocator_reuses_and_gives_back():
    pool()
    if not memory.state[memory.MOST]:
        pytest.skip("the allocator is not installed: not Linux, or allocations are traced")
    kept = [np.full(n, n % 251, "u1") for n in (0, 1, 63, 64, 65, 1000, 10 ** 6)]
    for _ in range(3):
        junk = [np.full(n, 255, "u1") for n in (0, 1, 63, 64, 65, 1000, 10 ** 6)]
        del junk
    assert all((x == x.size % 251).all() for x in kept)
    assert all(x.ctypes.data % 64 == 0 for x in kept)
    grown = np.arange(10)
    grown.resize(100_000, refcheck=False)
    assert grown[:10].tolist() == list(range(10))
    assert not np.zeros(12345).any()
    before = memory.memory_stats()
    np.empty(123_457)
    np.empty(123_457)
    assert memory.memory_stats()["reused"] > before["reused"]
    memory.empty_cache()
    assert memory.memory_stats()["kept_bytes"] == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.parametrize("lock", ["autograd.accumulation._accumulating", "kernels.jit.compiling"])
def test_a_child_does_not_inherit_a_lock(lock):
    told = run(f"""
        import importlib, os, signal, threading, time
        import whygrad as torch
        x = torch.ones(100_000, requires_grad=True)
        x.square().sum().backward()
        module, _, name = "whygrad.{lock}".rpartition(".")
        lock, held = getattr(importlib.import_module(module), name), threading.Event()

        def work():
            with lock:
                held.set()
                time.sleep(0.3)

        thread = threading.Thread(target=work)
        thread.start()
        held.wait()
        child = os.fork()
        if not child:
            signal.alarm(20)
            x.tan().sum().backward()
            os._exit(7)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        thread.join()
    """)
    assert told == "7"


def test_zeros_of_both_signs_are_two_statics():
    x = torch.full((10_000,), -1.0)
    for value in (0.0, -0.0, 0.0):
        told = torch.signbit(torch.nn.functional.threshold(x, 0.5, value))
        assert told.all().item() is (str(value) == "-0.0")
        assert told.any().item() is (str(value) == "-0.0")


NETS = {
    "layer_norm": "nn.LayerNorm(128)", "group_norm": "nn.GroupNorm(4, 64)", "gelu": "nn.GELU()", "linear": "nn.Linear(128, 64)",
    "lstm": "nn.LSTM(128, 32)", "gru": "nn.GRU(128, 32)", "batch_norm": "nn.BatchNorm1d(64)", "softmax": "nn.Softmax(-1)",
    "conv": "nn.Conv1d(64, 16, 3)", "pool": "nn.MaxPool1d(2)", "transformer": "nn.TransformerEncoderLayer(128, 4, 256, 0.0)",
    "topk": "lambda x: x.topk(5)[0]", "cumsum": "lambda x: x.cumsum(1)",
    "cummax": "lambda x: x.cummax(1)[0]", "var": "lambda x: x.var(-1)", "gather": "lambda x: x.gather(1, x.argsort(1))",
}


@pytest.mark.parametrize("net", NETS)
def test_nothing_is_left_behind(net):
    """Once a program has run, it finds all its memory again: each array was given back."""
    told = run(f"""
        import whygrad as torch
        nn = torch.nn
        net, x = {NETS[net]}, torch.randn(32, 64, 128, requires_grad=True)
        parameters = list(net.parameters()) if isinstance(net, nn.Module) else []
        fresh = []
        for step in range(12):
            y = net(x)
            (y[0] if isinstance(y, tuple) else y).square().mean().backward()
            for p in (x, *parameters):
                p.grad = None
            del y
            fresh.append(torch.memory_stats()["fresh"])
        print(fresh[-1] - fresh[5], fresh[-1] > 0)
    """)
    assert told in ("0 True", "0 False"), "arrays are lost"


def test_the_allocator_can_be_asked_and_emptied():
    told = run("""
        import whygrad as torch
        print(torch.memory_stats())
        torch.empty_cache()
        x = torch.randn(1 << 20).sigmoid()
        del x
        before = torch.memory_stats()
        torch.empty_cache()
        print(before["kept_bytes"] >= 1 << 22, torch.memory_stats()["kept_bytes"], sorted(before))
    """)
    assert told.splitlines() == ["{'kept_bytes': 0, 'most_bytes': 0, 'reused': 0, 'fresh': 0}",
                                 "True 0 ['fresh', 'kept_bytes', 'most_bytes', 'reused']"]


@pytest.mark.parametrize("other", ["float64", "complex64", "float16", "int64"])
def test_what_numpy_did_first_is_compiled_later(other):
    told = run(f"""
        import whygrad as torch
        for dtype in (torch.{other}, torch.float32):
            torch.ones(100_000, dtype=dtype).tanh()
        before = torch.kernels.stats()["by_name"]["tanh"]
        torch.ones(100_000).tanh()
        after = torch.kernels.stats()["by_name"]["tanh"]
        print(*[after[way] - before[way] for way in ("native", "numpy")], "tanh" in torch.kernels.stats()["not_compiled"])
        for dtype in (torch.{other}, torch.float64, torch.float32, torch.float16):
            assert torch.full((10_000,), 30, dtype=dtype).tanh().abs().sum() == 10_000
    """)
    assert told == "1 0 False"


def test_stats_tell_what_happened():
    told = stats()
    assert told["enabled"] in (True, False)
    assert set(told["functions"]) == {"native", "numpy"}
    x = torch.ones(100_000)
    before = stats()["by_name"].get("tanh", {"native": 0, "numpy": 0})
    torch.tanh(x)
    torch.tanh(x)
    assert stats()["by_name"]["tanh"]["native"] >= before["native"] + 2
    torch.special.erfcx(x)
    assert "erfcx" in stats()["not_compiled"]
    assert code.counts["compiled"] + code.counts["loaded"] > 0
