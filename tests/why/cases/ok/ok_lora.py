# ok
# evidence: True True
import torch
from torch import nn

torch.manual_seed(0)


class LoRA(nn.Module):
    def __init__(self, base, rank):
        super().__init__()
        self.base = base
        self.base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) * 0.1)
        self.up = nn.Parameter(torch.randn(base.out_features, rank) * 0.1)

    def forward(self, x):
        return self.base(x) + x @ self.down.T @ self.up.T


layer = LoRA(nn.Linear(6, 4), 2)
opt = torch.optim.AdamW([p for p in layer.parameters() if p.requires_grad], lr=1e-2)
x, y = torch.randn(16, 6), torch.randn(16, 4)
for _ in range(4):
    loss = nn.functional.mse_loss(layer(x), y)
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(layer.parameters(), 0.5)
    opt.step()
g = layer.down.grad
print("evidence:", g is not None, not layer.base.weight.requires_grad)
