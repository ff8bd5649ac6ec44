"""Sparse and nested tensors against torch's: values, places, layouts, printing, gradients, errors."""

from __future__ import annotations

import copy
import io
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from interpreters import on_both
from oracle import outcome

import whygrad
from whygrad.ops import TABLE

pytestmark = pytest.mark.filterwarnings("ignore:Sparse")

Case = Callable[..., Any]

# torch warns once in a process that its sparse tensors are new and unchecked.
pytestmark = pytest.mark.filterwarnings("ignore:Sparse")


def described(x: Any, exact: bool = False) -> Any:
    """What there is to compare: layout, dtype, size, and the numbers; with `exact` also how they are kept."""
    if isinstance(x, (tuple, list)):
        return [described(y, exact) for y in x]
    if not isinstance(x, (torch.Tensor, whygrad.Tensor)):
        return x
    if str(x.layout) == "torch.strided":
        return ["dense", str(x.dtype), tuple(x.shape), x.requires_grad, np.round(x.detach().double().numpy(), 5).tolist()]
    x = x.detach()
    kept = str(x.layout), str(x.dtype), tuple(x.shape)
    if exact and x.is_sparse:
        return [*kept, x._indices().tolist(), np.round(x._values().double().numpy(), 5).tolist()]
    return [*kept, np.round(x.to_dense().double().numpy(), 5).tolist()]


def compare(case: Case, *, exact: bool = False) -> None:
    results = []
    for t in (torch, whygrad):
        kind, value = outcome(lambda t=t: described(case(t), exact))
        if kind == "error" and value[0] == "NotImplementedError":
            value = value[:1]  # torch tells of its backends
        results.append((kind, value))
    assert results[1] == results[0]


INDICES = [[0, 1, 1, 0], [2, 0, 2, 2]]
DENSE = np.arange(6, dtype=np.float32).reshape(2, 3) + 1
FEATURES = np.arange(6, dtype=np.float32).reshape(3, 2) - 2


def uncoalesced(t: Any) -> Any:
    return t.sparse_coo_tensor(t.tensor(INDICES), t.tensor([1.0, 2.0, 3.0, 4.0]), (2, 3))


def other(t: Any) -> Any:
    return t.sparse_coo_tensor(t.tensor([[0, 1], [1, 2]]), t.tensor([7.0, 8.0]), (2, 3)).coalesce()


def rows(t: Any) -> Any:
    return t.sparse_csr_tensor(t.tensor([0, 1, 3]), t.tensor([2, 0, 2]), t.tensor([1.0, 2.0, 3.0]), (2, 3))


