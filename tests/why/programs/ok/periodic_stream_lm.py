# ok
# evidence: loss went down: True
import torch
from torch import nn


class StatefulLM(nn.Module):
    def __init__(self, vocab=8, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, 16)
        self.lstm = nn.LSTM(16, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, x, state=None):
        h, state = self.lstm(self.emb(x), state)
        return self.out(h), state


def detach_state(state):
    return tuple(s.detach() for s in state)


def make_stream(batch=8, length=201):
    # period-5 pattern with random phase for each row
    base = torch.tensor([0, 3, 1, 7, 5])
    phase = torch.randint(0, 5, (batch, 1))
    return base[(torch.arange(length) + phase) % 5]


def train(model, stream, bptt=10, epochs=4):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(epochs):
        state, total, n = None, 0.0, 0
        for t in range(0, stream.size(1) - 1, bptt):
            x, y = stream[:, t:t + bptt], stream[:, t + 1:t + 1 + bptt]
            if state is not None:
                state = detach_state(state)
            logits, state = model(x, state)
            loss = nn.functional.cross_entropy(logits.transpose(1, 2), y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total, n = total + loss.item(), n + 1
        print(f"epoch {epoch} loss {total / n:.4f}")
    print("loss went down:", total / n < 1.0)


if __name__ == "__main__":
    torch.manual_seed(5)
    train(StatefulLM(), make_stream())
