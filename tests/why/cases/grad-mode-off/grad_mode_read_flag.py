# grad-mode-off | not-tracked | no_grad
# evidence: False
import torch
import torch.nn as nn

policy = nn.Linear(3, 2)


def act(state):
    with torch.no_grad():  #C
        return torch.log_softmax(policy(state), dim=-1)  #C


logp = act(torch.randn(3))
loss = -logp[0]
flag = loss.requires_grad  #R
print("evidence:", flag)
