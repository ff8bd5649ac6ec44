"""`--engine auto`: whygrad's own engine, unless what the program imports needs PyTorch, and PyTorch is installed.

The imports are read from the text of the program and of its own modules; nothing is imported or run for that.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

from whygrad.base.torch_modules import resolve
from whygrad.base.unsupported import Missing, is_missing_module

# Files that are read at most, and bytes of one of them and of all together.
MAX_FILES, MAX_BYTES, MAX_TOTAL = 60, 1 << 20, 4 << 20

# What says that an MPI launcher has started this process: of MPICH and Intel MPI, Open MPI, and PMIx under Slurm.
LAUNCHED_BY_MPI = ("PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK")
# What is for several processes, imported from elsewhere.
OF_RANKS = frozenset({"torch.distributed", "torch.nn.parallel.DistributedDataParallel"})
# Names of torch.distributed that programs of one process use.
WITHOUT_RANKS = frozenset({"is_available", "is_initialized", "is_torchelastic_launched", "is_nccl_available", "is_gloo_available",
                           "is_mpi_available"})


class Import(NamedTuple):
    """`import module`, or `from module import name`."""

    module: str
    name: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.module}.{self.name}" if self.name else self.module


def needs_torch(how: str, target: str) -> str:
    """What the program imports that needs PyTorch, in words: "transformers, which needs PyTorch". "" if there is nothing, or if
    PyTorch is not installed."""
    try:
        if not is_installed("torch"):
            return ""
        seen: set[str] = set()
        for found in _imports_of_program(how, target):
            if found.full_name not in seen:
                seen.add(found.full_name)
                reason = _reason(found, seen)
                if reason:
                    return reason
    except (OSError, ValueError, RecursionError, MemoryError, ImportError, AttributeError):
        pass  # an odd file is for Python to complain about
    return ""


def is_launched_by_mpi() -> bool:
    return any(name in os.environ for name in LAUNCHED_BY_MPI)


def is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


def _reason(found: Import, seen: set[str]) -> str:
    package = found.module.partition(".")[0]
    if package == "torch":
        if found.module.startswith("torch.distributed") or found.full_name in OF_RANKS:
            return _reason_of_distributed(found)
        missing = found.module if is_absent(found.module) else found.full_name if _lacks(found) else ""
        return f"{missing}, which whygrad's own engine does not have" if missing else ""
    marked = f"package {package}"
    if marked in seen or package in sys.stdlib_module_names or package == "whygrad":
        return ""
    seen.add(marked)
    from whygrad.base.requirements import requires_torch  # importlib.metadata is slow to load

    return f"{package}, which needs PyTorch" if requires_torch(package) else ""


def _reason_of_distributed(found: Import) -> str:
    """Whygrad's own engine has torch.distributed under an MPI launcher (`whygrad launch`); else torch runs it, if it is there."""
    if found.name in WITHOUT_RANKS or (is_launched_by_mpi() and not _lacks(found)):
        return ""
    return f"{found.full_name if found.full_name in OF_RANKS else found.module}, which whygrad's own engine does not have"


def is_absent(name: str) -> bool:
    """True for a module of torch that whygrad does not have."""
    if not is_missing_module(name):
        return False
    try:
        resolve(name)
    except ImportError:
        return True
    return False


def _lacks(found: Import) -> bool:
    """True if a name is imported from a module of torch that whygrad has, but without that name."""
    if not found.name or not is_absent(found.full_name):
        return False
    ours = vars(importlib.import_module(resolve(found.module)))
    return found.name not in ours or isinstance(ours[found.name], Missing)


# The imports of a program.


def _imports_of_program(how: str, target: str) -> Iterator[Import]:
    if how == "-c":
        yield from _imports(target.encode(), "")
    elif how == "-m":
        yield from _Files(os.getcwd()).from_module(target)
    elif how == "script":
        path = os.path.realpath(target)
        if os.path.isdir(path):
            yield from _Files(path).from_file(os.path.join(path, "__main__.py"), "")
        else:
            yield from _Files(os.path.dirname(path)).from_file(path, "")


class _Files:
    """The program's own files, below one folder. Each is read once."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._seen: set[str] = set()
        self._bytes = 0

    def from_module(self, name: str) -> Iterator[Import]:
        files = self._files_of(name)
        if not files:
            yield Import(name)
        for path, package in files:
            yield from self.from_file(path, package)
        yield from self.from_file(os.path.join(self.folder, *name.split("."), "__main__.py"), name)

    def from_file(self, path: str, package: str) -> Iterator[Import]:
        """The imports of a file and, in their place, those of the modules of the program that it imports."""
        pending = [(path, package)]
        while pending:
            path, package = pending.pop()
            for found in _imports(self._text(path), package):
                own = [*self._files_of(found.module), *(self._files_of(found.full_name) if found.name else [])]
                if own:
                    pending += own
                else:
                    yield found

    def _files_of(self, name: str) -> list[tuple[str, str]]:
        """The files that importing a module of the program runs, each with its package; [] for one of a library."""
        files: list[tuple[str, str]] = []
        parts = name.split(".")
        for i in range(1, len(parts) + 1):
            stem = os.path.join(self.folder, *parts[:i])
            if os.path.isfile(f"{stem}.py"):
                files.append((f"{stem}.py", ".".join(parts[:i - 1])))
            elif os.path.isfile(os.path.join(stem, "__init__.py")):
                files.append((os.path.join(stem, "__init__.py"), ".".join(parts[:i])))
        return files

    def _text(self, path: str) -> bytes:
        if path in self._seen or len(self._seen) >= MAX_FILES or not os.path.isfile(path):
            return b""
        self._seen.add(path)
        size = os.path.getsize(path)
        if path.endswith(".pyc") or size > MAX_BYTES or self._bytes + size > MAX_TOTAL:
            return b""
        self._bytes += size
        with open(path, "rb") as file:
            text = file.read()
        return _cells(text) if path.endswith(".ipynb") else text


def _cells(text: bytes) -> bytes:
    """The code of a notebook: the lines of imports alone, since a cell may be no valid Python."""
    notebook = json.loads(text)
    lines: list[str] = []
    cells = notebook.get("cells") if isinstance(notebook, dict) else None
    for cell in cells if isinstance(cells, list) else []:
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", "")
            lines += (source if isinstance(source, str) else "".join(source)).splitlines()
    return "\n".join(line for line in lines if re.fullmatch(r"(import|from)\s+[\w., ]+", line.strip())
                     and line == line.lstrip()).encode()


def _imports(text: bytes, package: str) -> Iterator[Import]:
    if b"import" not in text:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except SyntaxError:
        return
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            yield from [Import(alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[:len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([part for part in (*above, node.module or "") if part])
            if module:
                yield from [Import(module, alias.name) for alias in node.names if alias.name != "*"] or [Import(module)]
        elif isinstance(node, ast.Try):
            # What stands in `try` can be done without, if the error is caught.
            pending += [*reversed([*([] if node.handlers else node.body), *node.orelse, *node.finalbody])]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            pending += reversed(node.orelse)
        elif isinstance(node, ast.AST) and not isinstance(node, ast.expr):
            pending += reversed(list(ast.iter_child_nodes(node)))
