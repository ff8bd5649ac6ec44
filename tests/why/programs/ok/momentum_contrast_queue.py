# ok
# evidence: queue wrapped around: True, positive ranked first more often: True
import copy

import torch
import torch.nn.functional as F
from torch import nn


class MoCo(nn.Module):
    def __init__(self, d=12, dim=16, queue=96, m=0.9, temperature=0.2):
        super().__init__()
        self.q = nn.Sequential(nn.Linear(d, 32), nn.ReLU(), nn.Linear(32, dim))
        self.k = copy.deepcopy(self.q)
        for p in self.k.parameters():
            p.requires_grad = False
        self.m, self.t = m, temperature
        self.register_buffer("queue", F.normalize(torch.randn(queue, dim), dim=1))
        self.ptr, self.wraps = 0, 0

    @torch.no_grad()
    def momentum_update(self):
        for pk, pq in zip(self.k.parameters(), self.q.parameters()):
            pk.copy_(self.m * pk + (1 - self.m) * pq)

    @torch.no_grad()
    def enqueue(self, keys):
        n = len(keys)
        self.queue[self.ptr:self.ptr + n] = keys
        self.ptr += n
        if self.ptr >= len(self.queue):
            self.ptr, self.wraps = 0, self.wraps + 1

    def forward(self, a, b):
        q = F.normalize(self.q(a), dim=1)
        with torch.no_grad():
            self.momentum_update()
            k = F.normalize(self.k(b), dim=1)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().t()
        logits = torch.cat([pos, neg], dim=1) / self.t
        self.enqueue(k)
        # the positive is always in the first column
        return logits, torch.zeros(len(logits), dtype=torch.long)


def main():
    torch.manual_seed(29)
    model = MoCo()
    opt = torch.optim.Adam(model.q.parameters(), lr=5e-3)
    losses, top1 = [], []
    for step in range(60):
        x = torch.randn(24, 12)
        a, b = x + 0.2 * torch.randn_like(x), x + 0.2 * torch.randn_like(x)
        logits, labels = model(a, b)
        loss = F.cross_entropy(logits, labels)
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.item())
        top1.append((logits.argmax(1) == labels).float().mean().item())
        if step % 15 == 14:
            print(f"step {step + 1} loss {losses[-1]:.3f} top1 {top1[-1]:.2f}")
    print(f"queue wrapped around: {model.wraps > 1}, "
          f"positive ranked first more often: {sum(top1[-10:]) > sum(top1[4:14])}")


if __name__ == "__main__":
    main()
