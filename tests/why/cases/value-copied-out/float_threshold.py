# value-copied-out, unused-in-loss | none | float, graph/history/number
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)


class SoftThreshold(nn.Module):
    def __init__(self):
        super().__init__()
        self.tau = nn.Parameter(torch.tensor(0.1))

    def forward(self, x):
        return nn.functional.softshrink(x, float(self.tau))  #C


st = SoftThreshold()
w = torch.randn(6, requires_grad=True)
loss = st(w).abs().sum()
loss.backward()
g = st.tau.grad  #R
print("evidence:", g is None)
