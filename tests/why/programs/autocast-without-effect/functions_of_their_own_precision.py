# autocast-without-effect | autocast
# evidence: torch.float32
# The layers run functions with a precision of their own, to which autocast does not apply.
import torch
import torch.nn as nn
from torch.amp import custom_bwd, custom_fwd

torch.manual_seed(0)


class PrimLinear(torch.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g @ weight, g.t() @ x


class Linear(nn.Linear):
    def forward(self, x):
        return PrimLinear.apply(x, self.weight) + self.bias


model = nn.Sequential(Linear(8, 32), nn.ReLU(), Linear(32, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
x = torch.randn(64, 8)
y = x.sum(1, keepdim=True)
for step in range(12):
    batch = torch.randperm(64)[:16]
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):  #C
        out = model(x[batch])
    loss = nn.functional.mse_loss(out, y[batch])
    loss.backward()
    optimizer.step()
print("evidence:", out.dtype)
