# optimizer-recreated | optimizer, step/recreated/new/again/each
# evidence: adamw step counter after 30 updates: 1
import torch
from torch import nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, n_in=20, dim=12):
        super().__init__()
        self.backbone = nn.Sequential(nn.Linear(n_in, 32), nn.GELU(), nn.Linear(32, 32), nn.GELU())
        self.projector = nn.Linear(32, dim)

    def forward(self, x):
        return F.normalize(self.projector(self.backbone(x)), dim=1)


def two_views(batch, noise=0.3):
    a = batch + noise * torch.randn_like(batch)
    b = batch + noise * torch.randn_like(batch)
    return a, b


def info_nce(za, zb, temperature=0.2):
    logits = za @ zb.t() / temperature
    labels = torch.arange(len(za))
    return 0.5 * (F.cross_entropy(logits, labels) + F.cross_entropy(logits.t(), labels))


class ContrastiveLearner:
    def __init__(self, encoder, lr=3e-3, weight_decay=1e-4):
        self.encoder = encoder
        self.lr = lr
        self.weight_decay = weight_decay
        self.history = []

    def configure_optimizer(self):
        return torch.optim.AdamW(self.encoder.parameters(), lr=self.lr, weight_decay=self.weight_decay)  #C

    def training_step(self, batch):
        self.optimizer = self.configure_optimizer()  #C
        a, b = two_views(batch)
        loss = info_nce(self.encoder(a), self.encoder(b))
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history.append(loss.item())


@torch.no_grad()
def retrieval_accuracy(encoder, data):
    a, b = two_views(data)
    sim = encoder(a) @ encoder(b).t()
    return (sim.argmax(1) == torch.arange(len(data))).float().mean().item()


def main():
    torch.manual_seed(0)
    data = torch.randn(120, 20)
    learner = ContrastiveLearner(Encoder())
    for epoch in range(5):
        for batch in data[torch.randperm(len(data))].split(20):
            learner.training_step(batch)
        recent = sum(learner.history[-6:]) / 6
        print(f"epoch {epoch}: loss {recent:.4f}, retrieval {retrieval_accuracy(learner.encoder, data[:40]):.2f}")
    state = learner.optimizer.state[learner.encoder.projector.weight]
    print(f"adamw step counter after {len(learner.history)} updates: {int(state['step'])}")


if __name__ == "__main__":
    main()