OPERATIONS: dict[str, Case] = {
    "mm": lambda t, s, d: t.mm(s, d), "matmul": lambda t, s, d: s @ d, "spmm": lambda t, s, d: t.spmm(s, d),
    "sparse.mm": lambda t, s, d: t.sparse.mm(s, d), "method": lambda t, s, d: s.matmul(d),
    "keywords": lambda t, s, d: t.mm(s, mat2=d),
    "dense @ sparse": lambda t, s, d: d.t()[:, :2] @ s, "dense.mm": lambda t, s, d: d.t()[:, :2].mm(s),
    "mv": lambda t, s, d: t.mv(s, d[:, 0]), "addmm": lambda t, s, d: t.addmm(t.ones(2, 2), s, d, beta=2, alpha=3),
    "sparse.addmm": lambda t, s, d: t.sparse.addmm(t.ones(2, 2), s, d, beta=2, alpha=3),
    "linear": lambda t, s, d: t.nn.functional.linear(s, d.t(), t.ones(2)),
    "to_dense": lambda t, s, d: s.to_dense(), "unmasked": lambda t, s, d: s.to_dense(masked_grad=False),
    "neg": lambda t, s, d: -s, "times 3": lambda t, s, d: s * 3, "3 times": lambda t, s, d: 3 * s, "half": lambda t, s, d: s / 2,
    "times tensor": lambda t, s, d: s * t.tensor(DENSE), "tensor times": lambda t, s, d: t.tensor(DENSE) * s,
    "times itself": lambda t, s, d: s * s, "dense plus": lambda t, s, d: t.tensor(DENSE) + s,
    "dense minus": lambda t, s, d: t.sub(t.tensor(DENSE), s, alpha=2), "plus itself": lambda t, s, d: t.add(s, s, alpha=3),
    "t": lambda t, s, d: s.t().to_dense(), "sum": lambda t, s, d: s.sum(), "sparse.sum": lambda t, s, d: t.sparse.sum(s),
    "clone": lambda t, s, d: s.clone(), "double": lambda t, s, d: s.double(), "to": lambda t, s, d: s.to(t.float64),
    "abs": lambda t, s, d: s.abs(), "sin": lambda t, s, d: t.sin(s), "relu": lambda t, s, d: t.relu(s),
    "zeros_like": lambda t, s, d: t.zeros_like(s), "row": lambda t, s, d: s[0], "element": lambda t, s, d: s[1, 2],
    "rows": lambda t, s, d: list(s), "csr": lambda t, s, d: s.to_sparse_csr(), "csc": lambda t, s, d: s.to_sparse_csc(),
    "coo": lambda t, s, d: s.to_sparse(), "detach": lambda t, s, d: s.detach(),
    "product of sparse": lambda t, s, d: (s @ t.tensor(FEATURES).to_sparse(layout=s.layout)).to_dense(),
}
OF_COO: dict[str, Case] = {
    "coalesce": lambda t, s, d: s.coalesce(), "softmax": lambda t, s, d: t.sparse.softmax(s, 1),
    "log_softmax": lambda t, s, d: t.sparse.log_softmax(s, 0), "sum 1": lambda t, s, d: t.sparse.sum(s, 1),
    "sum 0": lambda t, s, d: t.sparse.sum(s, dim=[0]), "sum both": lambda t, s, d: t.sparse.sum(s, (0, 1)),
    "keepdim": lambda t, s, d: s.sum(1, keepdim=True), "plus": lambda t, s, d: s + other(t),
    "minus": lambda t, s, d: s - other(t),
    "times": lambda t, s, d: s * other(t), "square": lambda t, s, d: s**2, "permute": lambda t, s, d: s.permute(1, 0),
    "transpose": lambda t, s, d: t.transpose(s, 0, 1), "unsqueeze": lambda t, s, d: s.unsqueeze(0),
    "cat": lambda t, s, d: t.cat([s, other(t)]), "cat 1": lambda t, s, d: t.cat([s, other(t)], 1),
    "index_select": lambda t, s, d: s.index_select(0, t.tensor([1, 1, 0])), "norm": lambda t, s, d: s.norm(),
    "mask": lambda t, s, d: t.tensor(DENSE).sparse_mask(s.detach()), "any": lambda t, s, d: s.any(),
    "sparse plus dense": lambda t, s, d: s + t.tensor(DENSE), "plus 1": lambda t, s, d: s + 1,
    "by tensor": lambda t, s, d: s / t.tensor(DENSE),
    "shapes": lambda t, s, d: t.mm(s, d.t()), "exp": lambda t, s, d: t.exp(s), "indices": lambda t, s, d: s.indices(),
    "values": lambda t, s, d: s.values(), "numpy": lambda t, s, d: s.numpy(), "crow": lambda t, s, d: s.crow_indices(),
    "item": lambda t, s, d: s.item(), "len": lambda t, s, d: len(s), "stride": lambda t, s, d: s.stride(),
    "facts": lambda t, s, d: [s.is_sparse, s.is_sparse_csr, s.is_leaf, s.dim(), s.numel(), s._nnz(), s.sparse_dim()],
}


@pytest.mark.parametrize("name", [*OPERATIONS, *OF_COO])
def test_operations_on_coordinates(name: str) -> None:
    case = (OPERATIONS | OF_COO)[name]
    compare(lambda t: case(t, uncoalesced(t), t.tensor(FEATURES)))
    compare(lambda t: case(t, uncoalesced(t).coalesce(), t.tensor(FEATURES)), exact=True)


