"""Options of optimizers: validation with torch's messages, and options given as tensors."""

from __future__ import annotations

from typing import Any

from whygrad.core.tensor import Tensor


def to_scalar(option: Any) -> Any:
    """A 1-element tensor option as a 0-dim tensor."""
    return option.squeeze() if isinstance(option, Tensor) and option.ndim else option  # type: ignore[attr-defined]


CONVERTED = (Tensor, tuple)


def with_numbers(group: dict[str, Any]) -> dict[str, Any]:
    """The options of a group, with tensors converted to numbers."""
    tensors = {name: group[name] for name in ("lr", "weight_decay", "betas") if isinstance(group.get(name), CONVERTED)}
    return {**group, **{name: as_number(value) for name, value in tensors.items()}} if tensors else group


def as_number(option: Any) -> Any:
    """A 1-element tensor option as a number."""
    if isinstance(option, Tensor):
        return option._array.item()
    if isinstance(option, tuple):
        return tuple([x if type(x) is float else as_number(x) for x in option])
    return option


_WORDS = {"lr": "learning rate", "eps": "epsilon value"}


def check_options(nan: bool = False, /, **options: Any) -> None:
    """Raise for negative options, and for NaN unless `nan`; betas must be below 1 as well."""
    for name, value in options.items():
        if name == "betas":
            check_betas(value)
            continue
        if name == "lr" and isinstance(value, Tensor) and value._array.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        number = as_number(value)
        if number < 0.0 if nan else not 0.0 <= number:  # noqa: SIM300 (the message for a string names both sides)
            raise ValueError(f"Invalid {_WORDS.get(name, name + ' value')}: {value}")


def check_betas(betas: Any) -> None:
    for i in (0, 1):
        if not 0.0 <= as_number(betas[i]) < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")


def check_fused(fused: bool | None, foreach: bool | None, differentiable: bool) -> None:
    if fused and differentiable:
        raise RuntimeError("`fused` does not support `differentiable`")
    if fused and foreach:
        raise RuntimeError("`fused` and `foreach` cannot be `True` together.")
