# ok
# evidence: 0.0
import torch

w = torch.tensor([5.0], requires_grad=True)
opt = torch.optim.SGD([w], 0.1)
for _ in range(3):
    opt.zero_grad()
    torch.relu(1 - w * 1.0).mean().backward()
    opt.step()
    size = w.grad.abs().item()
print("evidence:", size)
