# clip-misplaced | clip, backward
# evidence: every update stayed within the clipping bound: False
import torch
import torch.nn as nn
import torch.nn.functional as F

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the bear " * 4
CHARS = sorted(set(TEXT))
MAX_NORM = 0.25
LR = 0.5


class CharRNN(nn.Module):
    def __init__(self, n_chars, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(n_chars, 12)
        self.rnn = nn.RNN(12, hidden, batch_first=True)
        self.out = nn.Linear(hidden, n_chars)

    def forward(self, x):
        h, _ = self.rnn(self.embed(x))
        return self.out(h)


def get_batch(data, batch=8, length=12):
    starts = torch.randint(0, len(data) - length - 1, (batch,)).tolist()
    x = torch.stack([data[s:s + length] for s in starts])
    y = torch.stack([data[s + 1:s + length + 1] for s in starts])
    return x, y


def flat(model):
    return torch.cat([p.detach().flatten() for p in model.parameters()])


def main():
    torch.manual_seed(2)
    data = torch.tensor([CHARS.index(c) for c in TEXT])
    model = CharRNN(len(CHARS))
    optimizer = torch.optim.SGD(model.parameters(), lr=LR)
    longest = 0.0
    for step in range(25):
        x, y = get_batch(data)
        logits = model(x)
        loss = F.cross_entropy(logits.reshape(-1, len(CHARS)), y.reshape(-1))
        optimizer.zero_grad()
        nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)  #C
        loss.backward()  #C
        before = flat(model)
        optimizer.step()
        longest = max(longest, (flat(model) - before).norm().item())
        if step % 5 == 0:
            print(f"step {step:2d} loss {loss.item():.4f}")
    print("every update stayed within the clipping bound:", longest <= LR * MAX_NORM * 1.01)


if __name__ == "__main__":
    main()
