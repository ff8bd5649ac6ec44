# masked-all, class-ignored | mask/masked, pad/padding/inverted
# evidence: real target tokens counted in the loss: 0
import torch
from torch import nn
import torch.nn.functional as F

PAD, BOS = 0, 1


class Seq2Seq(nn.Module):
    """GRU encoder and decoder; the task is to reverse a sequence of symbols."""

    def __init__(self, vocab=12, dim=16, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.encoder = nn.GRU(dim, hidden, batch_first=True)
        self.decoder = nn.GRU(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, src, dec_in):
        _, h = self.encoder(self.embed(src))
        states, _ = self.decoder(self.embed(dec_in), h)
        return self.out(states)


def make_batch(n=24, max_len=6):
    lengths = torch.randint(2, max_len, (n,))
    src = torch.full((n, max_len), PAD)
    tgt = torch.full((n, max_len), PAD)
    for i, length in enumerate(lengths.tolist()):
        seq = torch.randint(2, 12, (length,))
        src[i, :length] = seq
        tgt[i, :length] = seq.flip(0)
    dec_in = torch.cat([torch.full((n, 1), BOS), tgt[:, :-1]], dim=1)
    return src, dec_in, tgt


def sequence_loss(logits, tgt):
    per_token = F.cross_entropy(logits.transpose(1, 2), tgt, reduction="none")
    mask = tgt.eq(PAD).float()  #C
    return (per_token * mask).sum() / mask.sum(), mask  #C


def train(model, steps=60, lr=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    counted = 0
    for step in range(steps):
        src, dec_in, tgt = make_batch()
        logits = model(src, dec_in)
        loss, mask = sequence_loss(logits, tgt)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        counted += int((mask.bool() & (tgt != PAD)).sum())
        if step % 15 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
    return counted


def main():
    torch.manual_seed(0)
    model = Seq2Seq()
    counted = train(model)
    src, dec_in, tgt = make_batch(64)
    with torch.no_grad():
        pred = model(src, dec_in).argmax(-1)
    print(f"token accuracy {(pred == tgt)[tgt != PAD].float().mean().item():.2f}")
    print("real target tokens counted in the loss:", counted)


if __name__ == "__main__":
    main()
