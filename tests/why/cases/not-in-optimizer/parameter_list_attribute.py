# not-in-optimizer | error | parameter
# evidence: optimizer got an empty parameter list
import torch
import torch.nn as nn


class Poly(nn.Module):
    def __init__(self, degree):
        super().__init__()
        self.coef = [nn.Parameter(torch.zeros(1)) for _ in range(degree)]  #C

    def forward(self, x):
        return sum(c * x ** i for i, c in enumerate(self.coef))


message = ""
try:
    opt = torch.optim.Adam(Poly(3).parameters(), lr=0.1)  #R #C
except ValueError as e:
    message = str(e)
print("evidence:", message)
