"""REINFORCE: a policy learns to walk through a small windy grid to its goal."""

import argparse

import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions import Categorical


class WindyGrid:
    """A 4 by 4 grid. Start in a corner, goal in the opposite one; now and then the wind blows you down."""

    MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))

    def __init__(self, size=4, wind=0.1, limit=20):
        self.size, self.wind, self.limit = size, wind, limit

    def reset(self):
        self.row = self.column = self.time = 0
        return self.observe()

    def observe(self):
        observation = torch.zeros(2, self.size)
        observation[0, self.row] = observation[1, self.column] = 1.0
        return observation.flatten()

    def step(self, action):
        down, right = self.MOVES[action]
        if torch.rand(()).item() < self.wind:
            down, right = 1, 0
        self.row = min(max(self.row + down, 0), self.size - 1)
        self.column = min(max(self.column + right, 0), self.size - 1)
        self.time += 1
        arrived = self.row == self.column == self.size - 1
        return self.observe(), 1.0 if arrived else -0.05, arrived or self.time == self.limit


class Policy(nn.Module):
    def __init__(self, observations=8, hidden=32, actions=4):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observations, hidden), nn.Tanh())
        self.actor = nn.Linear(hidden, actions)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, observation):
        features = self.body(observation)
        return Categorical(logits=self.actor(features)), self.critic(features).squeeze(-1)


def run_episode(environment, policy):
    log_probs, entropies, values, rewards = [], [], [], []
    observation, done = environment.reset(), False
    while not done:
        distribution, value = policy(observation)
        action = distribution.sample()
        observation, reward, done = environment.step(action.item())
        log_probs.append(distribution.log_prob(action))
        entropies.append(distribution.entropy())
        values.append(value)
        rewards.append(reward)
    return torch.stack(log_probs), torch.stack(entropies), torch.stack(values), rewards


def discounted(rewards, gamma=0.97):
    """The discounted sum of what came after each moment."""
    returns, total = [], 0.0
    for reward in reversed(rewards):
        total = reward + gamma * total
        returns.insert(0, total)
    return torch.tensor(returns)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--episodes", type=int, default=4, help="episodes for each step")
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    environment, policy = WindyGrid(), Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)

    for step in range(args.steps):
        losses, total = [], 0.0
        for _ in range(args.episodes):
            log_probs, entropies, values, rewards = run_episode(environment, policy)
            returns = discounted(rewards)
            advantage = returns - values.detach()
            actor_loss = -(log_probs * advantage).mean()
            critic_loss = nn.functional.smooth_l1_loss(values, returns)
            losses.append(actor_loss + critic_loss - 0.01 * entropies.mean())
            total += sum(rewards)
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f} reward {total / args.episodes:.3f}")


if __name__ == "__main__":
    main()
