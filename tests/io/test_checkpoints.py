"""Checkpoints travel: torch -> whygrad -> torch and back, bit by bit, with what is shared still shared."""

from __future__ import annotations

import io
import mmap
import os
import pickle
import stat
import sys
import zipfile
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

import whygrad
import whygrad.nn
from whygrad import io as checkpoint
from whygrad.functional.parameter import Parameter

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint16",
    "uint32",
    "uint64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "complex64",
    "complex128",
]


def through_torch(obj: Any, **options: Any) -> Any:
    """Saved by us, loaded by torch."""
    buffer = io.BytesIO()
    checkpoint.save(obj, buffer)
    buffer.seek(0)
    return torch.load(buffer, **options)


def from_torch(obj: Any, **options: Any) -> Any:
    """Saved by torch, loaded by us."""
    buffer = io.BytesIO()
    torch.save(obj, buffer)
    buffer.seek(0)
    return checkpoint.load(buffer, **options)


def bits(t: Any) -> bytes:
    array = t._array if isinstance(t, whygrad.Tensor) else t.detach().resolve_conj().resolve_neg().contiguous()
    if isinstance(array, torch.Tensor):
        array = (array.view(torch.uint8) if array.ndim else array.reshape(1).view(torch.uint8)).numpy()
    return array.tobytes()


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (7,), (3, 5)])
def test_every_dtype_is_kept_to_the_last_bit(name: str, shape: tuple[int, ...]) -> None:
    dtype = getattr(torch, name)
    raw = np.random.default_rng(0).integers(0, 2 if name == "bool" else 256, (*shape, dtype.itemsize), dtype=np.uint8)
    theirs = torch.from_numpy(raw.reshape(-1)).view(dtype).reshape(shape)  # any bits: NaN payloads and denormals too
    ours = from_torch(theirs)
    assert str(ours.dtype) == str(theirs.dtype)
    assert tuple(ours.shape) == shape
    back = through_torch(ours)
    assert back.dtype is dtype
    assert back.shape == theirs.shape
    assert back.stride() == theirs.stride()
    assert bits(ours) == bits(theirs) == bits(back)


def test_views_share_their_storage_on_both_sides() -> None:
    x = torch.arange(24.0).reshape(2, 3, 4)
    ours = from_torch(
        {"x": x, "t": x.permute(2, 0, 1), "row": x[1, 2], "step": x[:, ::2, 1::2], "wide": x[0, 0, :1].expand(5)}
    )
    back = through_torch(ours)
    for name, t in {"x": x, "t": x.permute(2, 0, 1), "row": x[1, 2], "step": x[:, ::2, 1::2]}.items():
        assert back[name].stride() == t.stride()
        assert back[name].storage_offset() == t.storage_offset()
        np.testing.assert_array_equal(ours[name]._array, t.numpy())
    ours["x"]._array[...] = back["x"][...] = 7
    for side in (ours, back):
        for t in side.values():
            assert (np.asarray(t) == 7).all()
    assert ours["t"]._version_counter is ours["row"]._version_counter


def test_views_made_here_share_their_storage_in_torch() -> None:
    x = whygrad.tensor(np.arange(6.0).reshape(2, 3))
    back = through_torch([x, whygrad.from_numpy(x._array.T), whygrad.from_numpy(x._array[1])])
    back[0].zero_()
    assert not back[1].any()
    assert not back[2].any()
    assert back[1].stride() == (1, 3)


def test_an_empty_view_does_not_take_the_storage_of_its_base() -> None:
    x = whygrad.tensor([1.0, 2.0])
    empty, whole = through_torch([whygrad.from_numpy(x._array[:0]), x])
    assert empty.shape == (0,)
    assert whole.tolist() == [1, 2]


def test_views_that_torch_cannot_describe_are_copied() -> None:
    values = np.arange(5.0)
    backwards = whygrad.from_numpy(values)
    backwards._array = values[::-1]
    assert through_torch(backwards).tolist() == [4, 3, 2, 1, 0]


