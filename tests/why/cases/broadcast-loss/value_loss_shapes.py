# broadcast-loss | wrong-value | broadcast/shape
# evidence: True
import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.Adam(critic.parameters())
states, returns = torch.randn(20, 3), torch.randn(20)
values = critic(states)
advantage = returns - values  #C
loss = advantage.pow(2).mean()
opt.zero_grad()
loss.backward()
g = critic[2].bias.grad  #R
opt.step()
print("evidence:", advantage.shape == (20, 20))
