# ok
# evidence: done
"""Top-1 mixture of experts; some experts receive no tokens in some steps."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MoE(nn.Module):
    def __init__(self, dim, n_experts=6, hidden=32):
        super().__init__()
        self.router = nn.Linear(dim, n_experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(dim, hidden), nn.ReLU(), nn.Linear(hidden, dim)) for _ in range(n_experts))

    def forward(self, x):
        probs = F.softmax(self.router(x), dim=-1)
        gate, choice = probs.max(dim=-1)
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            sel = (choice == e).nonzero(as_tuple=True)[0]
            if sel.numel() == 0:
                continue  # nothing routed here this step
            out = out.index_add(0, sel, expert(x[sel]) * gate[sel, None])
        load = F.one_hot(choice, len(self.experts)).float().mean(0)
        aux = len(self.experts) * (load * probs.mean(0)).sum()
        return x + out, aux


class Model(nn.Module):
    def __init__(self, d_in=8, dim=24, classes=6):
        super().__init__()
        self.stem = nn.Linear(d_in, dim)
        self.moe = MoE(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, x):
        h, aux = self.moe(torch.tanh(self.stem(x)))
        return self.head(h), aux


def main():
    torch.manual_seed(0)
    centers = torch.randn(6, 8) * 1.5
    model = Model()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(120):
        y = torch.randint(0, 6, (16,))
        x = centers[y] + 0.5 * torch.randn(16, 8)
        logits, aux = model(x)
        loss = F.cross_entropy(logits, y) + 0.1 * aux
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 60 == 0:
            used = sum(any(p.grad is not None for p in e.parameters()) for e in model.moe.experts)
            print(f"step {step} loss {loss.item():.4f} experts used {used}")
    with torch.no_grad():
        y = torch.randint(0, 6, (300,))
        acc = (model(centers[y] + 0.5 * torch.randn(300, 8))[0].argmax(1) == y).float().mean().item()
    print(f"test accuracy {acc:.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
