# missing-detach
# evidence: done
import random
import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
N_STATES, N_ACTIONS, GAMMA = 10, 2, 0.95


class Corridor:
    """Walk right to reach the goal; slipping reverses the move."""

    def reset(self):
        self.s = 0
        return self.s

    def step(self, a):
        if random.random() < 0.2:
            a = 1 - a
        self.s = max(0, min(N_STATES - 1, self.s + (1 if a else -1)))
        done = self.s == N_STATES - 1
        return self.s, 1.0 if done else 0.0, done


class QNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(N_STATES, 32), nn.ReLU(), nn.Linear(32, N_ACTIONS))

    def forward(self, s):
        return self.net(F.one_hot(s, N_STATES).float())


def collect(n):
    env, out = Corridor(), []
    s = env.reset()
    for _ in range(n):
        a = random.randrange(2)
        s2, r, done = env.step(a)
        out.append((s, a, r, s2, float(done)))
        s = env.reset() if done else s2
    return out


def td_loss(q, batch):
    s, a, r, s2, d = (torch.tensor(c) for c in zip(*batch))
    q_sa = q(s).gather(1, a.unsqueeze(1)).squeeze(1)
    next_q = q(s2).max(dim=1).values  #C
    target = r + GAMMA * (1.0 - d) * next_q  #C
    return F.mse_loss(q_sa, target)  #C


def value_iteration():
    v = torch.zeros(N_STATES)
    for _ in range(100):
        for s in range(N_STATES - 1):
            best = []
            for a in (0, 1):
                tot = 0.0
                for mv, p in ((a, 0.8), (1 - a, 0.2)):
                    s2 = max(0, s + (1 if mv else -1))
                    tot += p * (1.0 if s2 == N_STATES - 1 else GAMMA * v[s2].item())
                best.append(tot)
            v[s] = max(best)
    return v


def main():
    replay = collect(3000)
    q = QNet()
    opt = torch.optim.Adam(q.parameters(), lr=5e-3)
    for it in range(800):
        loss = td_loss(q, random.sample(replay, 64))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 200 == 0:
            print(f"iter {it} td loss {loss.item():.5f}")
    with torch.no_grad():
        v = q(torch.arange(N_STATES)).max(1).values
    err = (v - value_iteration())[:-1].abs().mean().item()
    print("values", [round(t, 2) for t in v.tolist()])
    print(f"mean value error {err:.3f}")


if __name__ == "__main__":
    main()
print("evidence: done")