# What torch refuses of matrices with compressed rows, and we do not.
MORE_THAN_TORCH = {"half", "dense minus", "sparse.sum"}


@pytest.mark.parametrize("name", sorted(OPERATIONS.keys() - MORE_THAN_TORCH))
def test_operations_on_compressed_rows(name: str) -> None:
    compare(lambda t: OPERATIONS[name](t, rows(t), t.tensor(FEATURES)))


# Gradients that torch has no derivative for, or gives with other zeros written out.
WITHOUT_GRADIENT = {"keepdim", "cat", "cat 1", "index_select", "norm", "unsqueeze", "row", "element", "rows", "sin", "any"}


@pytest.mark.parametrize("name", sorted((OPERATIONS | OF_COO).keys() - WITHOUT_GRADIENT))
@pytest.mark.parametrize("make", [uncoalesced, lambda t: uncoalesced(t).coalesce()], ids=["uncoalesced", "coalesced"])
def test_gradients(make: Case, name: str) -> None:
    """Of a sparse leaf, of the values it is made of, and of the dense factor."""

    def weighed(t: Any, out: Any) -> Any:
        dense = out.to_dense()
        return (dense * (t.arange(dense.numel(), dtype=dense.dtype).reshape(dense.shape) + 1)).sum()

    def of_leaf(t: Any) -> Any:
        s, d = make(t).requires_grad_(), t.tensor(FEATURES, requires_grad=True)
        weighed(t, (OPERATIONS | OF_COO)[name](t, s, d)).backward()
        return [None if s.grad is None else s.grad.to_dense(), s.grad is not None and str(s.grad.layout), d.grad]

    def of_values(t: Any) -> Any:
        v = t.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)
        s = t.sparse_coo_tensor(t.tensor(INDICES), v, (2, 3))
        d = t.tensor(FEATURES, requires_grad=True)
        weighed(t, (OPERATIONS | OF_COO)[name](t, s, d)).backward()
        return [v.grad, d.grad]

    def of_dense(t: Any) -> Any:
        x = t.tensor([[0.0, 5.0, 1.0], [2.0, 0.0, 3.0]], requires_grad=True)
        d = t.tensor(FEATURES, requires_grad=True)
        weighed(t, (OPERATIONS | OF_COO)[name](t, x.to_sparse(), d)).backward()
        return [x.grad, d.grad]

    compare(of_leaf)
    compare(of_values)
    compare(of_dense)


def test_second_derivatives() -> None:
    def case(t: Any) -> Any:
        v = t.tensor([1.0, 2.0, 3.0, 4.0], dtype=t.float64, requires_grad=True)
        d = t.tensor(FEATURES.astype(float), requires_grad=True)
        s = t.sparse_coo_tensor(t.tensor(INDICES), v, (2, 3))
        first = t.autograd.grad((t.sparse.mm(s, d) ** 3).sum(), [v, d], create_graph=True)
        return t.autograd.grad((first[0] ** 2).sum() + (first[1] ** 2).sum(), [v, d])

    # torch has no derivative of its own: compare with the dense product.
    v = whygrad.tensor([1.0, 2.0, 3.0, 4.0], dtype=whygrad.float64, requires_grad=True)
    d = whygrad.tensor(FEATURES.astype(float), requires_grad=True)
    dense = whygrad.zeros(2, 3, dtype=whygrad.float64).index_put(tuple(whygrad.tensor(INDICES)), v, accumulate=True)
    first = whygrad.autograd.grad(((dense @ d) ** 3).sum(), [v, d], create_graph=True)
    expected = whygrad.autograd.grad((first[0] ** 2).sum() + (first[1] ** 2).sum(), [v, d])
    for ours, theirs in zip(case(whygrad), expected, strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-10)


