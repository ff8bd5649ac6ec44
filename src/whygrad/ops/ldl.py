"""LDL factorization of symmetric matrices. torch does not differentiate it."""

from whygrad.ops.matrices import WHOLE_NUMBERS
from whygrad.ops.table import last_axes


def no_derivative(name):
    def rule(g):
        raise RuntimeError(f"derivative for aten::{name} is not implemented")

    return rule


@last_axes(memory="columns", outputs=("LD", WHOLE_NUMBERS, WHOLE_NUMBERS), node="NotImplemented",
           a=no_derivative("linalg_ldl_factor_ex"))
def ldl_factor_ex(xp, a, *, hermitian): ...


@last_axes(memory="columns", node="NotImplemented",
           a=no_derivative("linalg_ldl_solve"), places=WHOLE_NUMBERS, b=no_derivative("linalg_ldl_solve"))
def ldl_solve(xp, a, places, b, *, hermitian): ...
