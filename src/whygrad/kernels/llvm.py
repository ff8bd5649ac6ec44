"""LLVM: from a module's text to an object, and the linking of objects that linker.py does not know."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import binding

from whygrad.kernels.ir import Module
from whygrad.kernels.linker import symbols


@cache
def target() -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(), features=binding.get_host_cpu_features().flatten(), opt=2,
        codemodel="large", jit=True)  # large: objects may lie anywhere


def text(name: str, build: Callable[[Any, str], None]) -> str:
    module = Module()
    build(module, name)
    return module.text(binding.get_default_triple(), str(target().target_data))


def parsed(text: str) -> Any:
    module = binding.parse_assembly(text)
    module.verify()
    return module


def improve(module: Any) -> None:
    passes = binding.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, binding.create_pass_builder(target(), binding.create_pipeline_tuning_options(speed_level=1)))


def emitted(module: Any) -> bytes:
    return bytes(target().emit_object(module))


def link(code: bytes) -> None:
    """Put an object into memory."""
    for name, address in symbols.items():
        binding.add_symbol(name, address)
    _engine().add_object_file(binding.ObjectFileRef.from_data(code))
    _engine().finalize_object()


def address(name: str) -> int:
    """Of a function of a linked object; 0 if there is none."""
    return int(_engine().get_function_address(name))


@cache
def _engine() -> Any:
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target())
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(engine))  # its code is called until the very end of the process
    return engine
