# ok
# evidence: trained
# A weighted loss, an average that is updated in place, one that is bound anew, and a head that was trained before it is frozen.
import copy

import torch
from torch import nn
import torch.nn.functional as F


def averaged(average, model, keep=0.95):
    following = copy.deepcopy(average)
    with torch.no_grad():
        for a, p in zip(following.parameters(), model.parameters(), strict=True):
            a.lerp_(p, 1 - keep)
    return following


def train(model, steps):
    ema = copy.deepcopy(model)
    avg_model = torch.optim.swa_utils.AveragedModel(model)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    for _ in range(steps):
        x = torch.randn(16, 5)
        main, side = F.mse_loss(model(x), x.sum(1, keepdim=True)), model(x).pow(2).mean()
        loss = main / 2 + side / 4
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ema = averaged(ema, model)
        avg_model.update_parameters(model)
    return ema


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 1))
    train(model, 16)
    model[2].requires_grad_(False)
    train(model, 16)
    print("trained")


main()
