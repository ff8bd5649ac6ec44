# not-in-optimizer | no-update | optimizer
# evidence: True True
import torch
import torch.nn as nn

torch.manual_seed(0)


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.params = {"alpha": nn.Parameter(torch.ones(1))}  #C
        self.fc = nn.Linear(2, 1)

    def forward(self, x):
        return self.fc(x) * self.params["alpha"]


m = Scale()
opt = torch.optim.RMSprop(m.parameters(), lr=0.1)  #C
x, y = torch.randn(20, 2), torch.randn(20, 1)
for _ in range(4):
    loss = nn.functional.mse_loss(m(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
g = m.params["alpha"].grad  #R
print("evidence:", g is not None, m.params["alpha"].item() == 1.0)