CONTAINERS: dict[str, Any] = {
    "nested": {"a": [1, 2.5, None, True, "text", ("t", ()), {"b": {"c": []}}]},
    "numbers": [
        0,
        -1,
        255,
        256,
        65535,
        65536,
        2**31,
        -(2**31),
        2**63,
        10**30,
        -(10**30),
        1e308,
        float("inf"),
        1j,
        2 - 3j,
    ],
    "ordered": OrderedDict([("z", 1), ("a", 2)]),
    "counter": Counter("abracadabra"),
    "set": {1, 2, "x"},
    "bytes": [b"abc\xff\x00", bytearray(b"xyz"), bytearray()],
    "keys": {1: "a", (1, "b"): 2, None: 3, 2.5: 4, b"k": 5, False: 6},
    "unicode": ["ä\U0001f600", "\udc80", "x" * 300],
}


@pytest.mark.parametrize("name", CONTAINERS)
def test_plain_containers(name: str) -> None:
    value = CONTAINERS[name]
    for result in (from_torch(value), through_torch(value)):
        assert result == value
        assert type(result) is type(value)


def test_empty_bytes_which_torch_itself_cannot_read() -> None:
    assert from_torch({"x": b""}) == {"x": b""}


def test_an_object_that_occurs_twice_is_one_object() -> None:
    inner: list[Any] = [1]
    loop: list[Any] = []
    loop.append(loop)
    result = from_torch({"a": inner, "b": inner, "loop": loop})
    assert result["a"] is result["b"]
    assert result["loop"][0] is result["loop"]


def test_torch_objects() -> None:
    ours = from_torch(
        {"size": torch.Size([2, 3]), "dtype": torch.bfloat16, "device": torch.device("cuda:1"), "layout": torch.strided}
    )
    assert type(ours["size"]) is whygrad.Size
    assert ours["dtype"] is whygrad.base.dtypes.bfloat16
    assert str(ours["device"]) == "cuda:1"
    back = through_torch(ours)
    assert back["size"] == torch.Size([2, 3])
    assert type(back["size"]) is torch.Size
    assert back["dtype"] is torch.bfloat16
    assert back["device"] == torch.device("cuda:1")
    assert back["layout"] is torch.strided


def test_gradient_flags_parameters_and_attributes() -> None:
    leaf = torch.ones(2, requires_grad=True)
    marked = torch.ones(2)
    marked.note = "mine"  # type: ignore[attr-defined]
    parameter = torch.nn.Parameter(torch.ones(3))
    parameter.tag = 5  # type: ignore[attr-defined]
    frozen = torch.nn.Parameter(torch.ones(1, dtype=torch.int64), requires_grad=False)
    ours = from_torch([leaf, leaf * 2, marked, parameter, frozen])
    assert [t.requires_grad for t in ours] == [True, True, False, True, False]
    assert [type(t) for t in ours] == [whygrad.Tensor] * 3 + [Parameter] * 2
    assert ours[1].is_leaf
    assert ours[2].note == "mine"
    assert ours[3].tag == 5
    back = through_torch(ours)
    assert [t.requires_grad for t in back] == [True, True, False, True, False]
    assert [type(t) for t in back] == [torch.Tensor] * 3 + [torch.nn.Parameter] * 2
    assert back[2].note == "mine"
    assert back[3].tag == 5


def test_tied_parameters_stay_tied() -> None:
    p = torch.nn.Parameter(torch.ones(2))
    ours = from_torch({"a": p, "b": p})
    assert ours["a"] is ours["b"]
    back = through_torch(ours)
    assert back["a"] is back["b"]


TURNED = {"plain": lambda z: z, "conj": lambda z: z.conj(), "part of conj": lambda z: z.conj()[1:],
          "neg": lambda z: z.conj().imag}


@pytest.mark.parametrize("name", TURNED)
def test_conjugation_stays_deferred(name: str) -> None:
    def shown(t: Any) -> Any:
        return t.tolist(), t.is_conj(), t.is_neg(), t.stride()

    theirs, ours = [TURNED[name](m.tensor([1 + 2j, 3 - 4j])) for m in (torch, whygrad)]
    loaded = from_torch(theirs)
    assert shown(theirs) == shown(ours) == shown(loaded) == shown(through_torch(ours))
    loaded.mul_(2)  # in the memory, where it is turned
    assert loaded.tolist() == (theirs * 2).tolist()


def test_conjugates_share_the_memory_they_were_saved_with() -> None:
    z = torch.tensor([1 + 2j, 3 - 4j])
    ours = from_torch({"conj": z.conj(), "plain": z})
    ours["plain"].mul_(1j)
    assert ours["conj"].tolist() == z.mul(1j).conj().tolist()


