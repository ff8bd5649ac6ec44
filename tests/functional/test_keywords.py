"""Arguments by name: torch's own names, and NumPy's where torch takes those too."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Any

import pytest
import torch
from oracle import assert_same, outcome

import whygrad

CALLS = """
t.softmax(x, axis=0); t.log_softmax(x, axis=-1); x.softmax(axis=1); t.unsqueeze(x, axis=0); x.unsqueeze(axis=-1)
x.unsqueeze(); t.gather(x, axis=1, index=i); x.gather(axis=0, index=i); x.gather(1); t.index_select(x, axis=0, index=i[0])
t.sort(x, axis=0); t.argsort(x, axis=0); t.topk(x, 1, axis=0); t.unbind(x, axis=1); t.chunk(x, 2, axis=1)
t.cat([x, x], axis=1); x.sum(axis=0, keepdims=True); t.stack([x, x], axis=1); x.amax(axis=0); t.squeeze(x, axis=0)
t.cumsum(x, axis=0); x.mean(axis=1); x.max(axis=1); x.argmax(axis=0); t.polar(abs=x, angle=x); t.complex(real=x, imag=x)
t.tensor_split(input=x, tensor_indices_or_sections=t.tensor(2)); x.clone().copy_(other=x + 1); x.clone().copy_(src=x)
x.clone().resize_(size=(3, 2)); t.nn.functional.one_hot(input=i)
t.sparse_csr_tensor(crow_indices=[0, 1, 1], col_indices=[1], values=[2.0]).to_dense(); t.linalg.cholesky(A=t.eye(2))
t.linalg.solve(A=t.eye(2), B=x); t.where(condition=x > 0, input=x, other=-x); t.swapaxes(x, axis0=0, axis1=1)
t.abs_(input=x.clone()); t.fill_(input=x.clone(), value=2); t.zero_(input=x.clone()); t.adjoint(input=x); t.relu_(input=x.clone())
t.split_with_sizes(input=x, split_sizes=[1, 1]); t.hsplit(x, sections=3); t.hsplit(x, indices=[1]); x.vsplit(sections=2)
t.vdot(x[0], other=x[1]); t.dot(x[0], tensor=x[1]); t.vdot(x[0], tensor=x[1]); t.isin(element=1, test_elements=x)
t.isin(elements=x, test_element=1); t.result_type(tensor=x, other=1); t.result_type(scalar=1, tensor=x)
t.result_type(scalar1=1, scalar2=2.0); t.result_type(x, 1, 2); t.result_type(x, other=i); t.mm(x, x.t(), out_dtype=t.float32)
t.tril_indices(2, 2, requires_grad=False); t.tril_indices(2, 2, requires_grad=True)
t.special.airy_ai(x=x); t.special.airy_ai(input=x)
t.special.legendre_polynomial_p(x=x, n=2); t.linalg.vector_norm(input=x); t.linalg.vector_norm(x=x)
t.argsort(x, stable=True, out=t.empty(0, dtype=t.long)); t.argsort(x, out=t.empty(0, dtype=t.long))
t.linspace(0, 1, 6, out=t.empty(2, 3)); t.arange(6.0, out=t.empty(2, 3)); t.logspace(0, 1, 5, out=t.empty(2, 3)).shape
t.clamp(x, 0, 1, out=t.empty(2, 3, dtype=t.float64)); t.clamp(x, x, x + 1, out=t.empty(2, 3, dtype=t.float64))
t.clamp_min(x, 0, out=t.empty(2, 3, dtype=t.float64)); t.clamp_max(x, x + 1, out=t.empty(2, 3, dtype=t.float64))
"""


@pytest.mark.parametrize("call", [call.strip() for line in CALLS.strip().splitlines() for call in line.split(";")])
def test_arguments_by_name(call: str) -> None:
    results: list[Any] = []
    for t in (torch, whygrad):
        x, i = t.tensor([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]]), t.tensor([[0, 1, 1], [1, 0, 0]])
        results.append(outcome(lambda t=t, x=x, i=i: eval(call, {"t": t, "x": x, "i": i})))
    assert results[1][0] == results[0][0]
    if results[0][0] == "error":
        assert results[1][1][0] == results[0][1][0]
    else:
        assert_same(results[0][1], results[1][1])


# Arguments that are not here, by function: what whygrad has instead takes any arguments, or none by name.
WITHOUT = {"full": {"names"}, "set_num_threads": {"num"}, "set_num_interop_threads": {"num"}, "apply_": {"callable"},
           "map_": {"callable", "other"}, "map2_": {"callable", "x", "y"}, "new": {"cls", "other", "size", "storage"},
           "requires_grad_": {"mode"}}


@pytest.mark.parametrize(("stub", "within", "here"), [("_VariableFunctions.pyi", None, whygrad),
                                                       ("__init__.pyi", "TensorBase", whygrad.Tensor)])
def test_no_argument_of_torch_is_unknown(stub: str, within: str | None, here: Any) -> None:
    """By the signatures in torch's own stubs, of all functions and methods that whygrad has."""
    tree: Any = ast.parse((Path(torch.__file__).parent / "_C" / stub).read_text())
    if within is not None:
        tree = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == within)
    unknown = {}
    for node in tree.body:
        ours = getattr(here, node.name, None) if isinstance(node, ast.FunctionDef) and node.name[0] != "_" else None
        if not callable(ours) or isinstance(ours, type):
            continue
        parameters = inspect.signature(ours).parameters
        if any(p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and name != "old" for name, p in parameters.items()):
            continue
        theirs = {argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)}
        rest = theirs - {"self"} - set(parameters) - WITHOUT.get(node.name, set())
        if rest:
            unknown[node.name] = rest
    assert not unknown
