# value-copied-out | none | item
# evidence: None
import torch
import torch.nn as nn

torch.manual_seed(0)


class Temp(nn.Module):
    def __init__(self):
        super().__init__()
        self.temperature = nn.Parameter(torch.ones(1) * 1.5)

    def forward(self, logits):
        return logits / self.temperature.item()  #C


base = nn.Linear(4, 3)
scaler = Temp()
opt = torch.optim.LBFGS([scaler.temperature], lr=0.01, max_iter=5)
x, y = torch.randn(20, 4), torch.randint(0, 3, (20,))


def closure():
    opt.zero_grad()
    loss = nn.functional.cross_entropy(scaler(base(x)), y)
    loss.backward()
    return loss


opt.step(closure)
print("evidence:", scaler.temperature.grad)  #R
