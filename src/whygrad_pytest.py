"""The pytest option `--why`: a failing test tells why its gradients are what they are (PyTorch).

pytest loads this file in every run, so it imports nothing: `import whygrad` alone takes longer than many test suites.
"""

from __future__ import annotations

from typing import Any


def pytest_addoption(parser: Any) -> None:
    parser.getgroup("whygrad").addoption(
        "--why", action="store_true", help="record each test's use of PyTorch; a failing test tells why its gradients are None, "
        "zero, NaN or stale, with the line and the fix")


def pytest_configure(config: Any) -> None:
    if config.getoption("--why"):
        from whygrad.for_torch.pytest_plugin import RecordedTests

        config.pluginmanager.register(RecordedTests(), "whygrad-recorded-tests")
