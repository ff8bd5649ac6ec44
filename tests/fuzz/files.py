"""Checkpoints that are truncated, corrupted or malicious: an error or the right result, never a crash, a write or running code.

A pickle is also changed under a right checksum: then what is read may be something else, but nothing may happen beside.
"""

from __future__ import annotations

import base64
import io
import pickle
import random
import sys
import zipfile
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import torch

import whygrad
from whygrad import io as checkpoint

ALLOWED = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError, NotImplementedError)
FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "socket.connect", "os.remove", "os.rename",
             "os.mkdir", "shutil.rmtree", "ctypes.dlopen")
# Instructions and names that a hostile pickle would like.
WORDS = [b"cposix\nsystem\n", b"cbuiltins\neval\n", b"cbuiltins\ngetattr\n", b"R", b"b", b"\x81", b"\x93", b"i", b"o", b"(",
         b"t", b".",
         b"ctorch\nTensor\n", b"ccollections\nOrderedDict\n", b"X\x13\x00\x00\x00__array_interface__", b"}", b"s", b"u", b"Q",
         b"h\x00",
         b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\x00", b"ctorch._utils\n_rebuild_tensor_v2\n", b"q\x05", b"N", b"]", b"a",
         b"e"]

Case = dict[str, Any]

_seen: list[str] | None = None


def _hook(event: str, arguments: Any) -> None:
    writes = event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+")
    if _seen is not None and (writes or event in FORBIDDEN):
        _seen.append(event)


class Files:
    name = "files"
    watched = False

    def make(self, choose: random.Random) -> Case:
        library = choose.choice([torch, whygrad])
        value: Any = {"w": library.arange(choose.randint(0, 6)), "n": [1, 2.5, "x", None, (True, 2**40)],
                      "o": OrderedDict(a=library.ones(2, 3, dtype=choose.choice([library.float32, library.float64])).t())}
        if choose.random() < 0.3:
            value["p"] = library.nn.Linear(2, 1).state_dict()
        library.save(value, file := io.BytesIO())
        raw = file.getvalue()
        how = choose.choice(["cut", "flip", "flip", "bytes", "zeros", "swap", "insert", "pickle", "pickle", "pickle"])
        return {"file": raw, "data": _pickle_changed(choose, raw) if how == "pickle" else _changed(choose, raw, how), "how": how}

    def problem(self, case: Case) -> str | None:
        global _seen
        if not Files.watched:
            sys.addaudithook(_hook)
            Files.watched = True
        right = repr(checkpoint.load(io.BytesIO(case["file"])))
        _seen = []
        try:
            result = repr(checkpoint.load(io.BytesIO(case["data"])))
        except ALLOWED:
            result = right
        except BaseException as error:
            return f"raises {type(error).__name__}: {str(error)[:80]}"
        finally:
            happened, _seen = _seen, None
        if happened:
            return f"does {', '.join(happened)}"
        return None if result == right or case["how"] == "pickle" else "another result"

    def smaller(self, case: Case) -> Iterable[Case]:
        return ()

    def script(self, case: Case) -> str:
        return ("import base64, io\nfrom whygrad import io as checkpoint\n"
                f"print(checkpoint.load(io.BytesIO(base64.b85decode({base64.b85encode(case['data'])!r}))))\n")


def _changed(choose: random.Random, raw: bytes, how: str) -> bytes:
    at, data = choose.randrange(len(raw)), bytearray(raw)
    if how == "cut":
        return raw[:at]
    if how == "flip":
        for _ in range(choose.randint(1, 4)):
            data[choose.randrange(len(raw))] ^= 1 << choose.randrange(8)
    length = choose.choice([1, 4, 16, 64])
    if how == "bytes":
        data[at:at + length] = choose.randbytes(len(data[at:at + length]))
    elif how == "zeros":
        data[at:at + length] = bytes(len(data[at:at + length]))
    elif how == "insert":
        data[at:at] = choose.randbytes(length)
    elif how == "swap":
        other = choose.randrange(len(raw))
        data[at:at + 8], data[other:other + 8] = data[other:other + 8], data[at:at + 8]
    return bytes(data)


def _pickle_changed(choose: random.Random, raw: bytes) -> bytes:
    """The archive with another pickle, and a checksum that fits it."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(raw)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as new:
        for info in old.infolist():
            data = bytearray(old.read(info))
            if info.filename.endswith("data.pkl"):
                for _ in range(choose.randint(1, 5)):
                    at = choose.randrange(2, len(data))
                    word = choose.choice(WORDS) if choose.random() < 0.6 else choose.randbytes(choose.randint(1, 4))
                    data[at:at + (0 if choose.random() < 0.5 else len(word))] = word
            new.writestr(zipfile.ZipInfo(info.filename), bytes(data))
    return out.getvalue()


KIND = Files()
