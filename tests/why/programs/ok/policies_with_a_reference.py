# ok
# evidence: done
import copy
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical, kl_divergence


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.pi = nn.Linear(32, 3)
        self.v = nn.Linear(32, 1)

    def forward(self, s):
        h = self.body(s)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


def main():
    torch.manual_seed(0)
    policy = Policy()
    reference = copy.deepcopy(policy).eval()
    for p in reference.parameters():
        p.requires_grad_(False)
    opt = torch.optim.Adam(policy.parameters(), lr=3e-3)
    for update in range(15):
        s = torch.randn(128, 4)
        with torch.no_grad():
            dist, v = policy(s)
            a = dist.sample()
            old_logp = dist.log_prob(a)
            reference_dist, _ = reference(s)
        reward = (a == s[:, :3].argmax(1)).float()
        adv = reward - v
        for epoch in range(3):
            dist, value = policy(s)
            ratio = torch.exp(dist.log_prob(a) - old_logp)
            surrogate = torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv)
            kl = kl_divergence(dist, reference_dist).mean()
            entropy = dist.entropy().mean()
            loss = -surrogate.mean() + 0.5 * F.mse_loss(value, reward) - 0.01 * entropy + 0.02 * kl
            opt.zero_grad()
            loss.backward()
            opt.step()
    log_prob_loss = []
    for update in range(30):
        s = torch.randn(32, 4)
        dist, _ = policy(s)
        a = dist.sample()
        reward = (a == s[:, :3].argmax(1)).float()
        loss = -(dist.log_prob(a) * (reward - reward.mean())).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(loss.item())


main()
print("evidence: done")
