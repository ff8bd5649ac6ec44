# result-dropped
# evidence: done
"""Soft-updated deep Q-learning on a small grid."""
import copy
import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

MOVES = [(0, 1), (0, -1), (1, 0), (-1, 0)]


class Grid:
    def __init__(self, n=4, limit=20):
        self.n, self.limit = n, limit

    def reset(self):
        self.r = self.c = self.t = 0
        return self.state()

    def state(self):
        s = torch.zeros(self.n * self.n)
        s[self.r * self.n + self.c] = 1.0
        return s

    def step(self, a):
        dr, dc = MOVES[a]
        self.r = min(self.n - 1, max(0, self.r + dr))
        self.c = min(self.n - 1, max(0, self.c + dc))
        self.t += 1
        goal = self.r == self.n - 1 and self.c == self.n - 1
        return self.state(), (1.0 if goal else -0.02), goal, goal or self.t >= self.limit


class QNet(nn.Module):
    def __init__(self, n_in=16, n_out=4, hidden=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, hidden), nn.ReLU(), nn.Linear(hidden, n_out))

    def forward(self, s):
        return self.net(s)


class Agent:
    def __init__(self, gamma=0.95, tau=0.05):
        self.gamma, self.tau = gamma, tau
        self.online = QNet()
        self.target = copy.deepcopy(self.online)
        for p in self.target.parameters():
            p.requires_grad_(False)
        self.opt = torch.optim.Adam(self.online.parameters(), lr=3e-3)
        self.memory = deque(maxlen=2000)

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(4)
        with torch.no_grad():
            return int(self.online(s).argmax())

    def learn(self, batch_size=32):
        batch = random.sample(self.memory, batch_size)
        s, a, r, s2, d = zip(*batch)
        s, s2 = torch.stack(s), torch.stack(s2)
        a, r, d = torch.tensor(a), torch.tensor(r), torch.tensor(d).float()
        with torch.no_grad():
            best = self.online(s2).argmax(1, keepdim=True)
            y = r + self.gamma * (1 - d) * self.target(s2).gather(1, best).squeeze(1)
        q = self.online(s).gather(1, a[:, None]).squeeze(1)
        loss = F.smooth_l1_loss(q, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.sync()  #C
        return loss.item()

    @torch.no_grad()
    def sync(self):
        for p, tp in zip(self.online.parameters(), self.target.parameters()):  #C
            tp = self.tau * p + (1 - self.tau) * tp  #C


def main():
    torch.manual_seed(0)
    random.seed(0)
    env, agent = Grid(), Agent()
    for episode in range(32):
        s, done, steps, loss = env.reset(), False, 0, 0.0
        eps = max(0.1, 1.0 - episode / 20)
        while not done:
            a = agent.act(s, eps)
            s2, r, term, done = env.step(a)
            agent.memory.append((s, a, r, s2, term))
            s, steps = s2, steps + 1
            if len(agent.memory) >= 64:
                loss = agent.learn()
        if episode % 8 == 7:
            print(f"episode {episode:2d} steps {steps:2d} td loss {loss:.5f}")
    with torch.no_grad():
        v0 = agent.online(torch.eye(16)[0]).max().item()
    print(f"value of the start state {v0:.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
