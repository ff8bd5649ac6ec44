# weights-reset | evaluated
# evidence: trained
import copy

import torch
import torch.nn.functional as F
from torch import nn


def blend(average, model, keep=0.9):
    for name, value in model.state_dict().items():
        average[name] = keep * average[name] + (1 - keep) * value


def score(model, weights, x, y):
    model.load_state_dict(weights)  #C
    model.eval()
    with torch.no_grad():
        result = F.mse_loss(model(x), y).item()
    model.train()
    return result


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 1))
    average = copy.deepcopy(model.state_dict())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(6):
        for _ in range(5):
            x = torch.randn(16, 4)
            loss = F.mse_loss(model(x), x.sum(1, keepdim=True))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            blend(average, model)
        x = torch.randn(32, 4)
        score(model, average, x, x.sum(1, keepdim=True))
    print("trained")


main()
