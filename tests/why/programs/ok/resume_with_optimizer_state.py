# ok
# evidence: resumed run equals the unbroken run: True, loss went down: True
import os
import tempfile

import torch
from torch import nn


def build():
    torch.manual_seed(100)
    model = nn.Sequential(nn.Linear(4, 16), nn.SiLU(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 20, gamma=0.5)
    return model, optimizer, scheduler


def steps(model, optimizer, scheduler, batches):
    losses = []
    for x, y in batches:
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses


def main():
    torch.manual_seed(5)
    batches = []
    for _ in range(40):
        x = torch.randn(32, 4)
        batches.append((x, (x[:, :1] * 2 - x[:, 1:2]).tanh()))

    whole, opt, sched = build()
    reference = steps(whole, opt, sched, batches)

    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "checkpoint.pt")
        model, opt, sched = build()
        steps(model, opt, sched, batches[:15])
        torch.save({"model": model.state_dict(), "optimizer": opt.state_dict(),
                    "scheduler": sched.state_dict(), "step": 15}, path)

        model, opt, sched = build()              # as after a restart of the process
        ckpt = torch.load(path)
        model.load_state_dict(ckpt["model"])
        opt.load_state_dict(ckpt["optimizer"])
        sched.load_state_dict(ckpt["scheduler"])
    rest = steps(model, opt, sched, batches[ckpt["step"]:])
    print(f"first {reference[0]:.4f} last {reference[-1]:.4f} resumed last {rest[-1]:.4f}")
    same = all(torch.allclose(a, b, atol=1e-6) for a, b in zip(whole.parameters(), model.parameters()))
    print(f"resumed run equals the unbroken run: {same}, "
          f"loss went down: {sum(reference[-5:]) < sum(reference[:5])}")


if __name__ == "__main__":
    main()
