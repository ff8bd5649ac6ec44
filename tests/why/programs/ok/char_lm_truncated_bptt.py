# ok
# evidence: state carried over windows: True, loss went down: True
import torch
import torch.nn as nn

TEXT = "the quick brown fox jumps over the lazy dog and runs away from the quick red fox. " * 6


class CharLSTM(nn.Module):
    def __init__(self, vocab, dim=16, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids, state=None):
        h, state = self.lstm(self.embed(ids), state)
        return self.out(h), state


def repackage(state):
    return tuple(s.detach() for s in state)


def batchify(ids, rows):
    n = len(ids) // rows
    return ids[:n * rows].view(rows, n)


def main():
    torch.manual_seed(5)
    chars = sorted(set(TEXT))
    lookup = {c: i for i, c in enumerate(chars)}
    stream = batchify(torch.tensor([lookup[c] for c in TEXT]), rows=4)
    window = 12
    model = CharLSTM(len(chars))
    optimizer = torch.optim.Adam(model.parameters(), lr=8e-3)
    criterion = nn.CrossEntropyLoss()
    epoch_loss, carried = [], False
    for epoch in range(5):
        state, total, n = None, 0.0, 0
        for start in range(0, stream.shape[1] - window - 1, window):
            x = stream[:, start:start + window]
            y = stream[:, start + 1:start + window + 1]
            if state is not None:
                state = repackage(state)            # gradients stop at the window's border
                carried = carried or bool(state[0].abs().sum() > 0)
            logits, state = model(x, state)
            loss = criterion(logits.reshape(-1, len(chars)), y.reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total, n = total + loss.item(), n + 1
        epoch_loss.append(total / n)
        print(f"epoch {epoch} loss {epoch_loss[-1]:.3f}")
    print(f"state carried over windows: {carried}, loss went down: {epoch_loss[-1] < epoch_loss[0]}")


if __name__ == "__main__":
    main()
