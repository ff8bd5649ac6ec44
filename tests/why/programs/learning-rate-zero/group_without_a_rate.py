# learning-rate-zero | group
# evidence: done
"""Group without a rate."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def main():
    torch.manual_seed(0)
    body, head = nn.Sequential(nn.Linear(6, 32), nn.Tanh()), nn.Linear(32, 2)
    opt = torch.optim.Adam([{"params": body.parameters(), "lr": 1e-3}, {"params": head.parameters(), "lr": 1e-2}])
    warm = 5
    sched = torch.optim.lr_scheduler.LambdaLR(opt, [lambda s: s // warm if s < warm else 0.0, lambda s: 1.0])  #C
    for step in range(60):
        x = torch.randn(32, 6)
        loss = F.cross_entropy(head(body(x)), (x[:, 0] * x[:, 1] > 0).long())
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    print(loss.item())


main()
print("evidence: done")
