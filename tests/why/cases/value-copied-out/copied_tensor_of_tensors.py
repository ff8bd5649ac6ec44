# value-copied-out | none | torch.tensor, stack
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
policy, critic = nn.Linear(2, 2), nn.Linear(2, 1)
values, rewards = [], []
for t in range(4):
    s = torch.randn(2)
    values.append(critic(s).squeeze())
    rewards.append(float(t))
v = torch.tensor(values, requires_grad=True)  #C
loss = (v - torch.tensor(rewards)).pow(2).mean()
loss.backward()
g = critic.weight.grad  #R
print("evidence:", g is None)
