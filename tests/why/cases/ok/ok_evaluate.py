# ok
# evidence: True False
import torch
import torch.nn as nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
opt = torch.optim.Adam(model.parameters())


@torch.no_grad()
def evaluate(x, y):
    model.eval()
    out = model(x)
    acc = (out.argmax(1) == y).float().mean()
    model.train()
    return acc, out


x, y = torch.randn(20, 2), torch.randint(0, 2, (20,))
for _ in range(3):
    opt.zero_grad()
    nn.functional.cross_entropy(model(x), y).backward()
    opt.step()
    acc, out = evaluate(x, y)
    print("acc", 0 <= acc.item() <= 1)
g = model[0].weight.grad
print("evidence:", g is not None, out.requires_grad)
