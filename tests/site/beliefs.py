"""What the chapters of the course say against each belief, as a program: run on PyTorch and on whygrad by test_course.py.

A function's docstring is the belief, as it stands in the chapter.
"""

import torch


def raises(call, words):
    try:
        call()
    except (RuntimeError, TypeError) as error:
        return words in str(error)
    return False


def leaf(*values):
    return torch.tensor(values or (1.0, 2.0), requires_grad=True)


def recorded():
    """Every computation on tensors is recorded."""
    x = leaf()
    assert not any(y.requires_grad for y in (x > 0, x.argmax(), x.long(), torch.ones(2) * 2))
    with torch.no_grad():
        assert not (x * 2).requires_grad
    assert (x * 2).requires_grad


def intermediate():
    """`output.grad` is None, so something is wrong with the graph."""
    output = leaf() * 2
    output.retain_grad()
    output.sum().backward()
    assert output.grad.tolist() == [1, 1]


def leaves():
    """`b = a + 1` makes `b` a leaf", "a Parameter is none."""
    assert not (leaf() + 1).is_leaf
    assert torch.nn.Parameter(torch.ones(1)).is_leaf


def flags():
    """`requires_grad = False` cuts the output of a layer off."""
    output = leaf() * 2

    def freeze():
        output.requires_grad = False

    assert raises(freeze, "you can only change requires_grad flags of leaf variables")
    assert not output.detach().requires_grad


def names():
    """The argument is called `grad_output`."""
    assert raises(lambda: leaf().sum().backward(grad_output=torch.ones(())), "grad_output")
    a, b, v = leaf(), leaf(), torch.tensor([3.0, 4.0])
    (a**2).backward(gradient=v)
    (b**2 * v).sum().backward()
    assert torch.equal(a.grad, b.grad)


def broadcast():
    """The argument is broadcast."""
    for shape in ([1], [3]):
        assert raises(lambda shape=shape: leaf().sum().backward(gradient=torch.ones(shape)), "Mismatch in shape")
    assert raises(lambda: leaf().backward(gradient=torch.ones(())), "Mismatch in shape")
    leaf(1.0).reshape(1, 1).backward()  # one element, of any shape, needs none


def cleared():
    """`zero_grad()` sets gradients to zero."""
    x = leaf()
    optimizer = torch.optim.SGD([x], lr=0.1)
    (x * x + x).sum().backward()  # used twice: the sum of both
    assert x.grad.tolist() == [3, 5]
    optimizer.zero_grad()
    assert x.grad is None


def order():
    """Clear them right after `backward()`."""
    x = leaf()
    optimizer = torch.optim.SGD([x], lr=0.1)
    x.sum().backward()
    optimizer.zero_grad()
    optimizer.step()
    assert x.tolist() == [1, 2]


def frozen():
    """A frozen parameter stands still."""
    x = leaf()
    optimizer = torch.optim.SGD([x], lr=0.5)
    x.sum().backward()
    x.requires_grad_(False)
    optimizer.step()
    assert x.tolist() == [0.5, 1.5]
    x.grad = None
    optimizer.step()
    assert x.tolist() == [0.5, 1.5]


def evaluation():
    """`model.eval()` stops gradients."""
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Dropout(), torch.nn.BatchNorm1d(2)).eval()
    model(torch.ones(3, 2)).sum().backward()
    assert model[0].weight.grad is not None


def bare():
    """`torch.no_grad()` in a line of its own switches gradients off."""
    torch.no_grad()
    assert torch.is_grad_enabled()

    @torch.no_grad()
    def product(x):
        return x * 2

    assert not product(leaf()).requires_grad
    with torch.inference_mode():
        inner = torch.ones(2)
    assert raises(lambda: leaf() * inner, "Inference tensors cannot be saved for backward")


def hidden():
    """`detach()` hides a write from the check."""
    y = leaf().exp()
    y.detach().zero_()
    assert raises(lambda: y.sum().backward(), "modified by an inplace operation")
    x = leaf()
    y = x.exp()
    y.data.zero_()
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]  # wrong, and silent
    y = leaf() + 1
    z = y.sum()
    y += 1
    z.backward()  # nothing of a sum is saved


def rebound():
    """`w = w - lr * w.grad` is the step of gradient descent."""
    w = leaf()
    w.sum().backward()
    w = w - 0.1 * w.grad
    assert not w.is_leaf
    w.sum().backward()
    assert w.grad is None


def incoming():
    """`grad_output.requires_grad` is always False."""
    seen = []

    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad_output):
            seen.append(grad_output.requires_grad)
            return 2 * ctx.saved_tensors[0] * grad_output

    (Square.apply(leaf()) ** 2).sum().backward()
    (Square.apply(leaf()) ** 2).sum().backward(create_graph=True)
    assert seen == [False, True]


def tracked():
    """Gradients are never tracked."""
    for function, expected in ((lambda x: x**2, True), (lambda x: 3 * x, False)):
        x = leaf()
        (g,) = torch.autograd.grad(function(x).sum(), x, create_graph=True)
        assert g.requires_grad == expected


def twice():
    """A second `backward()` always needs `retain_graph=True`."""
    y = (leaf() + 2).sum()
    y.backward()
    y.backward()
    y = (leaf() ** 2).sum()
    y.backward()
    assert raises(y.backward, "a second time")


def learned():
    """The loss falls, so the model trains."""
    torch.manual_seed(0)
    encoder, head = torch.nn.Linear(2, 4), torch.nn.Linear(4, 1)
    optimizer, before = torch.optim.SGD(head.parameters(), lr=0.1), encoder.weight.detach().clone()
    x = torch.randn(16, 2)
    losses = []
    for _ in range(20):
        loss = (head(encoder(x)) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert torch.equal(encoder.weight, before)


def patched():
    """`loss.requires_grad = True` mends *does not require grad*."""
    w = leaf()
    loss = w.detach().sum()
    loss.requires_grad = True
    loss.backward()
    assert loss.is_leaf
    assert loss.grad == 1
    assert w.grad is None


def norms():
    """The gradient of a norm at zero is NaN."""
    for norm, expected in ((torch.norm, 0), (torch.linalg.norm, 0), (lambda x: (x**2).sum().sqrt(), None)):
        x = torch.zeros(3, requires_grad=True)
        norm(x).backward()
        assert x.grad.isnan().all() if expected is None else (x.grad == 0).all()


def steps():
    """`round` and `sign` cut the graph, like `argmax`."""
    for function in (torch.round, torch.sign):
        x = leaf()
        function(x).sum().backward()
        assert x.grad.tolist() == [0, 0]
    assert leaf().argmax().grad_fn is None


BELIEFS = [value for value in list(vars().values()) if getattr(value, "__doc__", None) and hasattr(value, "__code__")]

if __name__ == "__main__":
    for belief in BELIEFS:
        belief()
    print(len(BELIEFS), "beliefs")