MAKING: dict[str, Case] = {
    "inferred": lambda t: t.sparse_coo_tensor(INDICES, [1.0, 2, 3, 4]), "empty": lambda t: t.sparse_coo_tensor((2, 3)),
    "size=": lambda t: t.sparse_coo_tensor(size=(2, 3)),
    "dtype": lambda t: t.sparse_coo_tensor(INDICES, [1, 2, 3, 4], dtype=t.half),
    "integers": lambda t: t.sparse_coo_tensor(INDICES, [1, 2, 3, 4], (2, 4)),
    "bools": lambda t: t.sparse_coo_tensor([[1]], [True]),
    "dense dims": lambda t: t.sparse_coo_tensor([[0, 2, 0]], t.arange(6.0).reshape(3, 2), (4, 2)),
    "nothing": lambda t: t.sparse_coo_tensor(t.zeros(2, 0, dtype=t.long), t.zeros(0), (2, 3)),
    "too few values": lambda t: t.sparse_coo_tensor(INDICES, [1.0, 2.0], (2, 3)),
    "too many dims": lambda t: t.sparse_coo_tensor(INDICES, [1.0, 2, 3, 4], (2, 3, 4)),
    "grad of integers": lambda t: t.sparse_coo_tensor(INDICES, [1, 2, 3, 4], requires_grad=True),
    "leaf": lambda t: t.sparse_coo_tensor(INDICES, [1.0, 2, 3, 4], requires_grad=True),
    "csr": rows, "csr inferred": lambda t: t.sparse_csr_tensor([0, 1, 3], [2, 0, 2], [1, 2, 3], dtype=t.float64),
    "csc": lambda t: t.sparse_csc_tensor([0, 1, 3], [2, 0, 2], [1.0, 2, 3]),
    "of old": lambda t: t.sparse.FloatTensor(t.tensor(INDICES), t.ones(4), t.Size([2, 3])),
    "of old, empty": lambda t: t.sparse.DoubleTensor(2, 3), "to_sparse": lambda t: t.tensor(DENSE).relu().to_sparse(),
    "to_sparse 1": lambda t: t.tensor([[0.0, 1], [0, 0]]).to_sparse(1), "to_sparse 5": lambda t: t.tensor(DENSE).to_sparse(5),
    "spdiags": lambda t: t.sparse.spdiags(t.arange(6.0).reshape(2, 3), t.tensor([0, -1]), (3, 3)),
    "0-dim": lambda t: t.tensor(3.0).to_sparse(), "history": lambda t: t.ones(2, 2, requires_grad=True).to_sparse() * 2,
    "hybrid sum": lambda t: t.sparse.sum(MAKING["dense dims"](t), 0),
    "hybrid 1": lambda t: t.sparse.sum(MAKING["dense dims"](t), 1),
    "hybrid coalesced": lambda t: MAKING["dense dims"](t).coalesce(), "hybrid t": lambda t: MAKING["dense dims"](t).t(),
    "semi": lambda t: t.sparse.to_sparse_semi_structured(t.ones(8, 8)),
    **{f"dense.{name}": lambda t, name=name: getattr(t.ones(2), name)() for name in
       ("coalesce", "is_coalesced", "indices", "values", "crow_indices", "col_indices", "_indices", "_values", "_nnz",
        "sparse_dim", "dense_dim", "to_dense")},
}


