# clip-too-tight | clip, norm/max_norm/tight/small
# evidence: largest change of any weight below 1e-5: True
from dataclasses import dataclass
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class TrainConfig:
    vocab: int = 40
    length: int = 10
    hidden: int = 24
    lr: float = 0.5
    epochs: int = 4
    max_grad_norm: float = 1e-6  #C


class SentimentGRU(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embedding = nn.Embedding(cfg.vocab, 16)
        self.gru = nn.GRU(16, cfg.hidden, batch_first=True)
        self.head = nn.Linear(cfg.hidden, 2)

    def forward(self, tokens):
        _, last = self.gru(self.embedding(tokens))
        return self.head(last.squeeze(0))


def make_reviews(cfg, n):
    """Tokens below 20 are friendly words; the majority decides the label."""
    tokens = torch.randint(0, cfg.vocab, (n, cfg.length))
    labels = ((tokens < cfg.vocab // 2).float().mean(dim=1) > 0.5).long()
    return TensorDataset(tokens, labels)


class Trainer:
    def __init__(self, model, cfg):
        self.model, self.cfg = model, cfg
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr)
        self.criterion = nn.CrossEntropyLoss()

    def train_step(self, tokens, labels):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.criterion(self.model(tokens), labels)
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.max_grad_norm)  #C
        self.optimizer.step()
        return loss.item()

    def fit(self, loader):
        for epoch in range(self.cfg.epochs):
            self.model.train()
            losses = [self.train_step(t, l) for t, l in loader]
            print(f"epoch {epoch}: train loss {sum(losses) / len(losses):.4f}")


def main():
    torch.manual_seed(0)
    cfg = TrainConfig()
    loader = DataLoader(make_reviews(cfg, 128), batch_size=16, shuffle=True)
    model = SentimentGRU(cfg)
    before = {n: p.detach().clone() for n, p in model.named_parameters()}
    Trainer(model, cfg).fit(loader)
    change = max((p.detach() - before[n]).abs().max().item() for n, p in model.named_parameters())
    print("largest change of any weight below 1e-5:", change < 1e-5)


if __name__ == "__main__":
    main()
