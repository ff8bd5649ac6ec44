"""The alias: `import torch` gives whygrad's own objects; what is missing raises when it is used."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import whygrad
from whygrad.base import torch_modules

SOURCE = str(Path(whygrad.__file__).parents[1])


def run(program: str) -> str:
    """In a process of its own, because this one has PyTorch."""
    done = subprocess.run(
        [sys.executable, "-c", "from whygrad import alias\nalias.install()\n" + textwrap.dedent(program)],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": SOURCE, "PATH": ""},
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_modules_are_the_same_objects() -> None:
    run("""
        import sys, whygrad
        import torch, torch.nn as nn, torch.nn.functional as F, torch.optim.lr_scheduler, torch.autograd
        import torch.utils.data, torch.linalg, torch.random, torch.testing, torch.serialization, torch.nn.parameter
        from torch import Tensor, optim
        from torch.nn import Module, Parameter
        from torch.nn.modules import Linear
        from torch.nn.modules.linear import Linear as Same
        from torch.nn.parameter import Parameter as SameParameter
        from torch.utils.data import DataLoader
        from torch.utils.data.dataloader import default_collate
        from torch.utils.data._utils.collate import default_collate as same_collate
        from torch.utils.data._utils.worker import _generate_state
        from torch.amp.autocast_mode import autocast
        assert same_collate is default_collate and autocast is torch.autocast
        assert _generate_state(2**40 + 5, 3) == [3453014069, 1603536151, 2410470037, 3509082754]
        assert torch is whygrad and nn is whygrad.nn and F is whygrad.nn.functional
        assert Tensor is whygrad.Tensor and Parameter is SameParameter is whygrad.nn.Parameter
        assert Linear is Same is whygrad.nn.Linear and DataLoader is whygrad.utils.data.DataLoader
        assert torch.serialization.load is torch.load
        import pickle
        hooked = nn.Linear(1, 1)
        hooked._register_load_state_dict_pre_hook(print, with_module=True)
        assert pickle.loads(pickle.dumps(hooked))._load_state_dict_pre_hooks
        from torch.nn.utils.weight_norm import WeightNorm
        from torch.nn.utils.spectral_norm import SpectralNorm
        assert callable(torch.nn.utils.weight_norm) and callable(torch.nn.utils.spectral_norm)
        import functorch.experimental
        from torch._functorch.make_functional import FunctionalModule
        assert functorch.FunctionalModule is FunctionalModule and "whygrad" in functorch.experimental.__name__
        assert whygrad.nn.__spec__.name == "whygrad.nn" and nn.__name__ == "whygrad.nn"
        assert torch.__version__.startswith("2.13.0")
    """)


def test_attributes_need_no_import() -> None:
    run("""
        import torch
        for name in ("nn", "optim", "autograd", "utils", "cuda", "backends", "jit", "testing", "linalg", "distributed",
                     "amp", "multiprocessing", "compiler", "random", "version", "onnx", "fx", "hub", "profiler"):
            getattr(torch, name)
        torch.nn.functional.relu, torch.utils.data.DataLoader, torch.backends.cudnn.enabled, torch.cuda.amp.autocast
        torch.nn.utils.clip_grad_norm_, torch.optim.lr_scheduler.StepLR, torch.utils.checkpoint.checkpoint
    """)


def test_missing_parts_raise_when_used() -> None:
    out = run("""
        import torch, torch.distributed as dist, torch.onnx, torch.fx
        from torch.utils.benchmark import Timer
        from torch.nn import ThereIsNoSuchWrapper as DDP
        from torch.distributed.fsdp.wrap import size_based_auto_wrap_policy
        from torch import there_is_no_such_function
        from torch.nn import ThereIsNoSuchLayer
        class Mine(DDP):
            pass
        assert not isinstance(3, DDP) and not isinstance(torch.nn.Module(), DDP)
        def f(op=dist.ReduceOp.SUM):
            pass
        assert not dist.is_initialized()
        for use in (Timer, DDP, Mine, size_based_auto_wrap_policy, there_is_no_such_function,
                    ThereIsNoSuchLayer, dist.rpc.init_rpc, torch.onnx.export, torch.fx.passes.split_module,
                    torch.hub.list, torch.jit.load):
            try:
                use("x")
            except NotImplementedError as error:
                print(error)
    """)
    assert [line.partition(": ")[0] for line in out.splitlines()] == [
        f"torch.{name} is not available in whygrad"
        for name in (
            "utils.benchmark.Timer",
            "nn.ThereIsNoSuchWrapper",
            "nn.ThereIsNoSuchWrapper",
            "distributed.fsdp.wrap.size_based_auto_wrap_policy",
            "there_is_no_such_function",
            "nn.ThereIsNoSuchLayer",
            "distributed.rpc.init_rpc",
            "onnx.export",
            "fx.passes.split_module",
            "hub.list",
            "jit.load",
        )
    ]


def test_a_program_that_is_prepared_gets_its_import_error() -> None:
    run("""
        import torch, torch.nn as nn
        failed = []
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            failed.append(error)
        try:
            import torch.distributed.pipelining
        except ModuleNotFoundError as error:
            failed.append(error)
        try:
            from torch import no_such_thing
        except ImportError as error:
            failed.append(error)
        try:
            from torch.nn import NoSuchLayer
        except ImportError as error:
            failed.append(error)
        assert len(failed) == 4, failed
        assert not hasattr(torch, "no_such_thing") and getattr(nn, "NoSuchLayer", None) is None
    """)


def test_modules_that_torch_does_not_have_either() -> None:
    run("""
        for name in ("torch.nowhere", "torch.nn.nowhere", "torch._rng", "torch._apply", "torchvision_nowhere"):
            try:
                __import__(name)
            except ModuleNotFoundError as error:
                assert error.name == name, error.name
            else:
                raise AssertionError(name)
    """)


def test_errors_name_torch() -> None:
    out = run("""
        import torch, torch.nn as nn, torch.nn.functional
        for use in (lambda: torch.nowhere, lambda: nn.Nowhere, lambda: nn.functional.nowhere,
                    lambda: torch.backends.nowhere):
            try:
                use()
            except AttributeError as error:
                print(error)
    """)
    assert [line.partition(":")[0] for line in out.splitlines()] == [
        "module 'torch' has no attribute 'nowhere'",
        "module 'torch.nn' has no attribute 'Nowhere'",
        "module 'torch.nn.functional' has no attribute 'nowhere'",
        "module 'torch.backends' has no attribute 'nowhere'",
    ]


def test_compile_and_script_run_the_program_as_it_is() -> None:
    run("""
        import torch
        @torch.compile
        def f(x):
            return x + 1
        @torch.compile(mode="reduce-overhead")
        def g(x):
            return x + 2
        @torch.jit.script
        def h(x):
            return x + 3
        @torch.jit.ignore
        def i(x):
            return x
        @torch.compiler.disable
        def j(x):
            return x
        assert (f(1), g(1), h(1), i(1), j(1)) == (2, 3, 4, 1, 1)
        model = torch.nn.Linear(1, 1)
        assert torch.compile(model)._orig_mod is model and torch.jit.trace(model, torch.ones(1)) is model
    """)


def test_autocast_and_scaler() -> None:
    run("""
        import torch, warnings
        with torch.autocast("cuda", enabled=False), torch.amp.autocast("cpu", enabled=False):
            pass
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with torch.autocast("cuda", dtype=torch.float16):
                pass
            scaler = torch.cuda.amp.GradScaler()
        assert "Disabling autocast" in str(caught[0].message), caught
        assert "GradScaler is enabled, but CUDA is not available" in str(caught[-1].message)
        weight = torch.nn.Parameter(torch.ones(1))
        optimizer = torch.optim.SGD([weight], lr=0.5)
        scaler.scale((weight * 2).sum()).backward()
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        assert weight.item() == 0.0 and scaler.get_scale() == 1.0 and scaler.state_dict() == {}
        with torch.autocast("cpu"):
            assert torch.nn.Linear(2, 2)(torch.ones(2)).dtype is torch.bfloat16
        @torch.autocast("cpu", enabled=False)
        def f():
            return 3
        assert f() == 3
    """)


def test_cuda_is_not_there() -> None:
    run("""
        import torch
        cuda = torch.cuda
        assert not cuda.is_available() and cuda.device_count() == 0 and cuda.memory_allocated() == 0
        cuda.manual_seed(1), cuda.manual_seed_all(1), cuda.empty_cache()
        for use in (cuda.current_device, cuda.synchronize, lambda: cuda.get_device_name(0)):
            try:
                use()
            except AssertionError as error:
                assert str(error) == "Torch not compiled with CUDA enabled"
            else:
                raise AssertionError(use)
        try:
            raise MemoryError
        except torch.cuda.OutOfMemoryError:
            pass
        except MemoryError:
            pass
        assert torch.cuda.OutOfMemoryError is torch.OutOfMemoryError
    """)


def test_activation_checkpoints() -> None:
    run("""
        import torch
        from torch.utils.checkpoint import checkpoint, checkpoint_sequential
        x = torch.ones(2, requires_grad=True)
        checkpoint(lambda a, b: a * b, x, 3, use_reentrant=False).sum().backward()
        assert x.grad.tolist() == [3, 3]
        assert checkpoint_sequential([torch.neg, torch.abs], 2, x, use_reentrant=False).tolist() == [1, 1]
    """)


def test_whole_modules_saved_by_torch_names_load_when_trusted() -> None:
    run("""
        import io, torch
        model = torch.nn.Linear(2, 1)
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        try:
            torch.load(file)
        except Exception as error:
            assert "Weights only load failed" in str(error)
        file.seek(0)
        again = torch.load(file, weights_only=False)
        assert type(again) is torch.nn.Linear and again.weight.tolist() == model.weight.tolist()
    """)


def test_uninstall() -> None:
    run("""
        import sys
        import torch, torch.nn, torch.distributed
        alias.uninstall()
        assert not [name for name in sys.modules if name == "torch" or name.startswith("torch.")]
        from importlib.util import find_spec
        spec = find_spec("torch")
        assert spec is None or "whygrad" not in spec.origin
        assert not hasattr(torch, "no_such_thing")
        alias.install()
        alias.install()
        import torch as again
        assert again is torch
    """)


def test_install_comes_too_late() -> None:
    import torch  # noqa: F401

    from whygrad import alias

    with pytest.raises(RuntimeError, match="too late"):
        alias.install()


def test_packages_can_be_imported_that_speak_to_torch_s_compilers() -> None:
    """What such packages do when they are merely imported goes well; their compiled ops are told to be missing."""
    run("""
        import torch, torch.fx, torch._dynamo, torch.onnx.symbolic_helper
        from torch.jit.annotations import BroadcastingList2
        from torch.distributed import rpc
        from torch._C import DisableTorchFunctionSubclass
        from torch.utils.data.dataloader import _BaseDataLoaderIter
        import torch.utils._python_dispatch, torch.nn.modules.module
        class Own(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl
        class Other(torch.Tensor):
            @classmethod
            def __torch_dispatch__(cls, func, types, args=(), kwargs=None): ...
        @torch.library.register_fake("package::op")
        def fake(x: BroadcastingList2[int]) -> torch.SymInt: ...
        @torch.fx.wrap
        @torch._dynamo.disable
        @torch._dynamo.disable()
        @torch.onnx.symbolic_helper.parse_args("v", "i")
        @torch.jit._script_if_tracing
        @rpc.api._require_initialized
        def function(x):
            return x
        assert function(3) == 3 and fake.__name__ == "fake"
        class Model(torch.nn.Module):
            size: torch.jit.Final[int]
        assert torch._C._get_tracing_state() is None and not torch.onnx.is_in_onnx_export()
        both = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU) | torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)
        try:
            torch.ops.load_library("package.so")
        except OSError:
            pass
    """)


def test_files_of_torch_nn() -> None:
    run("""
        import torch
        import torch.nn.modules.container, torch.nn.modules.batchnorm
        from torch.nn.modules._functions import CrossMapLRN2d
        from torch.nn.modules.batchnorm import _BatchNorm, _NormBase
        from torch.nn.modules.linear import NonDynamicallyQuantizableLinear
        from torch.nn.parameter import UninitializedParameter
        assert torch.nn.modules.container.Sequential is torch.nn.Sequential is torch.nn.modules.Sequential
        assert issubclass(torch.nn.BatchNorm2d, torch.nn.modules.batchnorm._BatchNorm)
    """)


def test_arguments_of_to() -> None:
    out = run("""
        import torch
        parse = torch._C._nn._parse_to
        print(parse("cpu"), parse(torch.float64), parse(torch.ones(1)), parse("cpu", torch.half, True), sep="\\n")
        print(parse(device="cpu", dtype=None), parse(memory_format=torch.channels_last), torch._C._nn.gelu(torch.zeros(1)))
    """)
    assert out.splitlines() == [
        "(device(type='cpu'), None, False, None)", "(None, torch.float64, False, None)",
        "(device(type='cpu'), torch.float32, False, None)", "(device(type='cpu'), torch.float16, True, None)",
        "(device(type='cpu'), None, False, None) (None, None, False, torch.channels_last) tensor([0.])"]


@pytest.mark.parametrize("name", ["hub", "jit", "cuda.amp", "version", "types", "_C._nn", "utils._pytree", "optim.adamw"])
def test_a_program_in_which_torch_was_replaced_by_whygrad(name: str) -> None:
    """Modules that live in compat/ can be imported under the names torch has for them, and exist once."""
    found = run(f"""
        import whygrad.{name} as named
        from whygrad.base.torch_modules import load_module
        assert load_module("torch.{name}") is named
        print(named.__name__)
    """)
    assert found.strip() in (torch_modules.HOMES.get(f"torch.{name}"), f"whygrad.compat.{name}")


# Expressions of a program that asks which torch it has; those of one line are the same here as on torch.
IDENTITY = """
    torch.__name__
    [kind.__module__ for kind in (torch.Tensor, torch.dtype, torch.device, torch.Size, torch.finfo, torch.Generator)]
    [kind.__module__ for kind in (nn.Parameter, nn.Linear, nn.BatchNorm1d, nn.Flatten, nn.PixelShuffle, nn.Module, nn.LSTM)]
    [kind.__module__ for kind in (optim.SGD, optim.AdamW, lr_scheduler.StepLR, data.DataLoader, data.TensorDataset)]
    [kind.__module__ for kind in (torch.no_grad, torch.autograd.Function, distributions.Normal, distributions.Transform)]
    [repr(kind) for kind in (torch.Tensor, nn.Parameter, nn.ReLU, optim.Adam)]
    [torch.typename(x) for x in (torch.ones(1), nn.ReLU(), torch.Size(), 3)]
    [find_spec(name) is None for name in ("torch", "torch.nn", "torch.nowhere", "functorch")]
    [torch.__version__ >= "2.13", torch.__version__ < "2.2", torch.__version__ >= (1, 9), torch.__version__ == "2.13.1"]
    [type(torch.__version__).__name__, torch.version.__version__ == torch.__version__, torch.version.cuda]
    [Version(text) < other for text in ("2.13.0a0", "2.13.0+cpu", "1.10", "2.0rc1") for other in ("2.13", (2, 0), "parrot")]
    sorted(vars(functorch).keys() & {"vmap", "grad", "jacrev", "make_functional", "combine_state_for_ensemble"})
    [pickle.loads(pickle.dumps(kind)) is kind for kind in (torch.Tensor, nn.Linear, nn.Parameter, distributions.Gamma)]
