# module-repeated | same/share/repeat/once/only one/one module
# evidence: layers with weights of their own: 1
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class ModelConfig:
    vocab: int = 10
    length: int = 6
    dim: int = 16
    heads: int = 2
    layers: int = 4


class SortTransformer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.tok = nn.Embedding(cfg.vocab, cfg.dim)
        self.pos = nn.Embedding(cfg.length, cfg.dim)
        layer = nn.TransformerEncoderLayer(
            cfg.dim, cfg.heads, dim_feedforward=32, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.ModuleList([layer] * cfg.layers)  #C
        self.head = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, idx):
        h = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        for layer in self.layers:
            h = layer(h)
        return self.head(h)


def train(cfg, steps=30):
    model = SortTransformer(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for step in range(steps):
        idx = torch.randint(0, cfg.vocab, (16, cfg.length))
        target = idx.sort(dim=1).values
        loss = F.cross_entropy(model(idx).flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    return model


def main():
    torch.manual_seed(111)
    model = train(ModelConfig())
    own = {id(layer.linear1.weight) for layer in model.layers}
    print("layers with weights of their own:", len(own))


if __name__ == "__main__":
    main()
