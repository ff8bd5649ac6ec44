# value-unused
# evidence: done
# Double-buffer DQN on a corridor: +1 at the right end, -1 at the left end.
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

N = 9


def one_hot(s):
    return F.one_hot(torch.tensor(s), N).float()


class Corridor:
    def reset(self):
        self.pos = N // 2
        return self.pos

    def step(self, action):
        self.pos += 1 if action == 1 else -1
        done = self.pos in (0, N - 1)
        reward = 1.0 if self.pos == N - 1 else (-1.0 if self.pos == 0 else 0.0)
        return self.pos, reward, done


class Replay:
    def __init__(self, cap=5000):
        self.data, self.cap = [], cap

    def push(self, *tr):
        self.data.append(tr)
        if len(self.data) > self.cap:
            self.data.pop(0)

    def sample(self, n):
        s, a, r, s2, d = zip(*random.sample(self.data, n))
        f = torch.tensor
        return (torch.stack([one_hot(i) for i in s]), f(a), f(r),
                torch.stack([one_hot(i) for i in s2]), f(d, dtype=torch.float32))


class Agent:
    def __init__(self, gamma=0.9, sync=50):
        self.q = nn.Sequential(nn.Linear(N, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.q).eval()
        self.opt = torch.optim.Adam(self.q.parameters(), lr=3e-3)
        self.gamma, self.sync, self.updates = gamma, sync, 0

    def act(self, s, eps):
        if random.random() < eps:
            return random.randrange(2)
        with torch.no_grad():
            return self.q(one_hot(s)).argmax().item()

    def learn(self, batch):
        s, a, r, s2, done = batch
        q = self.q(s).gather(1, a.unsqueeze(1)).squeeze(1)
        with torch.no_grad():
            target = r + self.gamma * self.target(s2).max(dim=1).values  #C
        loss = F.smooth_l1_loss(q, target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.updates += 1
        if self.updates % self.sync == 0:
            self.target.load_state_dict(self.q.state_dict())
        return loss.item()


def main():
    torch.manual_seed(0)
    random.seed(0)
    env, agent, mem = Corridor(), Agent(), Replay()
    for ep in range(40):
        s, done, loss, eps = env.reset(), False, 0.0, max(0.1, 1 - ep / 80)
        while not done:
            a = agent.act(s, eps)
            s2, r, done = env.step(a)
            mem.push(s, a, r, s2, done)
            s = s2
            if len(mem.data) >= 64:
                loss = agent.learn(mem.sample(32))
        if ep % 30 == 0:
            with torch.no_grad():
                near_goal = agent.q(one_hot(N - 2))[1].item()
            print(f"episode {ep} reward {r} loss {loss:.4f} Q(next to goal, right) {near_goal:.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
