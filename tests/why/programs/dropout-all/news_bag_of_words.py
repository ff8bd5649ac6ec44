# dropout-all, zero-factor, output-constant | dropout, 1.0/p=1/all/everything/every/keep
# evidence: logits identical for all training samples in train mode: True
# parameters: project.weight, project.bias, output.weight
from dataclasses import dataclass
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    vocab: int = 50
    hidden: int = 20
    topics: int = 4
    keep_prob: float = 1.0  #C
    lr: float = 1e-2
    epochs: int = 6


class TopicClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.project = nn.Linear(cfg.vocab, cfg.hidden)
        self.dropout = nn.Dropout(cfg.keep_prob)  #C
        self.output = nn.Linear(cfg.hidden, cfg.topics)

    def forward(self, counts):
        h = torch.tanh(self.project(counts))
        return self.output(self.dropout(h))


def make_corpus(cfg, n):
    """Every topic prefers its own range of the vocabulary."""
    topic = torch.randint(0, cfg.topics, (n,))
    counts = torch.zeros(n, cfg.vocab)
    width = cfg.vocab // cfg.topics
    for i, t in enumerate(topic.tolist()):
        own = torch.randint(t * width, (t + 1) * width, (8,))
        other = torch.randint(0, cfg.vocab, (6,))
        for w in torch.cat([own, other]).tolist():
            counts[i, w] += 1
    return TensorDataset(counts, topic)


def main():
    cfg = Config()
    torch.manual_seed(0)
    train_set = make_corpus(cfg, 120)
    loader = DataLoader(train_set, batch_size=20, shuffle=True)
    model = TopicClassifier(cfg)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=cfg.lr)
    criterion = nn.CrossEntropyLoss()
    spread = 0.0
    for epoch in range(cfg.epochs):
        model.train()
        total = 0.0
        for counts, topic in loader:
            logits = model(counts)
            loss = criterion(logits, topic)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            spread = max(spread, (logits - logits[0]).abs().max().item())
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")
    print("logits identical for all training samples in train mode:", spread == 0.0)


if __name__ == "__main__":
    main()
