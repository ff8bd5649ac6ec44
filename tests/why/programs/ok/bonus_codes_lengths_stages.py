# ok
# evidence: done
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical
from torch.nn.utils.rnn import pad_sequence


def rewards_to_go(rewards, gamma=0.9):
    out, total = [], torch.zeros(16)
    for r in reversed(rewards):
        total = r + gamma * total
        out.append(total)
    out.reverse()
    return torch.stack(out)


def policy_with_a_bonus():
    policy = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 2))
    opt = torch.optim.Adam(policy.parameters(), lr=1e-2, eps=1e-5)
    for update in range(15):
        logps, rewards, entropies = [], [], []
        for t in range(5):
            s = torch.randn(16, 3)
            dist = Categorical(logits=policy(s))
            a = dist.sample()
            logps.append(dist.log_prob(a))
            entropies.append(dist.entropy())
            rewards.append((a == (s[:, 0] > 0).long()).float())
        weights = rewards_to_go(rewards)
        entropy = torch.stack(entropies).mean()
        loss = -(torch.stack(logps) * (weights - weights.mean())).mean() - 0.01 * entropy
        opt.zero_grad()
        loss.backward()
        opt.step()


def codes_straight_through():
    enc, table, dec = nn.Linear(10, 4), nn.Embedding(16, 4), nn.Linear(4, 10)
    opt = torch.optim.Adam([*enc.parameters(), *table.parameters(), *dec.parameters()], lr=3e-3)
    data = torch.randn(400, 3) @ torch.randn(3, 10)
    for step in range(20):
        x = data[torch.randint(0, 400, (50,))]
        z = enc(x)
        code = table(torch.cdist(z, table.weight).argmin(1))
        loss = F.mse_loss(dec(z + (code - z).detach()), x) + F.mse_loss(code, z.detach()) + 0.25 * F.mse_loss(z, code.detach())
        opt.zero_grad()
        loss.backward()
        opt.step()


def sequences_of_many_lengths():
    rnn, out = nn.GRU(3, 16, batch_first=True), nn.Linear(16, 2)

    class Reader(nn.Module):
        def __init__(self):
            super().__init__()
            self.rnn, self.out = rnn, out

        def forward(self, x, lengths):
            h, _ = self.rnn(x)
            return self.out(h[torch.arange(len(x)), lengths - 1])

    model = Reader()
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(20):
        rows = [torch.randn(int(n), 3) for n in torch.randint(3, 12, (16,))]
        lengths = torch.tensor([len(r) for r in rows])
        y = torch.stack([(r[-1].sum() > 0).long() for r in rows])
        loss = F.cross_entropy(model(pad_sequence(rows, batch_first=True), lengths), y)
        opt.zero_grad()
        loss.backward()
        opt.step()


def head_first_then_all():
    model = nn.Sequential(nn.Linear(5, 24), nn.Tanh(), nn.Linear(24, 1))
    x = torch.randn(200, 5)
    y = x.sum(1, keepdim=True).sin()
    for stage in range(2):
        for name, p in model.named_parameters():
            if "0" in name:
                p.requires_grad = stage == 1
        opt = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
        schedule = torch.optim.lr_scheduler.StepLR(opt, 2, gamma=0.5)
        for epoch in range(5):
            for i in torch.randperm(200).split(40):
                loss = F.mse_loss(model(x[i]), y[i])
                opt.zero_grad()
                loss.backward()
                opt.step()
            schedule.step()


if __name__ == "__main__":
    torch.manual_seed(0)
    policy_with_a_bonus()
    codes_straight_through()
    sequences_of_many_lengths()
    head_first_then_all()
print("evidence: done")
