# grad-mode-off | no_grad/grad mode/gradient mode/recording
# evidence: encoder moved: False
# parameters: encoder.conv.weight, encoder.conv.bias, encoder.proj.weight, encoder.proj.bias
import contextlib
from dataclasses import dataclass
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    freeze_updates: int = 10
    total_updates: int = 50
    lr: float = 3e-3
    batch: int = 24
    seed: int = 20


class FrameEncoder(nn.Module):
    def __init__(self, ch=12, dim=16):
        super().__init__()
        self.conv = nn.Conv1d(1, ch, 6, stride=3)
        self.proj = nn.Linear(ch, dim)

    def forward(self, wave):
        return self.proj(F.gelu(self.conv(wave[:, None])).transpose(1, 2))


class Recognizer(nn.Module):
    def __init__(self, cfg, classes=3):
        super().__init__()
        self.cfg = cfg
        self.num_updates = 0
        self.encoder = FrameEncoder()
        self.out = nn.Linear(16, classes)

    def set_num_updates(self, n):
        self.num_updates = n

    def forward(self, wave):
        frozen = self.num_updates < self.cfg.freeze_updates
        with torch.no_grad() if frozen else contextlib.nullcontext():  #C
            h = self.encoder(wave)  #C
        return self.out(h.mean(dim=1))


def pulses(n, length=48):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(length).float()
    period = (4.0 + 4.0 * y.float())[:, None]
    shift = torch.rand(n, 1) * 6
    return ((t + shift) % period < 2).float() + 0.1 * torch.randn(n, length), y


class Trainer:
    def __init__(self, cfg):
        torch.manual_seed(cfg.seed)
        self.cfg = cfg
        self.model = Recognizer(cfg)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)
        self.num_updates = 0

    def train_step(self):
        wave, y = pulses(self.cfg.batch)
        loss = F.cross_entropy(self.model(wave), y)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.num_updates += 1  #C
        return loss.item()

    def run(self):
        for _ in range(self.cfg.total_updates):
            loss = self.train_step()
            if self.num_updates % 10 == 0:
                print(f"update {self.num_updates} loss {loss:.4f}")


def main():
    trainer = Trainer(Config())
    start = trainer.model.encoder.conv.weight.detach().clone()
    trainer.run()
    print("encoder moved:", not torch.equal(start, trainer.model.encoder.conv.weight))


if __name__ == "__main__":
    main()
