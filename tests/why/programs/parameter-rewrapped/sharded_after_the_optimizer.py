# parameter-rewrapped, not-in-optimizer, leaf-replaced | parameter
# evidence: True
# The optimizer was made before the model was sharded, which replaces its parameters by flat ones.
import torch
import torch.nn as nn

torch.manual_seed(0)


class Sharded(nn.Module):
    """A stand-in for FullyShardedDataParallel: one flat parameter, and views of it in the layers."""

    def __init__(self, module):
        super().__init__()
        self.module = module
        self.named = [(layer, name) for layer in module.modules() for name, _ in list(layer.named_parameters(recurse=False))]
        parts = [getattr(layer, name) for layer, name in self.named]
        self.shapes = [p.shape for p in parts]
        self.flat = nn.Parameter(torch.cat([p.detach().reshape(-1) for p in parts]))  #C
        for layer, name in self.named:
            delattr(layer, name)

    def forward(self, x):
        for (layer, name), part, shape in zip(self.named, self.flat.split([s.numel() for s in self.shapes]), self.shapes):
            setattr(layer, name, part.view(shape))
        return self.module(x)


model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)  #C
model = Sharded(model)
start = model.flat.clone()
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)
for step in range(12):
    batch = torch.randperm(64)[:16]
    optimizer.zero_grad()
    nn.functional.mse_loss(model(x[batch]), y[batch]).backward()
    optimizer.step()
print("evidence:", torch.equal(model.flat, start))
