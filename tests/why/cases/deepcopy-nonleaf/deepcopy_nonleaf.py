# deepcopy-nonleaf | error | leaf/leaves, detach
# evidence: True
import copy
import torch
import torch.nn as nn


class Keeps(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.last = None

    def forward(self, x):
        self.last = self.fc(x)  #C
        return self.last


m = Keeps()
m(torch.randn(1, 2))
failed = False
try:
    copy.deepcopy(m)  #R
except RuntimeError as e:
    failed = "deepcopy" in str(e)
print("evidence:", failed)
