import torch, loralib as lora

torch.manual_seed(0)
model = torch.nn.Sequential(
    lora.Linear(8, 16, r=4),
    torch.nn.ReLU(),
    lora.MergedLinear(16, 12, r=2, enable_lora=[True, False, True]),
    lora.Linear(12, 1, r=2),
)
lora.mark_only_lora_as_trainable(model)
optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.01)
x = torch.randn(16, 8)
for _ in range(4):
    loss = (model(x)[:, 0] - x.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
print(sorted(lora.lora_state_dict(model)), model.eval()(x).sum().item())
print(lora.Conv2d(3, 4, kernel_size=3, r=2)(torch.randn(1, 3, 6, 6)).sum().item())
