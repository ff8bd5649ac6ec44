import torch, tntorch as tn

torch.manual_seed(0)
full = torch.randn(4, 5, 6, dtype=torch.float64)
t = tn.Tensor(full, ranks_tt=3)
print(
    tn.relative_error(full, t).item(), t.numel(), tn.sum(t).item(), tn.norm(t * 2 + 1).item(), tn.mean(t).item(), tn.std(t).item()
)
x = tn.rand([4, 5, 6], ranks_tt=2, requires_grad=True)
for core in x.cores:
    core.retain_grad() if not core.is_leaf else None
loss = tn.relative_error(full.to(x.cores[0].dtype), x)
loss.backward()
print(loss.item(), [c.grad.abs().sum().item() for c in x.cores])
