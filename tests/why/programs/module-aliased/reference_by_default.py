# module-aliased | copy
# evidence: same object: True
import torch
from torch import nn
import torch.nn.functional as F


class Preferences:
    def __init__(self, policy, reference=None):
        self.policy = policy
        self.reference = reference or policy  #C
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)

    def step(self, good, bad):
        with torch.no_grad():
            kept = self.reference(good) - self.reference(bad)
        margin = self.policy(good) - self.policy(bad) - kept
        loss = -F.logsigmoid(margin).mean() + 0.01 * self.policy(good).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    torch.manual_seed(0)
    preferences = Preferences(nn.Linear(4, 1))
    for _ in range(8):
        preferences.step(torch.randn(8, 4) + 1, torch.randn(8, 4))
    print(f"same object: {preferences.policy is preferences.reference}")


main()
