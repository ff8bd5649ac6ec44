"""Smaller parts of torch that models by other authors lean on: checks, custom ops, trees, names, hub."""

from __future__ import annotations

import dataclasses
import hashlib
from collections import OrderedDict, defaultdict, deque
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
import torch.utils._pytree
from oracle import outcome

import whygrad
import whygrad.base.pytree as trees
import whygrad.compat.hub
import whygrad.compat.library

BOTH = pytest.mark.parametrize("lib", [torch, whygrad], ids=["torch", "whygrad"])


@pytest.mark.parametrize("call", [
    "_check(True)", "_check(False)", "_check(False, lambda: 'text')", "_check(m.tensor(False))", "_check(1)",
    "_check(False, 'text')", "_check_index(False)", "_check_value(False)", "_check_type(False)",
    "_check_not_implemented(False)", "_check_with(KeyError, False, lambda: 'text')", "_check_is_size(3)",
    "_check_is_size(-1)", "_check_tensor_all(m.tensor([True, True]))", "_check_tensor_all(m.tensor([True, False]))",
    "_check_tensor_all(m.tensor([1]))", "_check_tensor_all(True)", "_assert(True, 'text')", "_assert(False, 'text')",
    "_assert(m.tensor(False), 'text')", "_assert_async(m.tensor(True))", "_assert_async(m.tensor(False))",
    "_assert_async(m.tensor(0.0), 'text')", "_assert_async(m.ones(2))", "_is_all_true(m.tensor([True, False])).item()",
    "_is_any_true(m.tensor([True, False])).item()", "_is_all_true(3)"])
def test_checks(call: str) -> None:
    theirs, ours = outcome(lambda: eval(f"m.{call}", {"m": torch})), outcome(lambda: eval(f"m.{call}", {"m": whygrad}))
    assert theirs == ours


def test_what_the_processor_can_do() -> None:
    theirs, ours = torch.cpu.get_capabilities(), whygrad.cpu.get_capabilities()
    both = theirs.keys() & ours.keys()
    assert {"architecture", "num_logical_cores"} < both
    assert {name: ours[name] for name in both} == {name: theirs[name] for name in both}


def test_names_that_hold_no_data() -> None:
    for name in ("float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"):
        ours, theirs = getattr(whygrad, name), getattr(torch, name)
        assert str(whygrad.finfo(ours)) == str(torch.finfo(theirs))
        assert (str(ours), ours.itemsize, ours.is_signed) == (str(theirs), theirs.itemsize, theirs.is_signed)
        with pytest.raises(NotImplementedError, match=name):
            whygrad.zeros(2, dtype=ours)
    assert whygrad.torch is whygrad
    assert not isinstance(3, (whygrad.SymInt, whygrad.SymFloat, whygrad.SymBool))
    assert whygrad.__config__.show()


@BOTH
def test_custom_ops(lib: Any) -> None:
    @lib.library.custom_op("whygrad_tests::scaled_sine", mutates_args=())
    def scaled_sine(x: torch.Tensor, scale: float = 1.0) -> torch.Tensor:
        return lib.from_numpy(np.sin(scale * x.detach().numpy()))

    x = lib.tensor([1.0, 2.0], requires_grad=True)
    assert not scaled_sine(x.detach()).requires_grad
    y = scaled_sine(x)
    assert type(y.grad_fn).__name__ == "GeneratedBackwardFor_whygrad_tests_scaled_sine_defaultBackward"
    with pytest.raises(RuntimeError, match=r"Trying to backward through whygrad_tests\.scaled_sine\.default but no autograd"):
        y.sum().backward()

    @scaled_sine.register_fake
    def _(x: Any, scale: float = 1.0) -> Any:
        return lib.empty_like(x)

    assert scaled_sine(lib.empty(2, 3, device="meta")).shape == (2, 3)

    def save(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    def backward(ctx: Any, g: Any) -> Any:
        return g * ctx.scale * lib.cos(ctx.scale * ctx.saved_tensors[0]), None

    scaled_sine.register_autograd(backward, setup_context=save)
    lib.ops.whygrad_tests.scaled_sine(x, scale=2.0).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.cos([2.0, 4.0]), rtol=1e-6)
    with pytest.raises(AttributeError):
        _ = lib.ops.whygrad_tests.nowhere
    with pytest.raises(RuntimeError, match=r"whygrad_tests::scaled_sine\(\)"):
        scaled_sine()


