# ok
# evidence: trained
# A function makes an optimizer with its schedule; the first stage has no use for the schedule.
import torch
from torch import nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import ReduceLROnPlateau


def stage(model, mode="min"):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    return optimizer, ReduceLROnPlateau(optimizer, mode=mode, patience=2)


def epoch(model, optimizer):
    for _ in range(6):
        x = torch.randn(16, 3)
        logits, y = model(x), (x[:, 0] > 0).long()
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item(), (logits.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer, _ = stage(model)
    for _ in range(3):
        epoch(model, optimizer)
    optimizer, schedule = stage(model, "max")
    for _ in range(6):
        _, accuracy = epoch(model, optimizer)
        schedule.step(accuracy)
    print("trained")


main()