def test_state_of_a_model_and_its_optimizer() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, amsgrad=True)
    for _ in range(3):
        model(torch.randn(5, 3)).sum().backward()
        optimizer.step()
    ours = from_torch({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})
    assert ours["model"]._metadata == model.state_dict()._metadata  # type: ignore[attr-defined]
    back = through_torch(ours)
    fresh_model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    fresh_optimizer = torch.optim.Adam(fresh_model.parameters(), lr=1.0)
    fresh_model.load_state_dict(back["model"])
    fresh_optimizer.load_state_dict(back["optimizer"])
    for a, b in zip(model.parameters(), fresh_model.parameters(), strict=True):
        assert bits(a) == bits(b)
    assert str(fresh_optimizer.state_dict()) == str(optimizer.state_dict())


def test_training_goes_on_in_the_other_library() -> None:
    """Model, optimizer and generator are carried to and fro, and both go on with the same losses."""

    def build(side: Any) -> Any:
        model = side.nn.Sequential(side.nn.Linear(3, 4), side.nn.Tanh(), side.nn.Linear(4, 1))
        return model, side.optim.Adam(model.parameters(), lr=1e-2)

    def train(side: Any, model: Any, optimizer: Any) -> list[float]:
        losses = []
        for _ in range(5):
            optimizer.zero_grad()
            loss = (model(side.randn(5, 3)) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    torch.manual_seed(0)
    theirs, ours = build(torch), build(whygrad)
    train(torch, *theirs)
    for carry, from_side, to_side, before, after in (
        (from_torch, torch, whygrad, theirs, ours),
        (through_torch, whygrad, torch, ours, theirs),
    ):
        parts = [part.state_dict() for part in before]
        carried = carry({"parts": parts, "generator": from_side.get_rng_state()})
        for part, state in zip(after, carried["parts"], strict=True):
            part.load_state_dict(state)
        to_side.set_rng_state(carried["generator"])
        np.testing.assert_allclose(train(torch, *theirs), train(whygrad, *ours), rtol=1e-5)


NAMED = {name: torch.tensor([[0, 1], [1, 1]]).to(getattr(torch, name)) for name in DTYPES if not name.startswith("complex")}


def test_safetensors_travel_both_ways(tmp_path: Path) -> None:
    there, back = tmp_path / "there.safetensors", tmp_path / "back.safetensors"
    safetensors.torch.save_file(NAMED, there, metadata={"made": "by torch"})
    ours = checkpoint.load(there)
    checkpoint.save_safetensors(ours, back, {"made": "by whygrad"})
    theirs = safetensors.torch.load_file(back)
    assert ours.keys() == theirs.keys() == NAMED.keys()
    for name, tensor in NAMED.items():
        assert str(ours[name].dtype) == f"torch.{name}"
        assert bits(ours[name]) == bits(tensor) == bits(theirs[name])
    with safetensors.safe_open(back, "pt") as file:
        assert file.metadata() == {"made": "by whygrad"}


def test_safetensors_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(RuntimeError, match="pip install safetensors"):
        checkpoint.load(tmp_path / "x.safetensors")


def test_npz(tmp_path: Path) -> None:
    """NumPy's own archive takes tensors, and what it gives back are arrays."""
    path = tmp_path / "x.npz"
    names = [name for name in DTYPES if name != "bfloat16"]  # which NumPy's files do not know
    tensors = {name: whygrad.tensor([0, 1, 1]).to(getattr(whygrad, name)) for name in names}
    np.savez(path, **tensors)
    with np.load(path) as found:
        for name in names:
            assert whygrad.from_numpy(found[name]).dtype is tensors[name].dtype
            np.testing.assert_array_equal(found[name], tensors[name]._array)
    model, other = whygrad.nn.Linear(2, 3), whygrad.nn.Linear(2, 3)
    np.savez_compressed(path, **{name: value.detach() for name, value in model.state_dict().items()})
    with np.load(path) as found:
        other.load_state_dict({name: whygrad.from_numpy(found[name]) for name in found.files})
    assert whygrad.equal(model.weight, other.weight)


def test_one_memory_under_two_types_is_refused_as_in_torch() -> None:
    x = whygrad.tensor([1.0, 2.0])
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        checkpoint.save([x, whygrad.from_numpy(x._array.view(np.int32))], io.BytesIO())


def test_paths_permissions_and_links(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    checkpoint.save({"a": whygrad.tensor([1.0])}, path)
    os.chmod(path, 0o640)
    link = tmp_path / "link.pt"
    link.symlink_to(path)
    checkpoint.save({"a": whygrad.tensor([2.0])}, str(link))
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert torch.load(path)["a"].item() == 2
    assert torch.load(path, mmap=True)["a"].item() == 2
    assert checkpoint.load(str(path), mmap=True)["a"]._array.item() == 2
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.pt", "model.pt"]


def test_a_failed_save_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    checkpoint.save([1], path)
    before = path.read_bytes()
    with pytest.raises((AttributeError, pickle.PicklingError)):
        checkpoint.save([lambda: None], path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["model.pt"]


def test_map_location() -> None:
    buffer = io.BytesIO()
    torch.save(torch.ones(2), buffer)
    for place in (
        "cpu",
        whygrad.base.devices.device("cpu"),
        {"cpu": "cpu"},
        lambda storage, location: storage,
        lambda storage, location: None,
    ):
        buffer.seek(0)
        assert checkpoint.load(buffer, map_location=place)._array.tolist() == [1, 1]
    for place in ("cuda", "cuda:0", "foo", {"cpu": "cuda:0"}, 3):
        messages = []
        for load in (torch.load, checkpoint.load):
            buffer.seek(0)
            with pytest.raises((RuntimeError, TypeError)) as caught:
                load(buffer, map_location=place)
            messages.append((caught.type, str(caught.value)))
        assert messages[0] == messages[1]


class Trusted:
    def __init__(self, value: int) -> None:
        self.value = value


def test_classes_need_trust() -> None:
    buffer = io.BytesIO()
    torch.save({"x": Trusted(3), "t": torch.ones(1)}, buffer)
    raw = buffer.getvalue()
    errors = []
    for load in (torch.load, checkpoint.load):
        with pytest.raises(Exception) as caught:
            load(io.BytesIO(raw))
        errors.append((caught.type, str(caught.value).splitlines()[:5]))
    assert errors[0][0] is errors[1][0]
    assert errors[0][1][0] == errors[1][1][0]
    assert "test_checkpoints.Trusted" in errors[1][1][-1]
    assert checkpoint.load(io.BytesIO(raw), weights_only=False)["x"].value == 3
    with checkpoint.safe_globals([Trusted]):
        assert checkpoint.load(io.BytesIO(raw))["x"].value == 3
    assert checkpoint.get_safe_globals() == []
    checkpoint.add_safe_globals([(Trusted, "test_checkpoints.Trusted")])
    try:
        assert checkpoint.load(io.BytesIO(raw))["x"].value == 3
    finally:
        checkpoint.clear_safe_globals()


def test_wrong_arguments() -> None:
    with pytest.raises(AttributeError, match="expected 'f' to be string"):
        checkpoint.save(1, None)
    with pytest.raises(RuntimeError, match="Parent directory /nowhere does not exist"):
        checkpoint.save(1, "/nowhere/x.pt")
    with pytest.raises(FileNotFoundError):
        checkpoint.load("/nowhere/x.pt")
    with pytest.raises(AttributeError, match="seekable"):
        checkpoint.load(None)
    with pytest.raises(ValueError, match="must be a file path"):
        checkpoint.load(io.BytesIO(), mmap=True)
    with pytest.raises(RuntimeError, match="explicit pickle_module"):
        checkpoint.load(io.BytesIO(), pickle_module=pickle, weights_only=True)


STORED = {
    "a storage": lambda lib: lib.FloatStorage([1, 2]),
    "an untyped storage": lambda lib: {"s": lib.UntypedStorage([1, 2])},
    "a tensor and its storage": lambda lib: [x := lib.arange(6.0), x.storage(), x[2:]],
    "parameters": lambda lib: lib.nn.Linear(2, 3).state_dict(),
    "dtypes": lambda lib: [lib.ones(3, dtype=getattr(lib, name)) for name in ("bool", "uint8", "int16", "bfloat16", "complex64")],
}


AS_LOADED = "UntypedStorage(", "TypedStorage(dtype=torch.uint8, "


@pytest.mark.filterwarnings("ignore:TypedStorage is deprecated")
@pytest.mark.parametrize("is_archive", [True, False], ids=["archive", "legacy"])
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", STORED)
def test_both_formats_are_read_and_written(name: str, weights_only: bool, is_archive: bool) -> None:
    for source, target in ((torch, whygrad), (whygrad, torch), (whygrad, whygrad)):
        file = io.BytesIO(b"before")
        file.seek(6)
        value = STORED[name](source)
        source.save(value, file, _use_new_zipfile_serialization=is_archive)
        file.seek(6)
        assert repr(target.load(file, weights_only=weights_only)) == repr(value).replace(*AS_LOADED)
    file.seek(6)
    shared = target.load(file, weights_only=weights_only)
    if name == "a tensor and its storage":
        shared[1][2] = 9
        assert shared[0][2] == shared[2][0] == 9


@pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])
def test_several_files_in_one(lib: object) -> None:
    file = io.BytesIO()
    for value in (lib.ones(2), lib.zeros(3)):
        lib.save(value, file, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert [lib.load(file).tolist(), lib.load(file).tolist()] == [[1, 1], [0, 0, 0]]


@pytest.mark.parametrize("flag", [mmap.MAP_PRIVATE, mmap.MAP_SHARED])
@pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])
def test_mapped_files(lib: object, flag: int, tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    lib.save({"a": lib.arange(4.0), "b": lib.ones(2, 2)}, path)
    with lib.serialization.set_default_mmap_options(flag):
        loaded = lib.load(path, mmap=True)
    loaded["a"][1] = 7
    assert loaded["a"].untyped_storage().nbytes() == 16
    again = lib.load(path, mmap=True)
    assert again["a"].tolist() == [0, 7 if flag == mmap.MAP_SHARED else 1, 2, 3]
    assert again["b"].tolist() == [[1, 1], [1, 1]]
    lib.save(1, path, _use_new_zipfile_serialization=False)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        lib.load(path, mmap=True)


@pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])
def test_checksums_and_byte_order_are_options(lib: object) -> None:
    options = lib.serialization
    file = io.BytesIO()
    try:
        options.set_crc32_options(False)
        lib.save(lib.ones(2), file)
    finally:
        options.set_crc32_options(True)
    written = zipfile.ZipFile(file)
    assert {info.CRC for info in written.infolist()} == {0}
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for info in written.infolist():
            info.CRC = None  # is not compared
            if not info.filename.endswith("byteorder"):
                archive.writestr(info.filename, written.read(info))
    try:
        options.set_default_load_endianness(options.LoadEndianness.BIG)
        file.seek(0)
        assert lib.load(file).view(lib.int32).tolist() == [0x803f] * 2
    finally:
        options.set_default_load_endianness(None)
    file.seek(0)
    assert lib.load(file).tolist() == [1, 1]
    for wrong, kind in ((lambda: options.set_default_load_endianness(3), TypeError),
                        (lambda: options.set_default_mmap_options(7), ValueError)):
        with pytest.raises(kind, match="Invalid argument"):
            wrong()


@pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])
def test_the_environment_may_decide_what_is_trusted(lib: object, monkeypatch: pytest.MonkeyPatch) -> None:
    file = io.BytesIO()
    lib.save({"c": zipfile.ZipInfo}, file)

    def load(**options: object) -> object:
        file.seek(0)
        return lib.load(file, **options)

    file.seek(0)
    assert lib.serialization.get_unsafe_globals_in_checkpoint(file) == ["zipfile.ZipInfo"]
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load(weights_only=False)
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of"):
        load()
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    with pytest.warns(UserWarning, match="forcing weights_only=False"):
        assert load() == {"c": zipfile.ZipInfo}


def test_big_endian_files() -> None:
    buffer = io.BytesIO()
    checkpoint.save(whygrad.tensor([1.0, 2.0]), buffer)
    raw = buffer.getvalue()
    source = zipfile.ZipFile(io.BytesIO(raw))
    swapped = io.BytesIO()
    with zipfile.ZipFile(swapped, "w") as archive:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            if name.endswith("data/0"):
                data = np.frombuffer(data, np.float32).byteswap().tobytes()
            archive.writestr(name, data)
    swapped.seek(0)
    assert checkpoint.load(swapped)._array.tolist() == [1, 2]