@BOTH
def test_ops_of_aten(lib: Any) -> None:
    aten, a, b = lib.ops.aten, lib.ones(2, 3), lib.ones(3, 2)
    assert aten.mm(a, b).tolist() == aten.mm.default(a, b).tolist() == [[3.0, 3.0]] * 2
    assert aten.add.Tensor(a, a, alpha=2).sum().item() == 18.0
    aten.add_(a, 1)
    assert aten.sum.dim_IntList(a, [1]).tolist() == [6.0, 6.0]
    assert (str(aten.mm), aten.mm == aten.mm, aten.mm == aten.bmm) == ("aten.mm", True, False)


@BOTH
def test_custom_ops_with_more_outputs_and_with_effects(lib: Any) -> None:
    @lib.library.custom_op("whygrad_tests::twice_thrice", mutates_args=())
    def twice_thrice(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x * 2, x * 3

    lib.library.register_autograd("whygrad_tests::twice_thrice", lambda ctx, a, b: 2 * a + 3 * b)
    x = lib.ones(2, requires_grad=True)
    twice, thrice = twice_thrice(x)
    (twice.sum() + 10 * thrice.sum()).backward()
    assert x.grad.tolist() == [32.0, 32.0]

    @lib.library.custom_op("whygrad_tests::increment", mutates_args={"x"})
    def increment(x: torch.Tensor) -> None:
        x.add_(1)

    z = lib.zeros(2)
    assert increment(z) is None
    assert (z.tolist(), z._version) == ([1.0, 1.0], 2)

    @lib.library.custom_op("whygrad_tests::same", mutates_args=())
    def same(x: torch.Tensor) -> torch.Tensor:
        return x

    with pytest.raises(RuntimeError, match="must not also be an input"):
        same(z)


def test_compiled_ops_are_refused_when_called() -> None:
    with pytest.raises(OSError, match="no compiled ops"):
        whygrad.ops.load_library("lib.so")
    with pytest.raises(NotImplementedError, match=r"torch\.ops\.torchvision\.nms"):
        whygrad.ops.torchvision.nms(1)
    whygrad.ops.load_library("lib/libtorchaudio.so")
    assert whygrad.ops._torchaudio.is_align_available() is False
    with pytest.raises(NotImplementedError, match=r"torch\.ops\.torchaudio\._lfilter_core_loop"):
        whygrad.ops.torchaudio._lfilter_core_loop(1)




class Point(NamedTuple):
    x: Any
    y: Any


NESTS = [3, [1, (2, {"a": 3, "b": [4]})], {"b": 1, "a": 2}, Point(1, [2]), OrderedDict(z=1, a=[2, 3]), (), [[], {}],
         defaultdict(list, a=1), deque([1, 2], maxlen=3), None]
PYTREE = torch.utils._pytree


@pytest.mark.parametrize("nest", NESTS, ids=repr)
def test_trees(nest: Any) -> None:
    leaves, spec = trees.tree_flatten(nest)
    their_leaves, their_spec = PYTREE.tree_flatten(nest)
    assert leaves == their_leaves == trees.tree_leaves(nest)
    assert (spec.num_leaves, spec.num_nodes) == (their_spec.num_leaves, their_spec.num_nodes)
    assert trees.tree_unflatten(leaves, spec) == nest
    assert type(trees.tree_unflatten(leaves, spec)) is type(nest)
    assert trees.tree_structure(nest) == spec
    assert trees.tree_map(str, nest) == PYTREE.tree_map(str, nest)
    pairs = trees.tree_map(lambda a, b: (a, b), nest, nest)
    assert trees.tree_leaves(pairs, is_leaf=lambda x: isinstance(x, tuple) and len(x) == 2 and x[0] is x[1]) == [
        (x, x) for x in leaves]
    assert trees.tree_map_only(int, lambda x: -x, nest) == PYTREE.tree_map_only(int, lambda x: -x, nest)
    assert trees.tree_any(bool, nest) == PYTREE.tree_any(bool, nest)
    assert trees.tree_all_only(int, lambda x: x > 1, nest) == PYTREE.tree_all_only(int, lambda x: x > 1, nest)


@dataclasses.dataclass
class Batch:
    inputs: Any
    labels: Any = None


@dataclasses.dataclass(frozen=True)
class Unit:
    name: str


@pytest.mark.parametrize("nest", NESTS, ids=repr)
def test_paths(nest: Any) -> None:
    ours, theirs = [[(module.keystr(path), module.key_get(nest, path), leaf) for path, leaf in module.tree_leaves_with_path(nest)]
                    for module in (trees, PYTREE)]
    assert ours == theirs
    assert [trees.tree_map_with_path(lambda path, x, y: f"{len(path)}{x}{y}", nest, nest)] == [
        PYTREE.tree_map_with_path(lambda path, x, y: f"{len(path)}{x}{y}", nest, nest)]


def test_registered_classes() -> None:
    seen = []
    for module in (trees, PYTREE):
        module.register_dataclass(Batch)
        module.register_constant(Unit)
        nest = [Batch([1, 2]), Batch(3, (4,)), Unit("m")]
        leaves, spec = module.tree_flatten(nest)
        again = module.tree_unflatten([-x for x in leaves], spec)
        seen.append([again[:2], again[2] is nest[2], [module.keystr(path) for path, _ in module.tree_leaves_with_path(nest)]])
    assert seen[0] == seen[1]


@pytest.mark.parametrize("module", [PYTREE, trees], ids=["torch", "whygrad"])
def test_wrong_trees(module: ModuleType) -> None:
    leaves, spec = module.tree_flatten([1, (2, 3)])
    with pytest.raises(ValueError, match="`leaves` has length 2 but the spec refers to a pytree that holds 3 items"):
        module.tree_unflatten(leaves[:2], spec)
    with pytest.raises(TypeError, match="Expected `treespec` to be an instance of PyTreeSpec but got item of type"):
        module.tree_unflatten(leaves, 3)
    with pytest.raises(ValueError, match="mismatch"):
        module.tree_map(max, [1, (2, 3)], [1, [2, 3]])

    class Own:
        def __init__(self, inside: Any) -> None:
            self.inside = inside

    assert module.tree_leaves(found := Own([1, 2])) == [found]
    module.register_pytree_node(Own, lambda x: ([x.inside], None), lambda children, _: Own(*children))
    assert module.tree_leaves(found) == [1, 2]
    assert module.tree_map(lambda x: -x, found).inside == [-1, -2]
    with pytest.raises(ValueError, match="already registered as pytree node"):
        module.register_pytree_node(Own, lambda x: ([], None), lambda children, _: None)


def test_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(whygrad.hub, "_hub_dir", None)
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert whygrad.hub.get_dir() == torch.hub.get_dir() == str(tmp_path / "home" / "hub")
    torch.save({"w": torch.ones(2)}, tmp_path / "weights.pt")
    digest = hashlib.sha256((tmp_path / "weights.pt").read_bytes()).hexdigest()[:8]
    (tmp_path / "weights.pt").rename(tmp_path / f"weights-{digest}.pt")
    url = (tmp_path / f"weights-{digest}.pt").as_uri()
    for _ in range(2):  # the second time it is there already
        assert whygrad.hub.load_state_dict_from_url(url, check_hash=True)["w"].tolist() == [1, 1]
    assert capsys.readouterr().out.count("Downloading") == 1
    with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00000000", got "'):
        whygrad.hub.download_url_to_file(url, str(tmp_path / "copy.pt"), "00000000")
    assert not (tmp_path / "copy.pt").exists()


def test_hub_models_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "layers.py").write_text("SIZE = 3\n")
    (tmp_path / "hubconf.py").write_text("from layers import SIZE\ndef model(extra):\n    return SIZE + extra\n")
    assert whygrad.hub.load(str(tmp_path), "model", 4, source="local") == 7
    with pytest.raises(RuntimeError, match="Cannot find callable nowhere in hubconf"):
        whygrad.hub.load(str(tmp_path), "nowhere", source="local")
    with pytest.raises(ValueError, match='Unknown source: "web"'):
        whygrad.hub.load(str(tmp_path), "model", source="web")
    with pytest.raises(NotImplementedError, match=r"torch\.hub\.load: repositories are not fetched"):
        whygrad.hub.load("pytorch/vision", "resnet18")


