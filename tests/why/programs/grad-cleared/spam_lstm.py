# grad-cleared | zero_grad/cleared/zeroed/erased, step
# evidence: weights changed by training: False
import torch
import torch.nn as nn
import torch.nn.functional as F


class SpamLSTM(nn.Module):
    def __init__(self, vocab=30, dim=12, hidden=16):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, 1)

    def forward(self, tokens):
        out, (h, _) = self.lstm(self.embedding(tokens))
        return self.fc(h[-1]).squeeze(-1)


def sample_mail(batch=16, length=9):
    tokens = torch.randint(0, 30, (batch, length))
    spam = (tokens < 4).any(dim=1).float()
    return tokens, spam


def fit(model, steps=20):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(steps):
        tokens, spam = sample_mail()
        logits = model(tokens)
        loss = F.binary_cross_entropy_with_logits(logits, spam)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.zero_grad()  #C
        optimizer.step()  #C
        if step % 5 == 0:
            acc = ((logits > 0).float() == spam).float().mean().item()
            print(f"step {step} loss {loss.item():.3f} acc {acc:.2f}")


def main():
    torch.manual_seed(0)
    model = SpamLSTM()
    start = {k: v.clone() for k, v in model.state_dict().items()}
    fit(model)
    moved = any(not torch.equal(start[k], v) for k, v in model.state_dict().items())
    print("weights changed by training:", moved)


if __name__ == "__main__":
    main()