@pytest.mark.parametrize("name", MAKING)
def test_making_and_printing(name: str) -> None:
    compare(MAKING[name], exact=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [outcome(lambda t=t: repr(MAKING[name](t))) for t in (torch, whygrad)]
    if texts[0][0] == "value":
        assert texts[1] == texts[0]


def test_wrong_places_are_refused() -> None:
    """torch does not look unless asked, and reads beyond its memory later."""
    with pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 1, size is 2 but found index 2"):
        whygrad.sparse_coo_tensor(INDICES, [1.0, 2, 3, 4], (2, 2))
    with pytest.raises(RuntimeError, match="found negative index -1 for dim 0"):
        whygrad.sparse_coo_tensor([[-1]], [1.0], (2,))
    for parts in (([0, 1, 2], [2, 0, 2]), ([0, 1, 3], [2, 0, 5]), ([1, 1, 3], [2, 0, 2]), ([0, 1, 3, 3], [0, 1, 2])):
        with pytest.raises(RuntimeError):
            whygrad.sparse_csr_tensor(*parts, [1.0, 2, 3], (2, 3))


def test_what_is_not_there_says_so() -> None:
    s = whygrad.eye(2).to_sparse()
    for call in (lambda: whygrad.exp(s), lambda: s.reshape(4), lambda: s == s, lambda: s.mean(), lambda: whygrad.stack([s, s]),
                 lambda: s.cumsum(0), lambda: s[:1], lambda: whygrad.ones(2, 2).mul_(s), lambda: s.max()):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(NotImplementedError, match=r"^torch.exp does not work on sparse tensors in whygrad: use t.to_dense\(\)"):
        whygrad.exp(s)


IN_PLACE: dict[str, Case] = {
    "add_": lambda t: uncoalesced(t).coalesce().add_(other(t)), "mul_": lambda t: other(t).mul_(2),
    "div_": lambda t: other(t).div_(2),
    "zero_": lambda t: other(t).zero_(), "copy_": lambda t: uncoalesced(t).copy_(other(t)),
    "dense add_": lambda t: t.ones(2, 3).add_(uncoalesced(t), alpha=-2), "dense +=": lambda t: t.ones(2, 3).sub_(other(t)),
    "values": lambda t: (lambda s: [s._values().mul_(2), s][1])(other(t)),
    "resize": lambda t: other(t).sparse_resize_((4, 4), 2, 0),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str) -> None:
    compare(IN_PLACE[name], exact=True)


@pytest.mark.parametrize("make", [uncoalesced, other, rows])
def test_saving_and_copying(make: Case) -> None:
    ours = make(whygrad).requires_grad_()
    for again in (pickle.loads(pickle.dumps(ours)), copy.deepcopy(ours)):
        assert described(again, True) == described(ours, True)
        assert again.requires_grad
    file = io.BytesIO()
    whygrad.save({"a": make(whygrad)}, file)
    for t in (torch, whygrad):
        file.seek(0)
        assert described(t.load(file, weights_only=True)["a"], True) == described(make(torch), True)
    file = io.BytesIO()
    torch.save(make(torch), file)
    file.seek(0)
    assert described(whygrad.load(file), True) == described(make(torch), True)


def trained_embedding(t: Any, optimizer: str, mode: str = "", **options: Any) -> Any:
    t.manual_seed(0)
    layer = (t.nn.EmbeddingBag(6, 2, mode=mode, sparse=True) if mode else t.nn.Embedding(6, 2, padding_idx=1, sparse=True))
    chosen = getattr(t.optim, optimizer)(layer.parameters(), **{"lr": 0.1, **options})
    for batch in ([[0, 2], [0, 1]], [[4, 4], [2, 5]], [[0, 3], [1, 1]]):
        chosen.zero_grad()
        (layer(t.tensor(batch)) ** 2).sum().backward()
        assert layer.weight.grad.is_sparse
        chosen.step()
    return [layer.weight.detach(), layer.weight.grad.to_dense()]


@pytest.mark.parametrize("optimizer", ["SGD", "SparseAdam", "Adagrad", "Adam", "AdamW", "RMSprop", "Rprop", "Adafactor", "NAdam"])
def test_embeddings_with_sparse_gradients(optimizer: str) -> None:
    compare(lambda t: trained_embedding(t, optimizer))


@pytest.mark.parametrize("options", [{"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, {"weight_decay": 0.1},
                                     {"maximize": True}])
def test_sgd_with_sparse_gradients(options: dict[str, Any]) -> None:
    compare(lambda t: trained_embedding(t, "SGD", **options))


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_with_sparse_gradients(mode: str) -> None:
    compare(lambda t: trained_embedding(t, "SparseAdam", mode))


def test_sparse_gradients_of_one_pattern() -> None:
    """Values that were expanded are concatenated, others are added."""
    def case(t: Any) -> Any:
        results = []
        for weigh in (t.sum, lambda x: (x * t.arange(6.0).view(3, 2)).sum()):
            embed = t.nn.Embedding(5, 2, sparse=True)
            for _ in range(2):
                weigh(embed(t.tensor([4, 1, 3]))).backward()
            results.append([embed.weight.grad._indices().tolist(), embed.weight.grad._values().tolist()])
        return results

    compare(case)


@pytest.mark.parametrize("shape", [(3,), (2, 4, 3), (0, 3)])
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_linear_of_a_sparse_weight(shape: tuple[int, ...], layout: str) -> None:
    def case(t: Any) -> Any:
        weight = getattr(t.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]), layout)().requires_grad_()
        x = t.arange(float(math.prod(shape))).reshape(shape).requires_grad_()
        out = t.nn.functional.linear(x, weight, None if len(shape) == 2 else t.ones(2))
        (out * out).sum().backward()
        return out.tolist(), x.grad.tolist(), weight.grad.to_dense().tolist()

    compare(case)


