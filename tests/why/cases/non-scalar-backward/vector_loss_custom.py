# non-scalar-backward | error | scalar/one element, gradient, mean/sum
# evidence: True
import torch
from torch import nn


class FocalLoss(nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = gamma

    def forward(self, logits, target):
        logp = torch.log_softmax(logits, 1).gather(1, target[:, None]).squeeze(1)
        return -((1 - logp.exp()) ** self.gamma) * logp  #C


net = nn.Linear(4, 3)
loss = FocalLoss(2.0)(net(torch.randn(5, 4)), torch.tensor([0, 1, 2, 1, 0]))  #C
bad = False
try:
    loss.backward()  #R
except RuntimeError as e:
    bad = "scalar outputs" in str(e)
print("evidence:", bad)
