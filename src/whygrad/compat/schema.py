"""Schemas of ops, "name(Tensor x, int n=1, *, str mode='a') -> Tensor": the language in which torch.library declares them."""

from __future__ import annotations

import ast
import inspect
import re

_ARGUMENT = re.compile(r"(?P<type>.+?)\s*\b(?P<name>\w+)\s*(?:=\s*(?P<default>.+))?$")


def parse_schema(schema: str) -> tuple[str, inspect.Signature, list[str]]:
    """The name of the op, its signature, and the arguments into which it writes, which are marked as in `Tensor(a!) x`."""
    name, opening, rest = schema.partition("(")
    arguments, arrow, _ = rest.rpartition("->")
    if not opening or not arrow:
        raise RuntimeError(f"expected a schema such as 'name(Tensor x) -> Tensor', but got {schema!r}")
    parameters, mutated = [], []
    kind: inspect._ParameterKind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for text in _split(arguments.strip().removesuffix(")")):
        if text == "*":
            kind = inspect.Parameter.KEYWORD_ONLY
            continue
        found = _ARGUMENT.match(text)
        if found is None:
            raise RuntimeError(f"expected an argument such as 'Tensor x', but got {text!r}")
        default = inspect.Parameter.empty if found["default"] is None else _constant(found["default"])
        parameters.append(inspect.Parameter(found["name"], kind, default=default))
        if "!" in found["type"]:
            mutated.append(found["name"])
    return name.strip(), inspect.Signature(parameters), mutated


def _split(arguments: str) -> list[str]:
    """The parts between commas that are not in brackets or quotes."""
    parts = re.findall(r"(?:\([^)]*\)|\[[^]]*\]|'[^']*'|\"[^\"]*\"|[^,])+", arguments)
    return [part.strip() for part in parts if part.strip()]


def _constant(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except ValueError:
        return text  # a name, such as Mean
