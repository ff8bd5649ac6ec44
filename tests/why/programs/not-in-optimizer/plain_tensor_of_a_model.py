# not-in-optimizer | plain tensor
# evidence: done
"""Plain tensor of a model."""
import torch
import torch.nn as nn


class Prompted(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(6, 16)
        self.bias_of_tasks = torch.zeros(3, 16, requires_grad=True)  #C
        self.out = nn.Linear(16, 2)

    def forward(self, x, task):
        return self.out(torch.tanh(self.body(x) + self.bias_of_tasks[task]))


def main():
    torch.manual_seed(0)
    model = Prompted()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(30):
        x, task = torch.randn(32, 6), torch.randint(0, 3, (32,))
        loss = nn.functional.cross_entropy(model(x, task), ((x[:, 0] > 0).long() + task) % 2)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
