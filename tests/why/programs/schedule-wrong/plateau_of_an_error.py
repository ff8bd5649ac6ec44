# schedule-wrong | mode
# evidence: rate cut: True
import torch
from torch import nn
import torch.nn.functional as F


class Fit:
    def __init__(self, lr=0.05):
        self.model = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=lr)
        self.schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, "max", factor=0.5, patience=1)  #C

    def epoch(self):
        for _ in range(3):
            x = torch.randn(16, 3)
            loss = F.mse_loss(self.model(x), x.sum(1, keepdim=True))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        valid_error = loss.item()
        self.schedule.step(valid_error)  #C


def main():
    torch.manual_seed(0)
    fit = Fit()
    for _ in range(10):
        fit.epoch()
    print(f"rate cut: {fit.optimizer.param_groups[0]['lr'] < 0.05}")


main()
