# softmax-before-loss | softmax/probabilit/probs, cross entropy/cross_entropy/crossentropy/crossentropyloss
# evidence: imitation loss ever below 0.74: False
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

ACTIONS = 4


class Policy(nn.Module):
    def __init__(self, n_obs=6, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, width), nn.Tanh())
        self.logits = nn.Linear(width, ACTIONS)

    def forward(self, obs):
        return Categorical(logits=self.logits(self.body(obs)))


class Expert:
    """Moves along the axis in which the target is farthest."""

    def act(self, obs):
        gap = obs[:, :2] - obs[:, 2:4]
        axis = gap.abs().argmax(dim=1)
        sign = (gap.gather(1, axis.unsqueeze(1)).squeeze(1) > 0).long()
        return 2 * axis + sign


def demonstrations(n=400):
    obs = torch.randn(n, 6)
    return obs, Expert().act(obs)


def clone(policy, obs, actions, epochs=10, batch=40):
    optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)
    history = []
    for epoch in range(epochs):
        order = torch.randperm(len(obs))
        total = 0.0
        for idx in order.split(batch):
            dist = policy(obs[idx])
            loss = F.cross_entropy(dist.probs, actions[idx])  #C
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(idx)
        history.append(total / len(obs))
        print(f"epoch {epoch} imitation loss {history[-1]:.4f}")
    return history


def main():
    torch.manual_seed(66)
    obs, actions = demonstrations()
    history = clone(Policy(), obs, actions)
    print("imitation loss ever below 0.74:", min(history) < 0.74)


if __name__ == "__main__":
    main()
