"""Which module of ours answers for which module of torch."""

from __future__ import annotations

# Modules that have another place or name here. What lies below one of them lies below its place here.
HOMES = {
    "torch": "whygrad",
    "torch.__config__": "whygrad.compat.config",
    "torch._C": "whygrad.compat._C",
    "torch._C._autograd": "whygrad.compat._C._autograd",
    "torch._C._functions": "whygrad.compat._C._functions",
    "torch._C._nn": "whygrad.compat._C._nn",
    "torch._tensor": "whygrad.core.tensor",
    "torch._vmap_internals": "whygrad.func.legacy",
    "torch.autograd._functions": "whygrad.autograd._functions",
    "torch.compiler": "whygrad.compat.compiler",
    "torch.cpu": "whygrad.compat.cpu",
    "torch.cpu.amp.autocast_mode": "whygrad.compat.cpu.amp",
    "torch.cpu.amp.grad_scaler": "whygrad.compat.cpu.amp",
    "torch.cuda": "whygrad.compat.cuda",
    "torch.cuda.amp.autocast_mode": "whygrad.compat.cuda.amp",
    "torch.cuda.amp.grad_scaler": "whygrad.compat.cuda.amp",
    "torch.hub": "whygrad.compat.hub",
    "torch.jit": "whygrad.compat.jit",
    "torch.jit.annotations": "whygrad.compat.jit",
    "torch.library": "whygrad.compat.library",
    "torch.nested": "whygrad.compat.nested",
    "torch.optim.adamw": "whygrad.optim.adam",
    "torch.optim.sparse_adam": "whygrad.optim.adam",
    "torch.return_types": "whygrad.functional.return_types",
    "torch.serialization": "whygrad.io",
    "torch.types": "whygrad.compat.types",
    "torch.utils._pytree": "whygrad.utils._pytree",
    "torch.utils.data._utils": "whygrad.utils.data",
    "torch.utils.data._utils.collate": "whygrad.utils.data.collate",
    "torch.utils.data._utils.fetch": "whygrad.utils.data.fetch",
    "torch.utils.data._utils.worker": "whygrad.utils.data.worker",
    "torch.utils.hooks": "whygrad.autograd.hooks",
    "torch.version": "whygrad.compat.version",
}

# Parts of the engine: torch has no modules of these names.
_OUR_OWN = frozenset(f"torch.{name}" for name in ("alias", "base", "cli", "compat", "core", "io", "kernels", "why"))


def home_of(name: str) -> str | None:
    """The name of the module that answers for a module of torch, which may or may not exist; None for private ones."""
    found = HOMES.get(name)
    if found is not None or "._" in name or ".".join(name.split(".")[:2]) in _OUR_OWN:
        return found
    parent, _, last = name.rpartition(".")
    above = home_of(parent)
    return None if above is None else f"{above}.{last}"
