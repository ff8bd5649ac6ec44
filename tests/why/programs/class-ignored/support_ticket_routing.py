# class-ignored | class/weight, 0/zero/ignored
# evidence: tickets of class 0 in training: True, loss weight of class 0: 0.0
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

QUEUES = ["billing", "login", "delivery", "other"]


class TicketRouter(nn.Module):
    def __init__(self, vocab=60, dim=12, n_queues=4):
        super().__init__()
        self.bag = nn.EmbeddingBag(vocab, dim, mode="mean")
        self.hidden = nn.Linear(dim, 24)
        self.out = nn.Linear(24, n_queues)

    def forward(self, tokens):
        return self.out(torch.tanh(self.hidden(self.bag(tokens))))


def make_tickets(sizes, words=8):
    tokens, queue = [], []
    for k, n in enumerate(sizes):
        own = torch.randint(k * 15, k * 15 + 15, (n, words - 3))
        rest = torch.randint(0, 60, (n, 3))
        tokens.append(torch.cat([own, rest], dim=1))
        queue.append(torch.full((n,), k, dtype=torch.long))
    order = torch.randperm(sum(sizes))
    return torch.cat(tokens)[order], torch.cat(queue)[order]


def class_weights(queue, n_queues):
    """Frequent queues get less weight than rare ones."""
    counts = torch.bincount(queue, minlength=n_queues).float()
    return (counts.max() - counts) / counts.max()  #C


class Trainer:
    def __init__(self, model, criterion, lr):
        self.model = model
        self.criterion = criterion
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)

    def epoch(self, loader):
        self.model.train()
        losses = []
        for tokens, queue in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(tokens), queue)
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    @torch.no_grad()
    def recall(self, tokens, queue):
        self.model.eval()
        pred = self.model(tokens).argmax(dim=1)
        return [(pred[queue == k] == k).float().mean().item() for k in range(len(QUEUES))]


def main():
    torch.manual_seed(0)
    tokens, queue = make_tickets([90, 40, 30, 20])
    loader = DataLoader(TensorDataset(tokens, queue), batch_size=30, shuffle=True)
    weight = class_weights(queue, len(QUEUES))
    trainer = Trainer(TicketRouter(), nn.CrossEntropyLoss(weight=weight), lr=2e-2)  #C
    for epoch in range(6):
        loss = trainer.epoch(loader)
        print(f"epoch {epoch}: weighted loss {loss:.4f}")
    for name, r in zip(QUEUES, trainer.recall(*make_tickets([25, 25, 25, 25]))):
        print(f"  {name}: recall {r:.2f}")
    print(f"tickets of class 0 in training: {bool((queue == 0).any())}, loss weight of class 0: {weight[0].item()}")


if __name__ == "__main__":
    main()
