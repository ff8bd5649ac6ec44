# missing-detach
# evidence: done
"""Advantage actor-critic on a small grid corridor."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

GAMMA = 0.97


class Corridor:
    """Start in the middle; the right end pays +1, the left end pays +0.2."""

    def __init__(self, n=9):
        self.n = n

    def reset(self):
        self.pos, self.t = self.n // 2, 0
        return self.obs()

    def obs(self):
        return F.one_hot(torch.tensor(self.pos), self.n).float()

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        self.t += 1
        if self.pos == self.n - 1:
            return self.obs(), 1.0, True
        if self.pos == 0:
            return self.obs(), 0.2, True
        return self.obs(), -0.01, self.t >= 40


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_act=2, hidden=32):
        super().__init__()
        self.actor = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, n_act))
        self.critic = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, 1))

    def forward(self, obs):
        return Categorical(logits=self.actor(obs)), self.critic(obs).squeeze(-1)


def rollout(env, model):
    obs, done = env.reset(), False
    logps, values, rewards, ents = [], [], [], []
    while not done:
        dist, value = model(obs)
        action = dist.sample()
        obs, reward, done = env.step(action.item())
        logps.append(dist.log_prob(action))
        ents.append(dist.entropy())
        values.append(value)
        rewards.append(reward)
    returns, running = [], 0.0
    for r in reversed(rewards):
        running = r + GAMMA * running
        returns.insert(0, running)
    return torch.stack(logps), torch.stack(values), torch.tensor(returns), torch.stack(ents), sum(rewards)


def a2c_loss(logps, values, returns, ents):
    advantage = returns - values  #C
    policy_loss = -(logps * advantage).mean()  #C
    value_loss = F.mse_loss(values, returns)
    return policy_loss + 0.5 * value_loss - 0.01 * ents.mean()


def main():
    torch.manual_seed(0)
    env = Corridor()
    model = ActorCritic(env.n)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    scores = []
    for episode in range(1, 81):
        *batch, score = rollout(env, model)
        loss = a2c_loss(*batch)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scores.append(score)
        if episode % 50 == 0:
            print(f"episode {episode}: mean score {sum(scores[-50:]) / 50:.3f} loss {loss.item():.4f}")
    with torch.no_grad():
        print("V:", [round(v, 2) for v in model.critic(torch.eye(env.n)).flatten().tolist()])


if __name__ == "__main__":
    main()
print("evidence: done")