def test_embeddings_without_elements() -> None:
    def case(t: Any) -> Any:
        results = []
        for rows, width, index in ((0, 0, [[]]), (4, 0, []), (4, 2, [])):
            embed = t.nn.Embedding(rows, width, sparse=True)
            out = embed(t.tensor(index, dtype=t.int64))
            out.sum().backward()
            results.append([tuple(out.shape), tuple(embed.weight.grad._indices().shape), tuple(embed.weight.grad._values().shape),
                            embed.weight.grad.to_dense().tolist()])
        return results

    compare(case)


def test_sparse_gradients_meet_dense_ones() -> None:
    def case(t: Any) -> Any:
        w = t.ones(4, 2, requires_grad=True)
        embed = t.nn.functional.embedding
        index = t.tensor([0, 2, 0])
        seen: list[Any] = []
        w.register_hook(lambda g: seen.append(described(g)))
        results = []
        for losses in ((embed(index, w, sparse=True).sum(), w.sum()), (w.sum(), embed(index, w, sparse=True).sum()),
                       (embed(index, w, sparse=True).sum(), embed(index[:1], w, sparse=True).sum()),
                       (w.sum(), (w * 2).sum() + embed(index, w, sparse=True).sum() + (w * 3).sum())):
            w.grad = None
            for loss in losses:
                loss.backward()
            results.append([str(w.grad.layout), w.grad.to_dense()])
        results.append(t.autograd.grad((embed(index, w, sparse=True) ** 2).sum(), w)[0].to_dense())
        w.grad = None
        (embed(index, w, sparse=True).sum() + w.sum()).backward()
        rows = embed(index, w, sparse=True)
        rows.grad_fn.next_functions[0][0].register_hook(lambda inputs, outputs: seen.append(described(outputs)))
        rows.sum().backward()
        return [*results, w.grad, seen]

    compare(case)


def test_gather_with_a_sparse_gradient() -> None:
    def case(t: Any) -> Any:
        x = t.tensor(DENSE, requires_grad=True)
        (x.gather(1, t.tensor([[0, 1], [2, 2]]), sparse_grad=True) * t.tensor([[1.0, 2], [3, 4]])).sum().backward()
        return x.grad

    compare(case, exact=True)


def test_a_graph_network_learns_as_torch_does() -> None:
    def case(t: Any) -> Any:
        t.manual_seed(0)
        edges = t.tensor([[0, 1, 1, 2, 2, 3, 3, 0, 0, 1, 2, 3], [1, 0, 2, 1, 3, 2, 0, 3, 0, 1, 2, 3]])
        adjacency = t.sparse_coo_tensor(edges, t.ones(12), (4, 4))
        degree = t.sparse.sum(adjacency, dim=1).to_dense()
        adjacency = t.sparse_coo_tensor(edges, adjacency._values() / degree[edges[0]], (4, 4)).coalesce()
        x = t.randn(4, 5)

        class Layer(t.nn.Module):
            def __init__(self, inside: int, outside: int) -> None:
                super().__init__()
                self.weight = t.nn.Parameter(t.randn(inside, outside))
                self.register_buffer("adjacency", adjacency)

            def forward(self, x: Any) -> Any:
                return t.spmm(self.adjacency, t.mm(x, self.weight))

        model = t.nn.Sequential(Layer(5, 8), t.nn.ReLU(), Layer(8, 3)).double()
        model.load_state_dict(model.state_dict())
        optimizer = t.optim.Adam(model.parameters(), lr=0.05)
        for _ in range(5):
            optimizer.zero_grad()
            loss = t.nn.functional.cross_entropy(model(x.double()), t.tensor([0, 1, 2, 0]))
            loss.backward()
            optimizer.step()
        return [loss, *[p.detach() for p in model.parameters()]]

    compare(case)