""".strip().splitlines()
ASKING = """
import functorch, pickle, torch
from importlib.util import find_spec
from torch import nn, optim, distributions
from torch.optim import lr_scheduler
from torch.torch_version import TorchVersion as Version
from torch.utils import data
"""


def test_programs_find_the_names_of_torch() -> None:
    names: dict[str, object] = {}
    exec(ASKING, names)
    told = [repr(eval(line.strip(), names)) for line in IDENTITY]
    program = ASKING + "\n".join(f"print(repr({line.strip()}))" for line in IDENTITY)
    assert run(program).splitlines() == told


def test_classes_keep_their_own_names_outside_of_the_alias() -> None:
    run("""
        import pickle, torch
        assert torch.nn.Linear.__module__ == "torch.nn.modules.linear"
        alias.uninstall()
        assert (torch.__name__, torch.Tensor.__module__, torch.nn.Linear.__module__) == (
            "whygrad", "whygrad.core.tensor", "whygrad.nn.linear")
        assert pickle.loads(pickle.dumps(torch.nn.Linear)) is torch.nn.Linear
    """)


def test_every_class_that_carries_torch_s_module_is_found_there() -> None:
    out = run("""
        import importlib, pkgutil, torch
        for package in ("amp", "autograd", "distributions", "func", "functional", "nn", "optim", "sparse", "utils"):
            for found in pkgutil.walk_packages([*importlib.import_module(f"whygrad.{package}").__path__], f"whygrad.{package}."):
                if found.name != "whygrad.utils.tensorboard":  # needs the package tensorboard
                    importlib.import_module(found.name)
        from whygrad.base.torch_homes import carried
        for kind in carried:
            try:
                assert getattr(importlib.import_module(kind.__module__), kind.__name__) is kind
            except (ImportError, AttributeError, AssertionError):
                print(kind.__name__)
        assert len(carried) > 400
    """)
    # Parts of the implementation.
    assert sorted(out.split()) == ["AsStridedBackward0", "BackwardBorder", "Fixed", "Generator", "GlobalHooks",
                                   "HookedCall", "Increasing", "Kernels", "LinearCrossEntropyOptions", "Plan",
                                   "StateDictMethods", "Uninitialized"]


def test_the_distribution_where_no_torch_is_installed() -> None:
    run("""
        import sys
        import torch
        from importlib import metadata
        sys.path[:] = [path for path in sys.path if "site-packages" not in path]
        assert metadata.version("torch") == "2.13.0" and metadata.distribution("torch").metadata["Name"] == "torch"
        assert metadata.packages_distributions()["torch"] == metadata.packages_distributions()["functorch"] == ["torch"]
        assert [found.version for found in metadata.distributions(name="torch")] == ["2.13.0"]
        try:
            metadata.version("torchvision")
        except metadata.PackageNotFoundError:
            pass
    """)


def test_all() -> None:
    import torch

    assert {*whygrad.__all__} <= {*torch.__all__}
    assert not [name for name in torch.__all__ if hasattr(whygrad, name) and name not in (*whygrad.__all__, "export")]
