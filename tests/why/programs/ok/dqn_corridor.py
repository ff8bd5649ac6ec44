# ok
# evidence: target copies: 10, greedy policy walks right: True
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

N = 5          # corridor of five cells, reward at the right end
GAMMA = 0.7


def one_hot(states):
    return F.one_hot(torch.as_tensor(states), N).float()


def env_step(s, a):
    s2 = max(0, s - 1) if a == 0 else s + 1
    done = s2 == N - 1
    return s2, (1.0 if done else 0.0), done


class ReplayBuffer:
    def __init__(self, capacity):
        self.capacity, self.items = capacity, []

    def push(self, *item):
        self.items.append(item)
        if len(self.items) > self.capacity:
            self.items.pop(0)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.items, n))
        return (one_hot(s), torch.tensor(a), torch.tensor(r), one_hot(s2), torch.tensor(d, dtype=torch.float32))


class DQNAgent:
    def __init__(self, lr=2e-2):
        self.q = nn.Sequential(nn.Linear(N, 32), nn.Tanh(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.q)
        self.target.requires_grad_(False)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=lr)

    @torch.no_grad()
    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        return self.q(one_hot([s]))[0].argmax().item()

    def learn(self, batch):
        s, a, r, s2, done = batch
        q = self.q(s).gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            target = r + GAMMA * (1 - done) * self.target(s2).max(1).values
        loss = F.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()


def main():
    torch.manual_seed(0)
    random.seed(0)
    agent, buf = DQNAgent(), ReplayBuffer(500)
    s, copies, t = 0, 0, 0
    for _ in range(200):                      # random play fills the buffer
        a = random.randrange(2)
        s2, r, d = env_step(s, a)
        buf.push(s, a, r, s2, d)
        s = 0 if d else s2
    for step in range(120):
        a = agent.act(s, eps=0.3)
        s2, r, d = env_step(s, a)
        buf.push(s, a, r, s2, d)
        s = 0 if d else s2
        loss = agent.learn(buf.sample(32))
        if (step + 1) % 12 == 0:
            agent.target.load_state_dict(agent.q.state_dict())
            copies += 1
            print(f"step {step + 1} td loss {loss:.4f}")
    greedy = [agent.act(c, eps=0.0) for c in range(N - 1)]
    print(f"target copies: {copies}, greedy policy walks right: {greedy == [1] * (N - 1)}")


if __name__ == "__main__":
    main()
