# non-differentiable-op | straight through
# evidence: done
"""Codes without a way back."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Codes(nn.Module):
    def __init__(self, count=16, d=4):
        super().__init__()
        self.table = nn.Parameter(torch.randn(count, d))

    def forward(self, z):
        nearest = torch.cdist(z, self.table).argmin(1)
        code = self.table[nearest]  #C
        return code, F.mse_loss(code, z.detach()), F.mse_loss(z, code.detach())


def main():
    torch.manual_seed(0)
    enc, codes, dec = nn.Linear(10, 4), Codes(), nn.Linear(4, 10)
    params = [*enc.parameters(), *codes.parameters(), *dec.parameters()]
    opt = torch.optim.Adam(params, lr=3e-3)
    data = torch.randn(400, 3) @ torch.randn(3, 10)
    for step in range(40):
        x = data[torch.randint(0, 400, (50,))]
        code, follow, commit = codes(enc(x))
        loss = F.mse_loss(dec(code), x) + follow + 0.25 * commit
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
