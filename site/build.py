"""python site/build.py [FOLDER]: builds the site, one folder that any static host serves (default: build/site).

It needs npm, which fetches the pinned packages of package-lock.json. Sizes and times are printed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
MODULES = HERE / "node_modules"
sys.path.insert(0, str(HERE))

import documentation  # noqa: E402
from play import gallery  # noqa: E402

# What the page needs of Pyodide.
PYODIDE = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "pyodide-lock.json")
# Files that are written by hand and served as they are.
PLAIN = ("index.html", "play.css", "worker.js", "interpreter.js")
# What of whygrad a page cannot use: machine code, real PyTorch, new processes.
NOT_IN_A_PAGE = ("for_torch", "_shim")


@contextmanager
def timed(what: str) -> Iterator[None]:
    began = time.perf_counter()
    yield
    print(f"{time.perf_counter() - began:6.1f} s  {what}", flush=True)


def install() -> None:
    """Fetch the npm packages, unless those of the lock file are there."""
    done = MODULES / ".package-lock.json"
    if not done.exists() or done.stat().st_mtime < (HERE / "package-lock.json").stat().st_mtime:
        subprocess.run(["npm", "ci", "--ignore-scripts", "--loglevel=error"], cwd=HERE, check=True)
        done.touch()


def pack(out: Path) -> None:
    """python.gz: NumPy, whygrad and the programs of the page; and the standard library. The Python that runs it compiles it."""
    with tempfile.TemporaryDirectory() as folder:
        for archive in (MODULES / "@emscripten-forge/numpy/pkg").glob("*.tar.gz"):
            with tarfile.open(archive) as tar:
                tar.extractall(f"{folder}/numpy", filter="data")
        ours = Path(folder, "ours")
        shutil.copytree(ROOT / "src/whygrad", ours / "whygrad", ignore=shutil.ignore_patterns(*NOT_IN_A_PAGE, "__pycache__"))
        shutil.copytree(HERE / "play", ours / "play", ignore=lambda folder, names: [
            name for name in names if not name.endswith(".py") and name != "plotting"])
        packages = next(Path(folder, "numpy").glob("lib/python3*/site-packages"))
        subprocess.run(["node", "pack.mjs", *map(str, (out / "python.gz", out / "pyodide/python_stdlib.zip", packages, ours))],
                       cwd=HERE, check=True)


def bundle(entry: str, out: Path, form: str) -> None:
    subprocess.run([str(MODULES / ".bin/esbuild"), entry, "--bundle", "--minify", f"--format={form}", "--log-level=warning",
                    "--legal-comments=eof", f"--outfile={out}"], cwd=HERE, check=True)


def build_playground(out: Path) -> None:
    (out / "pyodide").mkdir(parents=True)
    with timed("Python, NumPy and whygrad compiled and packed"):
        pack(out)
    for name in PYODIDE:
        shutil.copy(MODULES / "pyodide" / name, out / "pyodide" / name)
    for name in PLAIN:
        shutil.copy(HERE / "play" / name, out / name)
    with timed("the page bundled"):
        bundle("play/main.js", out / "main.js", "esm")
        bundle("play/whygrad-box.js", out / "whygrad-box.js", "iife")
    (out / "gallery.json").write_text(json.dumps(gallery.programs(ROOT)))


def write_service_worker(out: Path) -> None:
    """The worker keeps all files of one build; a build with other files has another name."""
    files = sorted(path for path in out.rglob("*") if path.is_file())
    names = [path.relative_to(out).as_posix() for path in files]
    version = hashlib.sha256(b"".join(hashlib.sha256(path.read_bytes()).digest() for path in files)).hexdigest()[:12]
    text = (HERE / "play/service-worker.js").read_text()
    (out / "service-worker.js").write_text(f"const VERSION = {version!r};\nconst FILES = {json.dumps(names)};\n{text}")


def compressed(path: Path) -> int:
    """Bytes that travel, if the host compresses text and WebAssembly."""
    content = path.read_bytes()
    return len(content) if path.suffix in (".gz", ".zip", ".png") else len(gzip.compress(content, 6))


def print_sizes(out: Path) -> None:
    rows = [(path.relative_to(out).as_posix(), path.stat().st_size, compressed(path))
            for path in sorted((out / "play").rglob("*")) if path.is_file()]
    for name, size, sent in sorted(rows, key=lambda row: -row[2])[:8]:
        print(f"{size / 1e6:7.2f} MB  {sent / 1e6:6.2f} MB sent  {name}")
    total = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"{sum(row[1] for row in rows) / 1e6:7.2f} MB  {sum(row[2] for row in rows) / 1e6:6.2f} MB sent  the playground; "
          f"{total / 1e6:.1f} MB  the whole site")


def main(folder: str = "") -> None:
    out = Path(folder or ROOT / "build/site").resolve()
    if shutil.which("npm") is None:
        raise SystemExit("the site needs npm and node 18 or newer: apt-get install npm")
    with timed("npm packages"):
        install()
    with tempfile.TemporaryDirectory(dir=out.parent if out.parent.is_dir() else None) as fresh:
        new = Path(fresh, "site")
        build_playground(new / "play")
        with timed("the documentation, with all its answers"):
            documentation.build(new, ROOT)
        write_service_worker(new)
        shutil.rmtree(out, ignore_errors=True)
        out.parent.mkdir(parents=True, exist_ok=True)
        new.rename(out)
    print_sizes(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