@BOTH
def test_storages_of_bytes(lib: Any, tmp_path: Path) -> None:
    (tmp_path / "raw").write_bytes(bytes(range(12)))
    memory = lib.UntypedStorage.from_file(str(tmp_path / "raw"), False, 12)
    part = lib.asarray(memory[4:8], dtype=lib.uint8)
    assert (len(memory), memory[3], memory[2:4].tolist(), part.tolist()) == (12, 3, [2, 3], [4, 5, 6, 7])
    part[0] = 99
    assert memory[4] == 99
    assert (tmp_path / "raw").read_bytes() == bytes(range(12))
    assert lib.UntypedStorage([1, 2]).tolist() == [1, 2]
    assert lib.UntypedStorage(5).nbytes() == 5
    assert lib.ones(2, dtype=lib.int16)[1].untyped_storage().tolist() == [1, 0, 1, 0]


def _library_program(t: Any) -> Any:
    """Ops that are declared by a schema."""
    lib = t.library.Library("whygrad_tests_declared", "FRAGMENT")
    ops = t.ops.whygrad_tests_declared
    x = t.ones(2, requires_grad=True)
    seen: list[Any] = [lib.define("scaled(Tensor x, float factor=2.0, *, str mode='a') -> Tensor")]
    seen.append(_kind(lambda: ops.scaled(x)))
    lib.impl("scaled", lambda x, factor=2.0, *, mode="a": x * factor if mode == "a" else x - factor, "CPU")
    lib.impl("scaled", lambda x, factor=2.0, *, mode="a": x * 0, "CUDA")
    ops.scaled(x, 3.0).sum().backward()
    seen += [x.grad.tolist(), ops.scaled(x, mode="b").tolist(), ops.scaled.default(x).tolist()]
    lib.define("several(Tensor x, int[2] sizes=[1, 2]) -> (Tensor, Tensor)")
    lib.impl("several", lambda x, sizes=(1, 2): (x * 3, x + sizes[1]), "CompositeImplicitAutograd")
    seen += [[out.tolist() for out in ops.several(x)], [out.is_meta for out in ops.several(t.ones(2, device="meta"))]]
    lib.impl("scaled", lambda x, factor=2.0, *, mode="a": x * 7, "AutogradCPU")
    lib.impl("scaled", lambda x, factor=2.0, *, mode="a": x * 0, "CompositeExplicitAutograd")
    seen.append(ops.scaled(x).tolist())
    t.library.define("whygrad_tests_declared::shaped", "(Tensor x, int[] sizes) -> Tensor")
    t.library.impl("whygrad_tests_declared::shaped", "cpu")(lambda x, sizes: x.reshape(sizes).clone())
    t.library.register_autograd("whygrad_tests_declared::shaped", lambda ctx, g: (g.reshape(-1) * 5, None))
    t.library.register_fake("whygrad_tests_declared::shaped")(lambda x, sizes: x.new_empty(sizes))
    ops.shaped(x, [2, 1]).sum().backward()
    seen += [x.grad.tolist(), list(ops.shaped(t.ones(4, device="meta"), [2, 2]).shape)]
    on_device = t.library.custom_op("whygrad_tests_declared::elsewhere", lambda x: x * 2, mutates_args=(), device_types="cuda",
                                    schema="(Tensor x) -> Tensor")
    seen.append(_kind(lambda: on_device(t.ones(2))))
    on_device.register_kernel("cpu")(lambda x: x * 4)
    seen.append(on_device(t.ones(2)).tolist())
    triton = t.library.triton_op("whygrad_tests_declared::composed", mutates_args=())(_doubled(t))
    seen.append(triton(x).tolist())
    seen += [outcome(lambda: t.library.Library("a", "OTHER")), outcome(lambda: ops.unknown)]
    return seen


def _kind(call: Any) -> str:
    """The class of the error; torch's text has a paragraph about its dispatcher."""
    return outcome(call)[1][0]


def _doubled(t: Any) -> Any:
    def doubled(x):
        return x * 2

    doubled.__annotations__ = {"x": t.Tensor, "return": t.Tensor}
    return doubled


@pytest.mark.filterwarnings("ignore:Warning only once for all operators", "ignore:.*an autograd kernel was not registered")
def test_libraries_of_ops_declared_by_schemas() -> None:
    assert _library_program(whygrad) == _library_program(torch)
