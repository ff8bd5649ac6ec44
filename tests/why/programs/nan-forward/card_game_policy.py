# nan-forward | log, nan/inf/finite
# evidence: policy weights finite: False
import torch
import torch.nn as nn
from torch import optim

torch.manual_seed(3)

N_CARDS = 6
HAND_DIM = 10


class Policy(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(HAND_DIM, hidden), nn.Tanh())
        self.logits = nn.Linear(hidden, N_CARDS)

    def forward(self, hand, legal):
        scores = self.logits(self.body(hand))
        scores = scores.masked_fill(~legal, float("-inf"))
        return torch.softmax(scores, dim=-1)


def entropy(probs):
    return -(probs * torch.log(probs)).sum(dim=-1).mean()  #C


def deal(n):
    hand = torch.randn(n, HAND_DIM)
    legal = torch.rand(n, N_CARDS) > 0.3
    legal[:, 0] = True
    return hand, legal


def choose(probs, legal, eps):
    greedy = probs.argmax(dim=-1)
    random_legal = (legal.float() + torch.rand(legal.shape)).argmax(dim=-1)
    explore = torch.rand(len(probs)) < eps
    return torch.where(explore, random_legal, greedy)


def play(hand, actions):
    best = hand[:, :N_CARDS].argmax(dim=-1)
    return (actions == best).float()


def main():
    policy = Policy()
    opt = optim.Adam(policy.parameters(), lr=1e-2)
    for it in range(20):
        hand, legal = deal(64)
        probs = policy(hand, legal)
        actions = choose(probs.detach(), legal, eps=0.3)
        reward = play(hand, actions)
        chosen = probs.gather(1, actions[:, None]).squeeze(1)
        advantage = reward - reward.mean()
        pg_loss = -(advantage * torch.log(chosen)).mean()
        loss = pg_loss - 0.01 * entropy(probs)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if it % 5 == 0:
            print(f"iter {it} loss {loss.item():.4f} reward {reward.mean().item():.3f}")
    finite = all(torch.isfinite(p).all().item() for p in policy.parameters())
    print("policy weights finite:", finite)


if __name__ == "__main__":
    main()
