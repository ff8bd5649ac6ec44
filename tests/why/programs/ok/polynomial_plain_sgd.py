# ok
# evidence: mse went down: True, leading sign right: True
import torch
from torch import nn


def features(x, degree=3):
    return torch.cat([x ** k for k in range(1, degree + 1)], dim=1)


def get_batch(size=32):
    x = 2 * torch.rand(size, 1) - 1
    return features(x), 3 * x ** 3 - 2 * x + 0.5 + 0.05 * torch.randn(size, 1)


torch.manual_seed(0)
fc = nn.Linear(3, 1)
optimizer = torch.optim.SGD(fc.parameters(), lr=0.3)
losses = []
for batch_idx in range(120):
    batch_x, batch_y = get_batch()
    optimizer.zero_grad()
    output = nn.functional.mse_loss(fc(batch_x), batch_y)
    output.backward()
    optimizer.step()
    losses.append(output.item())
    if batch_idx % 30 == 0:
        print(f"batch {batch_idx} mse {losses[-1]:.4f}")

weights = fc.weight.detach().flatten().tolist()
print("learned:", [round(w, 2) for w in weights], round(fc.bias.item(), 2))
print(f"mse went down: {sum(losses[-10:]) < sum(losses[:10])}, leading sign right: {weights[2] > 0}")
