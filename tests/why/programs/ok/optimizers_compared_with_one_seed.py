# ok
# evidence: first losses equal: True, losses went down: True
import torch
import torch.nn as nn

firsts, fell = [], []
for rate in (0.02, 0.03, 0.04, 0.05, 0.06, 0.07, 0.08, 0.09):
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    x = torch.randn(40, 5)
    y = (x[:, :1] - 0.5 * x[:, 1:2]).sin()
    losses = []
    for _ in range(6):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    firsts.append(losses[0])
    fell.append(losses[-1] < losses[0])
print(f"first losses equal: {len(set(firsts)) == 1}, losses went down: {all(fell)}")