NESTED: dict[str, Case] = {
    "print": lambda t: repr(t.nested.nested_tensor([t.ones(2), t.ones(3)])),
    "lists": lambda t: repr(t.nested.nested_tensor([[1, 2], [3]])),
    "pad": lambda t: t.nested.nested_tensor([t.ones(2, 3), t.ones(1, 3)]).to_padded_tensor(-1.0),
    "larger": lambda t: t.nested.to_padded_tensor(t.nested.nested_tensor([t.ones(2), t.ones(3)]), 0.0, (2, 5)),
    "smaller": lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)]).to_padded_tensor(0.0, (2, 2)),
    "unbind": lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)]).unbind(),
    "facts": lambda t: (lambda n: [n.is_nested, n.dim(), n.numel(), n.size(0)])(t.nested.nested_tensor([t.ones(2), t.ones(3)])),
    "irregular": lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)]).size(1),
    "shape": lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)]).shape,
    "ranks": lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3, 1)]), "dense": lambda t: t.ones(2).to_padded_tensor(0.0),
    "sum": lambda t: t.nested.nested_tensor([t.ones(2), t.ones(3)]).sum(),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_tensors(name: str) -> None:
    compare(NESTED[name])


def test_padding_has_a_gradient() -> None:
    def case(t: Any) -> Any:
        parts = [t.arange(2.0).requires_grad_(), t.arange(3.0).requires_grad_()]
        (t.nested.as_nested_tensor(parts).to_padded_tensor(-1.0) * t.tensor([[1.0, 2, 3], [4, 5, 6]])).sum().backward()
        return [part.grad for part in parts]

    compare(case)


ON_VALUES = [name for row in TABLE.values() if "sparse" in row.traits.public for name in (row.name, f"arc{row.name[1:]}")
             if hasattr(torch, name)]


@pytest.mark.parametrize("name", [*ON_VALUES, "absolute", "fix", "square"])
def test_functions_of_the_stored_values(name: str) -> None:
    """Each as torch has it, also under its other names, with torch's node."""
    found = []
    for module in (whygrad, torch):
        x = module.tensor([[0.0, 0.5], [0.3, 0.0]]).to_sparse().requires_grad_()
        y = getattr(module, name)(x)
        values = [f"{v:.5g}" for v in y._values().tolist()]
        found.append([described(y, exact=True)[:4], values, type(y.grad_fn).__name__ if y.requires_grad else None])
    assert found[0] == found[1]
EARLY = """
from torch import mm, relu
import torch
import torch.nn.functional as F
s = torch.eye(2).to_sparse()
print(mm(s, torch.full((2, 2), 3.0)).tolist(), relu(s).to_dense().tolist())
print(F.relu(-s).to_dense().tolist(), torch.nn.ReLU()(s).to_dense().tolist(), F.linear(torch.ones(2, 2), s).tolist())
print(F.relu(s, inplace=True) is s, F.relu(s, True) is s, F.relu_(s) is s, s.relu_() is s)
print(F.tanhshrink(s).to_dense().tolist(), torch.Tensor.mm(s, torch.ones(2, 2)).tolist())
"""


def test_names_that_were_bound_before_the_first_sparse_tensor() -> None:
    outputs = on_both(EARLY)
    assert outputs[0] == outputs[1]
