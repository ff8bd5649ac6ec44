"""Malicious and damaged checkpoints: each is refused, with an error that says what is wrong, and nothing in it runs."""

from __future__ import annotations

import io
import os
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import whygrad
from whygrad import io as checkpoint

RAN = "WHYGRAD_CODE_OF_A_CHECKPOINT_RAN"


def good() -> bytes:
    buffer = io.BytesIO()
    torch.save({"w": torch.arange(100.0), "b": torch.ones(3, dtype=torch.int64)}, buffer)
    return buffer.getvalue()


def archive(records: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as out:
        for name, data in records.items():
            out.writestr(zipfile.ZipInfo(name), data, compression)
    return buffer.getvalue()


def with_pickle(described: bytes, storage: bytes = b"\0" * 16) -> bytes:
    return archive(
        {
            "archive/data.pkl": described,
            "archive/byteorder": b"little",
            "archive/data/0": storage,
            "archive/version": b"3\n",
        }
    )


class Call:
    """Pickles as a call of `function`."""

    def __init__(self, function: Any, *args: Any) -> None:
        self.function, self.args = function, args

    def __reduce__(self) -> Any:
        return self.function, self.args


def calling(function: Any, *args: Any) -> bytes:
    return with_pickle(pickle.dumps(Call(function, *args), 2))


def text(s: str) -> bytes:
    return b"X" + struct.pack("<I", len(s.encode())) + s.encode()


def number(n: int) -> bytes:
    return b"\x8a\x09" + n.to_bytes(9, "little", signed=True)


def numbers(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def storage_id(kind: str = "torch\nFloatStorage", key: str = "0", location: str = "cpu", numel: int = 4) -> bytes:
    return b"(" + text("storage") + b"c" + kind.encode() + b"\n" + text(key) + text(location) + number(numel) + b"tQ"


def tensor(
    offset: int = 0,
    size: tuple[int, ...] = (4,),
    stride: tuple[int, ...] = (1,),
    storage: bytes = storage_id(),
    flags: bytes = b"\x89N",
    function: str = "torch._utils\n_rebuild_tensor_v2",
) -> bytes:
    """The pickle of a tensor over the storage of 16 bytes that `with_pickle` brings."""
    return with_pickle(
        b"\x80\x02c"
        + function.encode()
        + b"\n("
        + storage
        + number(offset)
        + numbers(size)
        + numbers(stride)
        + flags
        + b"tR."
    )


def tensor_with(name: str) -> bytes:
    """A tensor with an attribute of that name."""
    arguments = b"(" + storage_id() + number(0) + numbers((4,)) + numbers((1,)) + b"\x89Nt"
    return with_pickle(b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(ctorch._utils\n_rebuild_tensor_v2\nctorch\nTensor\n"
                       + arguments + b"}" + text(name) + b"NstR.")


def parameter_with(name: str) -> bytes:
    data = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage_id() + number(0) + numbers((4,)) + numbers((1,)) + b"\x89NtR"
    return with_pickle(b"\x80\x02ctorch._utils\n_rebuild_parameter_with_state\n(" + data + b"\x88N}" + text(name) + b"NstR.")


def patched(raw: bytes, at: int, new: bytes) -> bytes:
    return raw[:at] + new + raw[at + len(new) :]


def patch_directory(raw: bytes, record: bytes, field: int, new: bytes) -> bytes:
    """Change a field of a record's entry in the central directory."""
    start = raw.index(b"PK\1\2")
    name_at = raw.index(record, start)
    return patched(raw, name_at - 46 + field, new)


def twice() -> bytes:
    raw = archive({"archive/data.pkl": pickle.dumps(1, 2), "archive/data.pk2": pickle.dumps(2, 2)})
    return raw.replace(b"data.pk2", b"data.pkl")


def overlapping() -> bytes:
    """Many directory entries over one record: small file, much data."""
    raw = archive({"archive/data.pkl": pickle.dumps(1, 2), "archive/data/0": b"\0" * 4096})
    start, end = raw.index(b"PK\1\2"), raw.index(b"PK\5\6")
    entries = raw[start:end]
    last = entries[entries.index(b"PK\1\2", 4) :]
    more = b"".join(last.replace(b"data/0", b"data/%c" % c) for c in b"123456789abcdef")
    count = 2 + 15
    tail = raw[end:]
    tail = tail[:8] + struct.pack("<HHI", count, count, len(entries) + len(more)) + tail[16:]
    return raw[:end] + more + tail


def deep_key() -> bytes:
    return with_pickle(b"\x80\x02})" + b"\x85" * 200_000 + b"Ns.")


def doubling_key() -> bytes:
    described = b"\x80\x02}K\1"
    for i in range(60):
        described += b"q%ch%c\x86" % (i, i)
    return with_pickle(described + b"Ns.")


def endless_message() -> bytes:
    """A storage offset that would take forever to print."""
    described = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n(" + storage_id() + b"K\1"
    for i in range(60):
        described += b"q%ch%c\x86" % (i, i)
    return with_pickle(described + numbers((4,)) + numbers((1,)) + b"\x89NtR.")


def copies() -> bytes:
    call = b"c_codecs\nencode\nh\x00h\x01\x86R"
    return with_pickle(
        b"\x80\x02(" + text("x" * 100_000) + b"q\x00" + text("latin1") + b"q\x01" + call * 10_000 + b"t."
    )


FILES: dict[str, tuple[Callable[[], bytes], type[Exception], str]] = {
    # Code.
    "os.system": (lambda: calling(os.system, f"touch {RAN}"), pickle.UnpicklingError, "posix.system"),
    "eval": (lambda: calling(eval, f"open('{RAN}', 'w')"), pickle.UnpicklingError, "eval"),
    "exec": (lambda: calling(exec, f"open('{RAN}', 'w')"), pickle.UnpicklingError, "exec"),
    "open": (lambda: calling(open, RAN, "w"), pickle.UnpicklingError, "io.open"),
    "getattr": (lambda: calling(getattr, "x", "upper"), pickle.UnpicklingError, "getattr"),
    "import": (lambda: calling(__import__, "antigravity"), pickle.UnpicklingError, "__import__"),
    "subprocess": (
        lambda: with_pickle(b"\x80\x02csubprocess\nPopen\n" + text("ls") + b"\x85R."),
        pickle.UnpicklingError,
        "subprocess.Popen",
    ),
    "dotted name": (
        lambda: with_pickle(b"\x80\x02ctorch\nTensor.__init__\n)R."),
        pickle.UnpicklingError,
        "Tensor.__init__",
    ),
    "our own module": (
        lambda: with_pickle(b"\x80\x02cwhygrad.io.saving\nsave\n)R."),
        pickle.UnpicklingError,
        "saving.save",
    ),
    "stack global": (
        lambda: with_pickle(b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02ls\x85R."),
        pickle.UnpicklingError,
        "protocol 4",
    ),
    "stack global in protocol 2": (
        lambda: with_pickle(b"\x80\x02" + text("os") + text("system") + b"\x93)R."),
        pickle.UnpicklingError,
        "Unsupported operand 147",
    ),
    "inst": (lambda: with_pickle(b"(S'ls'\nios\nsystem\n."), pickle.UnpicklingError, "Unsupported operand"),
    "calling a result": (
        lambda: with_pickle(b"\x80\x02ccollections\nOrderedDict\n)R)R."),
        pickle.UnpicklingError,
        "unrecognized function",
    ),
    "calling a class of ours": (
        lambda: with_pickle(b"\x80\x02ctorch\nTensor\n)R."),
        pickle.UnpicklingError,
        "unrecognized function",
    ),
    "new object": (
        lambda: with_pickle(b"\x80\x02ccollections\nOrderedDict\n)\x81."),
        pickle.UnpicklingError,
        "Can only create",
    ),
    "state of a class": (
        lambda: with_pickle(b"\x80\x02ctorch\nTensor\n}" + text("__add__") + b"Nsb."),
        pickle.UnpicklingError,
        "Can only build",
    ),
    "state of a function": (
        lambda: with_pickle(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}" + text("__defaults__") + b")sb."),
        pickle.UnpicklingError,
        "Can only build",
    ),
    "attribute over a method": (
        lambda: with_pickle(b"\x80\x02ccollections\nOrderedDict\n)R}" + text("items") + b"Nsb."),
        pickle.UnpicklingError,
        "cannot be given the attribute 'items'",
    ),
    "array interface of a dict": (
        lambda: with_pickle(b"\x80\x02ccollections\nOrderedDict\n)R}" + text("__array_interface__") + b"}sb."),
        pickle.UnpicklingError,
        "special attribute '__array_interface__'",
    ),
    "array interface of a tensor": (lambda: tensor_with("__array_interface__"), pickle.UnpicklingError, "special attribute"),
    "array struct of a tensor": (lambda: tensor_with("__array_struct__"), pickle.UnpicklingError, "special attribute"),
    "array struct of a parameter": (lambda: parameter_with("__array_struct__"), pickle.UnpicklingError, "special attribute"),
    "backward hooks": (lambda: tensor(flags=b"\x89}" + text("h") + b"Ns"), pickle.UnpicklingError, "backward hooks"),
    # Tensors that reach outside their storage.
    "storage too short": (
        lambda: tensor(size=(5,)),
        pickle.UnpicklingError,
        "needs 5 elements, but its storage holds 4",
    ),
    "offset too large": (lambda: tensor(offset=1), pickle.UnpicklingError, "needs 5 elements"),
    "negative offset": (lambda: tensor(offset=-1), pickle.UnpicklingError, "storage offset"),
    "negative stride": (lambda: tensor(offset=3, stride=(-1,)), pickle.UnpicklingError, "stride"),
    "negative size": (lambda: tensor(size=(-4,)), pickle.UnpicklingError, "size"),
    "large stride": (lambda: tensor(size=(2, 2), stride=(2**60, 1)), pickle.UnpicklingError, "but its storage holds 4"),
    "overflowing size": (lambda: tensor(size=(2**62, 2**62), stride=(0, 0)), pickle.UnpicklingError, "size"),
    "too many dimensions": (
        lambda: tensor(size=(1,) * 65, stride=(1,) * 65),
        pickle.UnpicklingError,
        "do not describe",
    ),
    "stride of another length": (lambda: tensor(stride=(1, 1)), pickle.UnpicklingError, "do not describe"),
    "gradient of integers": (
        lambda: tensor(storage=storage_id("torch\nIntStorage"), flags=b"\x88N"),
        pickle.UnpicklingError,
        "cannot require gradients",
    ),
    "no storage": (lambda: tensor(storage=b"N"), pickle.UnpicklingError, "needs a storage"),
    # Storages that are not what they say.
    "storage size": (lambda: tensor(storage=storage_id(numel=5)), pickle.UnpicklingError, "should have 20 bytes"),
    "huge storage": (
        lambda: tensor(storage=storage_id(numel=2**60)),
        pickle.UnpicklingError,
        "but the archive holds 16",
    ),
    "negative storage": (
        lambda: tensor(storage=storage_id(numel=-1)),
        pickle.UnpicklingError,
        "but the archive holds 16",
    ),
    "missing storage": (lambda: tensor(storage=storage_id(key="7")), pickle.UnpicklingError, "no record 'data/7'"),
    "escaping storage": (
        lambda: tensor(storage=storage_id(key="../../etc/passwd")),
        pickle.UnpicklingError,
        "no record",
    ),
    "storage of another kind": (
        lambda: tensor(storage=storage_id("torch\nQInt8Storage")),
        pickle.UnpicklingError,
        "QInt8Storage",
    ),
    "persistent id": (
        lambda: with_pickle(b"\x80\x02" + text("module") + b"\x85Q."),
        pickle.UnpicklingError,
        "Only persistent_load of storage",
    ),
    "one storage, two types": (
        lambda: with_pickle(b"\x80\x02" + storage_id() + storage_id("torch\nIntStorage") + b"\x86."),
        pickle.UnpicklingError,
        "different types",
    ),
    # Pickles that are bombs or nonsense.
    "bytearray of a size": (lambda: calling(bytearray, 2**40), pickle.UnpicklingError, "must come from bytes"),
    "deep key": (deep_key, pickle.UnpicklingError, "nested too deeply"),
    "doubling key": (doubling_key, pickle.UnpicklingError, "nested too deeply"),
    "endless message": (endless_message, pickle.UnpicklingError, "cannot be a tuple"),
    "copies": (copies, pickle.UnpicklingError, "far more data"),
    "string longer than the pickle": (
        lambda: with_pickle(b"\x80\x02X\xff\xff\xff\x7fabc."),
        pickle.UnpicklingError,
        "ends in the",
    ),
    "no end": (lambda: with_pickle(b"\x80\x02]"), pickle.UnpicklingError, "ends in the middle"),
    "empty pickle": (lambda: with_pickle(b""), pickle.UnpicklingError, "ends in the middle"),
    "empty stack": (lambda: with_pickle(b"\x80\x02a."), pickle.UnpicklingError, "no sense"),
    "unknown memo": (lambda: with_pickle(b"\x80\x02h\x07."), pickle.UnpicklingError, "no sense"),
    "unhashable key": (lambda: with_pickle(b"\x80\x02}]Ns."), pickle.UnpicklingError, "cannot be a key"),
    "append to a tuple": (lambda: with_pickle(b"\x80\x02)Na."), pickle.UnpicklingError, "append to lists"),
    "not utf-8": (lambda: with_pickle(b"\x80\x02X\x01\x00\x00\x00\xff."), pickle.UnpicklingError, "no sense"),
    "random bytes as pickle": (
        lambda: with_pickle(bytes(range(255, 0, -1))),
        pickle.UnpicklingError,
        "Unsupported operand",
    ),
    # Archives.
    "truncated": (lambda: good()[:-100], RuntimeError, "central directory"),
    "truncated by one byte": (lambda: good()[:-1], RuntimeError, "central directory"),
    "first half": (lambda: good()[: len(good()) // 2], RuntimeError, "central directory"),
    "flipped bit in a tensor": (
        lambda: good().replace(struct.pack("<2f", 50, 51), struct.pack("<2f", 50, 52)),
        RuntimeError,
        "checksum of the record 'data/0'",
    ),
    "flipped bit in the pickle": (
        lambda: good().replace(b"FloatStorage", b"FloatStoragf", 1),
        RuntimeError,
        "data.pkl",
    ),
    "compressed": (
        lambda: archive({"archive/data.pkl": pickle.dumps([0] * 1000, 2)}, zipfile.ZIP_DEFLATED),
        RuntimeError,
        "is compressed",
    ),
    "zip bomb": (
        lambda: archive({"archive/data.pkl": b"\x80\x02N.", "archive/data/0": b"\0" * 10**7}, zipfile.ZIP_DEFLATED),
        RuntimeError,
        "is compressed",
    ),
    "declared size": (
        lambda: patch_directory(good(), b"archive/data/0", 20, struct.pack("<II", 2**31, 2**31)),
        RuntimeError,
        "claim more bytes",
    ),
    "overlapping records": (overlapping, RuntimeError, "claim more bytes"),
    "two records of one name": (twice, RuntimeError, "two records"),
    "encrypted": (lambda: patch_directory(good(), b"archive/data/0", 8, b"\x09\x08"), RuntimeError, "encrypted"),
    "record moved": (
        lambda: patch_directory(good(), b"archive/data/0", 42, struct.pack("<I", 3)),
        RuntimeError,
        "not where",
    ),
    "path up": (
        lambda: archive({"archive/data.pkl": b"\x80\x02N.", "archive/../../x": b""}),
        RuntimeError,
        "leads out",
    ),
    "absolute path": (lambda: archive({"/etc/passwd": b"", "/data.pkl": b"\x80\x02N."}), RuntimeError, "leads out"),
    "drive": (lambda: archive({"archive/data.pkl": b"\x80\x02N.", "archive/c:x": b""}), RuntimeError, "leads out"),
    "backslash": (
        lambda: archive({"archive/data.pkl": b"\x80\x02N.", "archive/..\\x": b""}),
        RuntimeError,
        "leads out",
    ),
    "two folders": (
        lambda: archive({"a/data.pkl": b"\x80\x02N.", "b/data.pkl": b"\x80\x02N."}),
        RuntimeError,
        "one folder",
    ),
    "no pickle": (lambda: archive({"archive/data/0": b""}), RuntimeError, "data.pkl"),
    "no records": (lambda: archive({}), pickle.UnpicklingError, "no zip archive"),
    "byte order": (
        lambda: archive({"archive/data.pkl": b"\x80\x02N.", "archive/byteorder": b"middle"}),
        ValueError,
        "endianness",
    ),
    "TorchScript": (
        lambda: archive({"m/data.pkl": b"\x80\x02N.", "m/constants.pkl": b""}),
        NotImplementedError,
        "TorchScript",
    ),
    # Other files.
    "empty": (lambda: b"", EOFError, "empty"),
    "text": (lambda: b"hello world, this is no checkpoint", pickle.UnpicklingError, "no zip archive"),
    "plain pickle": (lambda: pickle.dumps(Call(os.system, f"touch {RAN}"), 2), pickle.UnpicklingError, "is blocked"),
    "zeros": (lambda: b"\0" * 10_000, pickle.UnpicklingError, "no zip archive"),
    "zip header alone": (lambda: b"PK\3\4" + b"\0" * 100, RuntimeError, "central directory"),
}


@pytest.mark.parametrize("name", FILES)
def test_refused(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, kind, words = FILES[name]
    raw = make()
    with pytest.raises(kind) as caught:
        checkpoint.load(io.BytesIO(raw))
    assert words in str(caught.value)
    Path("file.pt").write_bytes(raw)
    with pytest.raises(kind):
        checkpoint.load("file.pt")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file.pt"]


class Trusted:
    pass


def test_a_trusted_class_is_given_no_special_attribute() -> None:
    state = b"c" + f"{Trusted.__module__}\n{Trusted.__qualname__}".encode() + b"\n)\x81}" + text("{}") + b"K\1sb."
    with checkpoint.safe_globals([Trusted]):
        named = state.replace(text("{}"), text("name"))
        assert checkpoint.load(io.BytesIO(with_pickle(b"\x80\x02" + named))).name == 1
        named = state.replace(text("{}"), text("__array_interface__"))
        with pytest.raises(pickle.UnpicklingError, match="special attribute"):
            checkpoint.load(io.BytesIO(with_pickle(b"\x80\x02" + named)))


def test_the_honest_relatives_of_the_table_are_read() -> None:
    assert vars(checkpoint.load(io.BytesIO(tensor_with("note")))) == {"note": None}
    assert vars(checkpoint.load(io.BytesIO(parameter_with("note")))) == {"note": None}
    assert checkpoint.load(io.BytesIO(tensor()))._array.tolist() == [0, 0, 0, 0]
    assert checkpoint.load(io.BytesIO(tensor(size=(2, 3), stride=(0, 1))))._array.shape == (2, 3)
    assert set(checkpoint.load(io.BytesIO(good()))) == {"w", "b"}


def test_every_truncation_and_many_bit_flips_end_in_an_error_or_the_same_values() -> None:
    buffer = io.BytesIO()
    checkpoint.save({"w": whygrad.tensor([1.5, 2.5]), "n": [1, "x"]}, buffer)
    raw = buffer.getvalue()
    expected = "{'w': tensor([1.5000, 2.5000]), 'n': [1, 'x']}"
    allowed = (RuntimeError, pickle.UnpicklingError, EOFError, ValueError)
    for length in range(len(raw)):
        with pytest.raises(allowed):
            checkpoint.load(io.BytesIO(raw[:length]))
    for at in range(0, len(raw), 3):
        flipped = bytearray(raw)
        flipped[at] ^= 1 << at % 8
        try:
            result = checkpoint.load(io.BytesIO(bytes(flipped)))
        except allowed:
            continue
        assert repr(result) == expected, f"byte {at}"
