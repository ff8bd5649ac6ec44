# ok
# evidence: score improved: True, min lr respected: True
import torch
import torch.nn.functional as F
from torch import nn


class Scorer(nn.Module):
    def __init__(self, d=8):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d, 16), nn.Tanh(), nn.Linear(16, 1, bias=False))

    def forward(self, x):
        return self.net(x).squeeze(-1)


class RankingTrainer:
    def __init__(self, model, relevance, lr=0.05):
        self.model, self.relevance = model, relevance
        self.opt = torch.optim.SGD(model.parameters(), lr=lr)
        self.sched = torch.optim.lr_scheduler.ReduceLROnPlateau(
            self.opt, mode="max", factor=0.3, patience=0, min_lr=1e-3)

    def pairs(self, n):
        a, b = torch.randn(n, 8), torch.randn(n, 8)
        sign = torch.sign(self.relevance(a) - self.relevance(b))
        return a, b, sign

    def epoch(self, batches=8):
        total = 0.0
        for _ in range(batches):
            a, b, sign = self.pairs(32)
            loss = F.margin_ranking_loss(self.model(a), self.model(b), sign, margin=0.5)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item()
        return total / batches

    @torch.no_grad()
    def concordance(self, a, b, sign):
        return (torch.sign(self.model(a) - self.model(b)) == sign).float().mean().item()


def main():
    torch.manual_seed(16)
    w = torch.randn(8)
    trainer = RankingTrainer(Scorer(), lambda x: x @ w)
    held_out = trainer.pairs(256)
    first = trainer.concordance(*held_out)
    for e in range(7):
        loss = trainer.epoch()
        score = trainer.concordance(*held_out)
        trainer.sched.step(score)
        print(f"epoch {e} hinge {loss:.4f} concordance {score:.3f} lr {trainer.opt.param_groups[0]['lr']:.4f}")
    print(f"score improved: {score > first}, min lr respected: {trainer.opt.param_groups[0]['lr'] >= 1e-3 - 1e-12}")


if __name__ == "__main__":
    main()
