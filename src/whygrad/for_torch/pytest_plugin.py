"""What `pytest --why` does (see whygrad_pytest.py, where the option is): each test is recorded, with its fixtures."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from whygrad.for_torch.recording import Recording


class RecordedTests:
    def __init__(self) -> None:
        self._recording: Recording | None = None
        self._failed: Recording | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Generator[None, Any, Any]:
        self._failed = None
        self._recording = Recording().start()
        with self._ending_if_it_raises():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self) -> Generator[None, Any, Any]:
        with self._ending_if_it_raises():
            return (yield)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Generator[None, Any, Any]:
        try:
            with self._ending_if_it_raises():
                return (yield)
        finally:
            if self._recording is not None:
                self._recording.stop()
            self._recording = None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if report.failed and self._failed is not None and self._failed.answers:
            report.sections.append(("why", str(self._failed.answers)))
            self._failed = None
        return report

    @contextmanager
    def _ending_if_it_raises(self) -> Generator[None]:
        """Recording ends while the exception is handled, for it tells how the test ended."""
        try:
            yield
        except BaseException:
            if self._recording is not None and self._recording.is_running:
                self._failed = self._recording
                self._failed.stop()
            raise
