# input-degenerate | stored many times
# evidence: done
"""State that goes on."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Env:
    def __init__(self):
        self.state = np.zeros(3, dtype=np.float32)
        self.rng = np.random.default_rng(0)

    def reset(self):
        self.state[:] = self.rng.normal(size=3)
        return self.state  #C

    def step(self, action):
        self.state += 0.1 * (action - 0.5) + 0.05 * self.rng.normal(size=3).astype(np.float32)  #C
        return self.state, -float(np.abs(self.state).sum())  #C


def main():
    torch.manual_seed(0)
    env = Env()
    model = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 3))
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    buffer = []
    rng = np.random.default_rng(1)
    for episode in range(10):
        s = env.reset()
        for t in range(12):
            a = rng.integers(2)
            s2, r = env.step(a)
            buffer.append((s, a, s2))  #C
            s = s2
            if len(buffer) >= 16:
                pick = rng.integers(0, len(buffer), 16)
                states = torch.tensor(np.stack([np.append(buffer[i][0], buffer[i][1]) for i in pick]), dtype=torch.float32)
                nexts = torch.tensor(np.stack([buffer[i][2] for i in pick]))
                loss = F.mse_loss(model(states), nexts)
                opt.zero_grad()
                loss.backward()
                opt.step()
    print(loss.item())


main()
print("evidence: done")
