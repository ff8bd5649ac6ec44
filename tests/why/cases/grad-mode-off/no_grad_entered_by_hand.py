# grad-mode-off | error | no_grad
# evidence: False
import torch
import torch.nn as nn


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.net = nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 1))
        self.opt = torch.optim.RMSprop(self.net.parameters(), lr=1e-3)

    def validate(self, x):
        guard = torch.no_grad()
        guard.__enter__()  #C
        self.net.eval()
        score = self.net(x).mean().item()
        self.net.train()
        return score

    def fit(self, x, y):
        print("start", self.validate(x))
        for _ in range(2):
            self.opt.zero_grad()
            loss = nn.functional.smooth_l1_loss(self.net(x), y)  #C
            loss.backward()  #R
            self.opt.step()


t = Trainer()
try:
    t.fit(torch.randn(5, 4), torch.randn(5, 1))
except RuntimeError as e:
    print("RuntimeError:", e)
print("evidence:", torch.is_grad_enabled())
