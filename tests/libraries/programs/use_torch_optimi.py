import torch
from optimi import SGD, AdamW, Adan, Lion, RAdam, Ranger, StableAdamW, prepare_for_gradient_release, remove_gradient_release

for kind in (AdamW, Lion, RAdam, SGD, StableAdamW, Adan, Ranger):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(6, 12), torch.nn.Tanh(), torch.nn.Linear(12, 1))
    optimizer, x = kind(model.parameters(), lr=1e-2, decouple_lr=True), torch.randn(16, 6)
    for _ in range(5):
        loss = (model(x)[:, 0] - x.sum(1)).square().mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    print(kind.__name__, loss.item())
torch.manual_seed(0)
model = torch.nn.Linear(6, 1, dtype=torch.bfloat16)
optimizer = AdamW(model.parameters(), lr=1e-2, gradient_release=True, kahan_sum=True)
prepare_for_gradient_release(model, optimizer)
for _ in range(3):
    model(torch.ones(2, 6, dtype=torch.bfloat16)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
remove_gradient_release(model)
print(model.weight.float().sum().item())
