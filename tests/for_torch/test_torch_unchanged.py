"""`whygrad run --engine torch` changes nothing: a program prints the same, and ends the same, with and without it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from why.test_cases import Server

HERE = Path(__file__).parent
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
# The first case of each category, and every eighth.
FOLDERS = [sorted(folder.glob("*.py")) for folder in sorted((HERE.parent / "why" / "cases").iterdir()) if folder.is_dir()]
CASES = [case for cases in FOLDERS for case in cases[::8]]


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[Server, Server]]:
    both = Server("torch"), Server("torch-explained")
    yield both
    for server in both:
        server.stop()


def error_of(stderr: str) -> list[str]:
    """Type and first line of the errors that ended the program."""
    printed = stderr.partition("\nwhygrad [")[0]
    return re.findall(r"^(?:\w+\.)*\w+(?:Error|Exception|Interrupt|Exit)(?::.*)?$", printed, re.MULTILINE)


def printed(stdout: str) -> str:
    """What a program printed, without addresses of objects."""
    return re.sub(r"0x[0-9a-f]+", "0x...", stdout)


@pytest.mark.parametrize("program", [*PROGRAMS, *CASES], ids=lambda path: path.stem)
def test_the_program_does_not_notice(program: Path, servers: tuple[Server, Server]) -> None:
    plain, explained = (server.run(program) for server in servers)
    assert printed(explained["stdout"]) == printed(plain["stdout"]), explained["stderr"]
    assert explained["code"] == plain["code"], explained["stderr"]
    assert error_of(explained["stderr"]) == error_of(plain["stderr"])
    assert "could not be resolved" not in explained["stderr"]


def test_how_many_programs_there_are() -> None:
    assert len(CASES) >= 60
    assert len(PROGRAMS) >= 17
