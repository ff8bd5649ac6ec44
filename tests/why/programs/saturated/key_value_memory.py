# saturated, zero-local-derivative, vanishing-gradient | softmax, saturat/one-hot/temperature/large/scale
# evidence: lookups that put all weight on one slot above 99 percent: True
# parameters: query.weight, key.weight
from dataclasses import dataclass
import torch
from torch import nn
import torch.nn.functional as F


@dataclass
class Config:
    slots: int = 6
    dim: int = 16
    n_values: int = 5
    temperature: float = 1e-6  #C
    lr: float = 0.05
    steps: int = 60


class KeyValueMemory(nn.Module):
    """Looks up the value whose key fits the question."""

    def __init__(self, cfg):
        super().__init__()
        self.query = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.key = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.value = nn.Embedding(cfg.n_values, cfg.dim)
        self.out = nn.Linear(cfg.dim, cfg.n_values)
        self.temperature = cfg.temperature

    def forward(self, question, keys, values):
        q = self.query(question).unsqueeze(1)
        k = self.key(keys)
        scores = (q * k).sum(dim=-1) / self.temperature
        self.attention = F.softmax(scores, dim=-1)  #C
        read = torch.einsum("bs,bsd->bd", self.attention, self.value(values))
        return self.out(read)


def make_batch(cfg, n=48):
    keys = torch.randn(n, cfg.slots, cfg.dim)
    values = torch.randint(0, cfg.n_values, (n, cfg.slots))
    slot = torch.randint(0, cfg.slots, (n,))
    question = keys[torch.arange(n), slot] + 0.05 * torch.randn(n, cfg.dim)
    return question, keys, values, values[torch.arange(n), slot]


def main():
    torch.manual_seed(0)
    cfg = Config()
    model = KeyValueMemory(cfg)
    single = 0
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    for step in range(cfg.steps):
        question, keys, values, answer = make_batch(cfg)
        logits = model(question, keys, values)
        loss = F.cross_entropy(logits, answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        single += int((model.attention.max(dim=1).values > 0.9999).sum())
        if step % 15 == 0:
            accuracy = (logits.argmax(1) == answer).float().mean().item()
            print(f"step {step}: loss {loss.item():.3f} accuracy {accuracy:.2f}")
    share = single / (cfg.steps * 48)
    print("lookups that put all weight on one slot above 99 percent:", share > 0.99)


if __name__ == "__main__":
    main()
