# schedule-wrong | last step before
# evidence: done
"""Schedule of the first stage."""
import torch
import torch.nn as nn


class Tuner:
    def __init__(self, model):
        self.model = model
        model[0].requires_grad_(False)
        self.opt = self.make()
        self.schedule = torch.optim.lr_scheduler.StepLR(self.opt, 2, gamma=0.5)  #C

    def make(self):
        return torch.optim.SGD([p for p in self.model.parameters() if p.requires_grad], lr=0.1)

    def thaw(self):
        self.model[0].requires_grad_(True)
        self.opt = self.make()  #C

    def fit(self, x, y):
        for epoch in range(12):
            if epoch == 3:
                self.thaw()
            for i in torch.randperm(len(x)).split(40):
                loss = nn.functional.mse_loss(self.model(x[i]), y[i])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
            self.schedule.step()  #C
        return loss.item()


def main():
    torch.manual_seed(0)
    x = torch.randn(200, 5)
    tuner = Tuner(nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1)))
    print(tuner.fit(x, x.sum(1, keepdim=True).sin()))


main()
print("evidence: done")
