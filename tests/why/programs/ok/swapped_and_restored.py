# ok
# evidence: trained
# Averaged weights are loaded for an evaluation and taken back; a target follows; the best weights are loaded at the end.
import copy

import torch
import torch.nn.functional as F
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
    target = copy.deepcopy(model)
    average = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    step = 0
    for _ in range(6):
        for _ in range(60):
            x = torch.randn(8, 4)
            with torch.no_grad():
                y = x.sum(1, keepdim=True) + 0.1 * target(x)
            loss = F.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step % 50 == 0:
                target.load_state_dict(model.state_dict())
            average = {name: 0.9 * average[name] + 0.1 * value for name, value in model.state_dict().items()}
        kept = copy.deepcopy(model.state_dict())
        model.load_state_dict(average)
        model.eval()
        with torch.no_grad():
            score = F.mse_loss(model(x), y).item()
        model.load_state_dict(kept)
        model.train()
    model.load_state_dict(average)
    model.eval()
    print("trained" if score < 10 else "not trained")


main()
