"""einsum: the equation is read here; the work is done by the rows `contract`, `sum`, `diagonal` and `permute`.

Inside, a label is a number: a letter from 0 on (capitals first), an axis of the ellipsis -1, -2, ... from the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from whygrad.base.door import Policy
from whygrad.core.record import apply
from whygrad.core.tensor import Tensor
from whygrad.functional.arguments import check_kinds, read_each, wrong_type
from whygrad.functional.promotion import promote
from whygrad.functional.run import FUNCTIONS, private, public
from whygrad.ops.table import TABLE

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

Labels = tuple[int, ...]


@public(method=False)
def einsum(*args: Any) -> Tensor:
    """Sums of products, written as an equation: `einsum("ij,jk->ik", a, b)` is the product of two matrices."""
    equation, operands = _read_arguments(args)
    inputs, output, sizes = _read_equation(equation, tuple([t._array.shape for t in operands]))
    terms = [_distinct(t, labels, sizes) for t, labels in zip(operands, inputs, strict=True)]
    total, labels = _without_lonely(*terms[0], [other for _, other in terms[1:]], output)
    for i in range(1, len(terms)):
        later = [other for _, other in terms[i + 1:]]
        term, term_labels = _without_lonely(*terms[i], [labels, *later], output)
        kept = output if not later else tuple(
            [label for label in dict.fromkeys(labels + term_labels) if label in output or _occurs(label, later)])
        total, labels = _contract(total, labels, term, term_labels, kept), kept
    if len(terms) == 1 and output:
        return apply(TABLE["permute"], total, axes=tuple([labels.index(label) for label in output]))
    return total


def _read_arguments(args: tuple[Any, ...]) -> tuple[str, list[Tensor]]:
    """The equation and the operands, from `("ij->i", x)`, `("ij->i", [x])` or `(x, [0, 1], [0])`."""
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand "
                         "and its subscripts list")
    if isinstance(args[0], Tensor):
        inputs = ",".join([_letters(subscripts) for subscripts in args[1::2]])
        if len(args) % 2:
            inputs += "->" + _letters(args[-1])
        return inputs, list(args[:len(args) - len(args) % 2:2])
    equation, *operands = args
    if not isinstance(equation, str):
        raise wrong_type("einsum", "equation", 1, "str", equation)
    if len(operands) == 1 and isinstance(operands[0], (tuple, list)):
        operands = list(operands[0])
        if not operands:
            return _read_arguments((equation,))
    return equation, read_each(operands, argument=1)


def _letters(subscripts: Sequence[Any]) -> str:
    for s in subscripts:
        if s is not Ellipsis and not 0 <= s < 52:
            raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
    return "".join(["..." if s is Ellipsis else LETTERS[s] for s in subscripts])


@lru_cache(maxsize=256)
def _read_equation(equation: str, shapes: tuple[Labels, ...]) -> tuple[list[Labels], Labels, dict[int, int]]:
    """The labels of each axis of each operand, those of the result, and the size of each label."""
    left, arrow, right = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(shapes):
        relation = "more" if len(shapes) > len(parts) else "fewer"
        raise RuntimeError(f"einsum(): {relation} operands were provided than specified in the equation")
    start, widths = 0, []
    for i, (part, shape) in enumerate(zip(parts, shapes, strict=True)):
        named = _check_subscripts(part, start, f"operand {i}", ("that is not part of any ellipsis",
                                                                "for which an ellipsis was already found"))
        start += len(part) + 1
        ndim = len(shape)
        if "..." not in part and named != ndim:
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) does not match the "
                               f"number of dimensions ({ndim}) for operand {i} and no ellipsis was given")
        if named > ndim:
            raise RuntimeError(f"einsum(): the number of subscripts in the equation ({named}) is more than the number "
                               f"of dimensions ({ndim}) for operand {i}")
        widths.append(ndim - named)
    inputs = [_labels(part, width) for part, width in zip(parts, widths, strict=True)]
    output = _explicit_output(right, len(left) + 2, inputs, max(widths)) if arrow else _implicit_output(inputs)
    return inputs, output, _sizes(inputs, shapes)


def _explicit_output(part: str, start: int, inputs: list[Labels], width: int) -> Labels:
    _check_subscripts(part, start, "output", ("that is not part of any ellipsis (...)",
                                              "but an ellipsis (...) was already found"))
    output = _labels(part, width)
    for label in output:
        if label >= 0 and output.count(label) > 1:
            raise RuntimeError(f"einsum(): output subscript {LETTERS[label]} appears more than once in the output")
        if label >= 0 and not _occurs(label, inputs):
            raise RuntimeError(f"einsum(): output subscript {LETTERS[label]} does not appear in the equation for any "
                               "input operand")
    return output


def _check_subscripts(part: str, start: int, where: str, complaints: tuple[str, str]) -> int:
    """How many axes are named one by one in `part`, which stands at `start` in the equation."""
    found_ellipsis, named, i = False, 0, 0
    while i < len(part):
        character = part[i]
        if character == ".":
            if found_ellipsis or part[i:i + 3] != "...":
                raise RuntimeError(f"einsum(): found '.' for {where} {complaints[found_ellipsis]}")
            found_ellipsis = True
            i += 2
        elif character in LETTERS:
            named += 1
        elif character != " ":
            raise RuntimeError(f"einsum(): invalid subscript given at index {start + i} in the equation string, "
                               "subscripts must be in [a-zA-Z]")
        i += 1
    return named


def _labels(part: str, width: int) -> Labels:
    before, ellipsis, after = part.replace(" ", "").partition("...")
    middle = tuple(range(-width, 0)) if ellipsis else ()
    return (*[LETTERS.index(c) for c in before], *middle, *[LETTERS.index(c) for c in after])


def _occurs(label: int, terms: Sequence[Labels]) -> bool:
    return any(label in labels for labels in terms)


def _implicit_output(inputs: list[Labels]) -> Labels:
    """The ellipsis, then every letter that is there once, in alphabetical order."""
    everything = [label for labels in inputs for label in labels]
    axes = sorted({label for label in everything if label < 0})
    return (*axes, *sorted([label for label in everything if label >= 0 and everything.count(label) == 1]))


def _sizes(inputs: list[Labels], shapes: tuple[Labels, ...]) -> dict[int, int]:
    """The size of each label; an axis of length 1 fits to any."""
    sizes: dict[int, int] = {}
    for i, (labels, shape) in enumerate(zip(inputs, shapes, strict=True)):
        own: dict[int, int] = {}
        for label, n in zip(labels, shape, strict=True):
            name = LETTERS[label] if label >= 0 else "..."
            if own.setdefault(label, n) != n:
                raise RuntimeError(f"einsum(): subscript {name} is repeated for operand {i} but the sizes don't match, "
                                   f"{n} != {own[label]}")
            seen = sizes.setdefault(label, n)
            if seen == 1:
                sizes[label] = n
            elif n not in (1, seen):
                raise RuntimeError(f"einsum(): subscript {name} has size {n} for operand {i} which does not broadcast "
                                   f"with previously seen size {seen}")
    return sizes


def _distinct(t: Tensor, labels: Labels, sizes: dict[int, int]) -> tuple[Tensor, Labels]:
    """The operand with each label once: diagonals of repeated ones, and without axes that are only broadcast."""
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            t = apply(TABLE["diagonal"], t, offset=0, axis1=first, axis2=second)
            labels = (*[x for axis, x in enumerate(labels) if axis not in (first, second)], label)
    broadcast = [axis for axis, label in enumerate(labels) if t._array.shape[axis] != sizes[label]]
    if broadcast:
        t = apply(TABLE["squeeze"], t, axis=tuple(broadcast))
        labels = tuple([label for axis, label in enumerate(labels) if axis not in broadcast])
    return t, labels


def _without_lonely(t: Tensor, labels: Labels, others: Sequence[Labels], output: Labels) -> tuple[Tensor, Labels]:
    """Sum over what neither another operand nor the result has: of integers, torch makes int64."""
    lonely = tuple([axis for axis, label in enumerate(labels) if label not in output and not _occurs(label, others)])
    if not lonely:
        return t, labels
    return (FUNCTIONS["sum"](t, lonely),
            tuple([label for axis, label in enumerate(labels) if axis not in lonely]))


def _sums(a: Tensor, a_labels: Labels, kept: Labels) -> bool:
    """Whether products are summed, by bmm: torch multiplies elementwise where one product is the sum."""
    return any(n != 1 for label, n in zip(a_labels, a._array.shape, strict=True) if label not in kept)


@private(autocast=Policy("lower", lambda given: _sums(given["a"], given["a_labels"], given["kept"])))
def _contract(a: Tensor, a_labels: Labels, b: Tensor, b_labels: Labels, kept: Labels) -> Tensor:
    if a._array.dtype is not b._array.dtype:
        if _sums(a, a_labels, kept):
            raise RuntimeError(f"expected scalar type {a.dtype.scalar_name} but found {b.dtype.scalar_name}")
        a, b = promote("mul", a, b)
    elif _sums(a, a_labels, kept):
        check_kinds("bmm", a, "iufVc")
    return apply(TABLE["contract"], a, b, a_labels=a_labels, b_labels=b_labels, out_labels=kept)
