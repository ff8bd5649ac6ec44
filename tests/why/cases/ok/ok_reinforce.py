# ok
# evidence: True
import torch
import torch.nn as nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.Adam(policy.parameters(), lr=0.01)
for episode in range(2):
    logs, rewards = [], []
    for t in range(5):
        dist = torch.distributions.Categorical(logits=policy(torch.randn(4)))
        a = dist.sample()
        logs.append(dist.log_prob(a))
        rewards.append(1.0 if a.item() == 0 else 0.0)
    returns = torch.tensor(rewards)
    returns = returns - returns.mean()
    loss = -(torch.stack(logs) * returns).sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    print("loss", round(loss.item(), 1) is not None)
g = policy[0].weight.grad
print("evidence:", g is not None)
