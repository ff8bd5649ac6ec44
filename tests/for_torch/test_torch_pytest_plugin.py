"""`pytest --why`: a failing test tells why; without the option nothing is loaded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from test_torch_api import SOURCE

TESTS = '''\
import pytest
import torch
from torch import nn


@pytest.fixture
def net():
    return nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))


@pytest.fixture
def cut(net):
    return net[0](torch.ones(4, 2)).detach()


@pytest.fixture
def broken():
    torch.ones(2).sum().backward()


@pytest.fixture
def breaks_late():
    yield
    torch.ones(3).sum().backward()


def test_right(net):
    net(torch.ones(4, 2)).sum().backward()
    assert net[0].weight.grad is not None


def test_cut(net, cut):
    net[2](torch.tanh(cut)).sum().backward()
    assert net[0].weight.grad is not None


def test_error(net):
    loss = net(torch.ones(4, 2)).sum()
    loss.backward()
    loss.backward()


def test_of_other_things():
    assert 1 == 2


def test_setup(broken):
    pass


def test_teardown(breaks_late):
    pass


def test_skipped():
    pytest.skip()


@pytest.mark.xfail
def test_expected():
    torch.ones(2).sum().backward()
'''


def run(folder: Path, *options: str, text: str = TESTS) -> subprocess.CompletedProcess[str]:
    (folder / "test_it.py").write_text(text)
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "whygrad_pytest", *options],
                          cwd=folder, capture_output=True, text=True, timeout=300, check=False,
                          env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin", "COLUMNS": "120", "OMP_NUM_THREADS": "1"})


def sections(output: str) -> dict[str, str]:
    """The sections "why", by the name of the test."""
    found, name, inside = {}, "", False
    for line in output.splitlines():
        if line.startswith(("____", "====")):
            name, inside = line.strip("_= "), False
        elif line.startswith("----") and line.endswith("----"):
            inside = line.strip("- ") == "why"
            if inside:
                found[name] = ""
        elif inside:
            found[name] += line + "\n"
    return found


@pytest.mark.parametrize("options", [(), ("-n", "1")])
def test_failing_tests_tell_why(options: tuple[str, ...], tmp_path: Path) -> None:
    told = run(tmp_path, "--why", *options)
    plain = run(tmp_path, *options)
    for done in (told, plain):
        assert "3 failed, 2 passed, 1 skipped, 1 xfailed, 2 errors" in done.stdout, done.stdout + done.stderr
    assert sections(plain.stdout) == {}
    found = sections(told.stdout)
    assert found.keys() == {"test_cut", "test_error", "ERROR at setup of test_setup", "ERROR at teardown of test_teardown"}
    assert "test_it.py:34 in test_cut: net[0].weight.grad" in found["test_cut"]
    assert "cause: " in found["test_cut"]
    assert "test_it.py:13 in cut: net[0](torch.ones(4, 2)).detach()" in found["test_cut"]
    assert "fix: " in found["test_cut"]
    assert "[graph-freed]" in found["test_error"]
    assert "test_it.py:18 in broken: torch.ones(2)" in found["ERROR at setup of test_setup"]
    assert "test_it.py:24 in breaks_late: torch.ones(3)" in found["ERROR at teardown of test_teardown"]


def test_without_the_option_nothing_is_loaded(tmp_path: Path) -> None:
    text = "import sys\n\n\ndef test_it():\n    assert not {'torch', 'whygrad'} & set(sys.modules)\n"
    assert "1 passed" in run(tmp_path, text=text).stdout
    assert "1 failed" in run(tmp_path, "--why", text=text).stdout


def test_it_is_an_entry_point() -> None:
    import tomllib

    with open(SOURCE.parent / "pyproject.toml", "rb") as file:
        project = tomllib.load(file)["project"]
    assert project["entry-points"]["pytest11"] == {"whygrad_pytest": "whygrad_pytest"}
