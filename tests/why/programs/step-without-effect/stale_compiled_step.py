# step-without-effect | step
# evidence: [True, True, False, False, False, False]
# A compiled step that has kept what it decided in a call without gradients.
import torch
import torch.nn as nn

torch.manual_seed(0)


class CompiledStep(torch.optim.Adam):
    """A stand-in for a compiler whose guards do not look whether there are gradients."""

    kernel = None

    def step(self):
        if all(p.grad is None for group in self.param_groups for p in group["params"]):
            self.kernel = lambda: None
        if self.kernel is not None:
            return self.kernel()
        return super().step()


model = nn.Linear(4, 2)
optimizer = CompiledStep(model.parameters(), lr=0.01)
x, y = torch.randn(64, 4), torch.randint(0, 2, (64,))
moved = []
for step in range(18):
    batch = torch.randperm(64)[:16]
    before = model.weight.clone()
    optimizer.zero_grad()
    if step != 6:  # nothing to learn from this one
        nn.functional.cross_entropy(model(x[batch]), y[batch]).backward()
    optimizer.step()  #C
    if step % 3 == 2:
        moved.append(not torch.equal(model.weight, before))
print("evidence:", moved)
