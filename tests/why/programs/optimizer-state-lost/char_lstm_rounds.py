# optimizer-state-lost | state, load_state_dict/empty/reset/lost/cleared
# evidence: adam step counter after 30 steps: 5
import copy
import torch
from torch import nn
import torch.nn.functional as F

TEXT = "the quick brown fox jumps over the lazy dog and then the dog sleeps while the fox runs home again "


class CharLSTM(nn.Module):
    def __init__(self, vocab, dim=16, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, ids):
        h, _ = self.rnn(self.embed(ids))
        return self.out(h)


def encode(text):
    chars = sorted(set(text))
    table = {c: i for i, c in enumerate(chars)}
    return torch.tensor([table[c] for c in text]), len(chars)


def sample_windows(data, batch, length):
    starts = torch.randint(0, len(data) - length - 1, (batch,)).tolist()
    x = torch.stack([data[s:s + length] for s in starts])
    y = torch.stack([data[s + 1:s + length + 1] for s in starts])
    return x, y


class Trainer:
    def __init__(self, model, data, lr):
        self.model = model
        self.data = data
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.initial = copy.deepcopy(self.optimizer.state_dict())
        self.scheduler = None

    def begin_round(self, decay_steps):
        # every round anneals the learning rate again from its first value
        self.optimizer.load_state_dict(self.initial)  #C
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=decay_steps, eta_min=1e-3)

    def run_round(self, steps):
        self.begin_round(steps)
        self.model.train()
        losses = []
        for _ in range(steps):
            x, y = sample_windows(self.data, batch=8, length=12)
            logits = self.model(x)
            loss = F.cross_entropy(logits.flatten(0, 1), y.flatten())
            self.optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.scheduler.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)


def main():
    torch.manual_seed(0)
    data, vocab = encode(TEXT)
    trainer = Trainer(CharLSTM(vocab), data, lr=5e-3)
    for r in range(6):
        mean = trainer.run_round(steps=5)
        print(f"round {r}: mean loss {mean:.3f}")
    counter = trainer.optimizer.state[trainer.model.out.weight]["step"]
    print("adam step counter after 30 steps:", int(counter))


if __name__ == "__main__":
    main()
