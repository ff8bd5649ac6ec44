"""Every autograd error explains itself: a note names the lines involved, and `str(error)` stays torch's.

Each program raises one error in its last line. `# HERE` marks lines that the note must name.
"""

from __future__ import annotations

import linecache
import re
import warnings

import pytest
import torch as oracle

import whygrad

FUNCTION = """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, k=2.0):
        return x * k
    @staticmethod
    def backward(ctx, g):
        return {returned}  # HERE
x = torch.ones(2, requires_grad=True)
y = F.apply(x, 3.0)  # HERE
y.sum().backward()
"""

PROGRAMS: dict[str, tuple[str, str]] = {
    "a second backward": ("graph-freed", """
x = torch.ones(2, requires_grad=True)
y = x.exp()  # HERE
y.sum().backward()  # HERE
y.sum().backward()
"""),
    "no scalar": ("non-scalar-backward", """
x = torch.ones(2, requires_grad=True)
y = x * 2  # HERE
y.backward()
"""),
    "a complex scalar": ("non-scalar-backward", """
x = torch.ones(1, dtype=torch.complex64, requires_grad=True)
y = x.sum()  # HERE
y.backward()
"""),
    "no history": ("detach", """
x = torch.ones(2, requires_grad=True)
y = x.detach()  # HERE
y.sum().backward()
"""),
    "nothing requires grad": ("never-required-grad", """
x = torch.ones(2)  # HERE
x.sum().backward()
"""),
    "a gradient of another shape": ("gradient-shape-mismatch", """
x = torch.ones(2, requires_grad=True)
(x * 2).backward(torch.ones(3))  # HERE
"""),
    "a leaf in place": ("leaf-inplace", """
x = torch.ones(2, requires_grad=True)
x += 1  # HERE
"""),
    "a view of a leaf in place": ("leaf-inplace", """
x = torch.ones(2, requires_grad=True)
x[0] = 1  # HERE
"""),
    "a saved value overwritten": ("inplace-saved-tensor", """
x = torch.ones(2, requires_grad=True)
y = x.exp()  # HERE
y += 1  # HERE
y.sum().backward()
"""),
    "overwritten by a step": ("inplace-saved-tensor", """
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
loss = (w * w).sum()  # HERE
loss.backward(retain_graph=True)
optimizer.step()  # HERE
loss.backward()
"""),
    "too few gradients": ("custom-backward", FUNCTION.format(returned="g")),
    "a gradient for a number": ("custom-backward", FUNCTION.format(returned="g, g")),
    "a gradient that is no tensor": ("custom-backward", FUNCTION.format(returned="2.0, None")),
    "a gradient of the wrong shape": ("custom-backward", FUNCTION.format(returned="torch.ones(3), None")),
    "no backward at all": ("custom-backward", """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
F.apply(torch.ones(2, requires_grad=True)).sum().backward()  # HERE
"""),
    "differentiable once": ("custom-backward", """
class F(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 2
    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        x, = ctx.saved_tensors
        return g * 2 * x
x = torch.ones(2, requires_grad=True)
g, = torch.autograd.grad(F.apply(x).sum(), x, torch.ones((), requires_grad=True), create_graph=True)  # HERE
g.sum().backward()
"""),
    "an unused input": ("unused-in-loss", """
x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
torch.autograd.grad(x.sum(), y)  # HERE
"""),
    "an input that does not require grad": ("never-required-grad", """
x, y = torch.ones(2, requires_grad=True), torch.ones(2)  # HERE
torch.autograd.grad(x.sum(), y)
"""),
    "no create_graph": ("no-create-graph", """
x = torch.ones(2, requires_grad=True)
g, = torch.autograd.grad((x ** 3).sum(), x)  # HERE
g.sum().backward()
"""),
    "an inference tensor is saved": ("grad-mode-off", """
w = torch.ones(2, requires_grad=True)
with torch.inference_mode():  # HERE
    x = torch.ones(2)
x * w  # HERE
"""),
    "an inference tensor is written": ("grad-mode-off", """
with torch.inference_mode():  # HERE
    x = torch.ones(2)
x += 1  # HERE
"""),
    "an inference tensor is to require grad": ("grad-mode-off", """
with torch.inference_mode():  # HERE
    x = torch.ones(2)
x.requires_grad_()
"""),
    "a hook changes the shape": ("hook-modified", """
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda g: g.sum())
(x * 2).sum().backward()  # HERE
"""),
    "a hook returns a number": ("hook-modified", """
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda g: 2.0)
(x * 2).sum().backward()  # HERE
"""),
    "a hook where no gradient comes": ("never-required-grad", """
x = torch.ones(2)  # HERE
x.register_hook(print)
"""),
    "retain_grad where no gradient comes": ("never-required-grad", """
x = torch.ones(2)  # HERE
x.retain_grad()
"""),
    "one of several views in place": ("view-inplace", """
x = torch.ones(2, 2, requires_grad=True)
a, b = (x * 2).unbind()  # HERE
a += 1  # HERE
"""),
    "the flag of a result": ("non-leaf-requires-grad", """
x = torch.ones(2, requires_grad=True)
y = x * 2  # HERE
y.requires_grad = False
"""),
    "the flag of a result, by a method": ("non-leaf-requires-grad", """
x = torch.ones(2, requires_grad=True)
y = x * 2  # HERE
y.requires_grad_(False)
"""),
    "integers": ("never-required-grad", """
torch.tensor([1, 2], requires_grad=True)  # HERE
"""),
    "integers, later": ("never-required-grad", """
x = torch.tensor([1, 2])
x.requires_grad_()  # HERE
"""),
    "integers as a parameter": ("never-required-grad", """
torch.nn.Parameter(torch.tensor([1, 2]))  # HERE
"""),
    "NumPy": ("value-copied-out", """
x = torch.ones(2, requires_grad=True)
y = x * 2  # HERE
y.numpy()  # HERE
"""),
    "an optimizer of results": ("leaf-replaced", """
x = torch.ones(2, requires_grad=True)
y = x * 2  # HERE
torch.optim.SGD([y], lr=0.1)
"""),
    "an optimizer of nothing": ("not-in-optimizer", """
torch.optim.SGD([], lr=0.1)  # HERE
"""),
    "a copy of a result": ("deepcopy-nonleaf", """
import copy
x = torch.ones(2, requires_grad=True)
y = x * 2  # HERE
copy.deepcopy([y])
"""),
    "an op without derivative": ("non-differentiable-op", """
x = torch.ones(2, requires_grad=True)
y = x // 2  # HERE
y.sum().backward()
"""),
    "anomaly mode: a derivative": ("nan-derivative", """
w = torch.zeros(3, requires_grad=True)
with torch.autograd.detect_anomaly():
    loss = (w ** 2).sum().sqrt()  # HERE
    loss.backward()
"""),
    "anomaly mode: a forward": ("nan-forward", """
w = torch.zeros(3, requires_grad=True)
with torch.autograd.detect_anomaly():
    entropy = w * torch.log(w)  # HERE
    entropy.sum().backward()
"""),
    "a gradient of another size by hand": ("gradient-shape-mismatch", """
x = torch.ones(2, requires_grad=True)
x.grad = torch.ones(3)  # HERE
"""),
    "a gradient of another dtype by hand": ("gradient-shape-mismatch", """
x = torch.ones(2, requires_grad=True)
x.grad = torch.ones(2, dtype=torch.float64)  # HERE
"""),
}


