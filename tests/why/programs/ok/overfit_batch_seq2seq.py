# ok
# evidence: batch memorised: True
import torch
import torch.nn.functional as F
from torch import nn

BOS, VOCAB = 0, 9


class Seq2Seq(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.src, self.tgt = nn.Embedding(VOCAB, dim), nn.Embedding(VOCAB, dim)
        self.enc, self.dec = nn.GRU(dim, dim, batch_first=True), nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, src, tgt_in):
        _, h = self.enc(self.src(src))
        y, _ = self.dec(self.tgt(tgt_in), h)
        return self.out(y)


def sanity_run(model, src, tgt, steps):
    """Overfit a single batch: the same four pairs in every step, until the loss is next to nothing."""
    tgt_in = torch.cat([torch.full_like(tgt[:, :1], BOS), tgt[:, :-1]], dim=1)
    opt = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        loss = F.cross_entropy(model(src, tgt_in).transpose(1, 2), tgt)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 20 == 19:
            print(f"{step + 1} {loss.item():.4f}")
    return (model(src, tgt_in).argmax(-1) == tgt).all().item()


def main():
    torch.manual_seed(6)
    src = torch.randint(1, VOCAB, (4, 5))
    ok = sanity_run(Seq2Seq(), src, src.flip(1), steps=60)
    print(f"batch memorised: {ok}")


if __name__ == "__main__":
    main()