def error_of(library: object, program: str) -> Exception:
    linecache.cache["<program>"] = (len(program), None, program.splitlines(keepends=True), "<program>")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(program, "<program>", "exec"), {"torch": library, "__name__": "program"})
    except Exception as error:
        return error
    raise AssertionError("nothing was raised")


@pytest.mark.parametrize("name", PROGRAMS)
def test_note(name: str) -> None:
    _, program = PROGRAMS[name]
    ours, theirs = error_of(whygrad, program), error_of(oracle, program)
    assert type(ours) is type(theirs)
    assert str(ours).splitlines()[0] == str(theirs).splitlines()[0]
    notes = getattr(ours, "__notes__", [])
    assert len(notes) == 1, notes
    assert notes[0].startswith("why: ")
    assert " Fix: " in notes[0]
    named = {int(line) for line in re.findall(r"(?:<program>:|line )(\d+)", notes[0])}
    here = {number for number, line in enumerate(program.splitlines(), 1) if "# HERE" in line}
    assert here <= named, notes[0]


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_watch_hears_of_it(name: str) -> None:
    from whygrad.why.watch import Watch

    category, program = PROGRAMS[name]
    watch = Watch()
    watch.start()
    try:
        error_of(whygrad, program)
    finally:
        answers = watch.stop()
    assert watch.failures == []
    assert [answer.explanation.category for answer in answers if answer.explanation.symptom == "error"] == [category]
