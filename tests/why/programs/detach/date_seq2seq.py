# detach | detach
# evidence: encoder moved: False
# parameters: src_emb.weight, encoder.weight_ih_l0, encoder.weight_hh_l0, encoder.bias_ih_l0, encoder.bias_hh_l0
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(31)

BOS = 10


def repackage_hidden(h):
    """Carry the state over without its history."""
    if isinstance(h, tuple):
        return tuple(repackage_hidden(v) for v in h)
    return h.detach()  #C


class Seq2Seq(nn.Module):
    def __init__(self, vocab=11, dim=12, hidden=32):
        super().__init__()
        self.src_emb = nn.Embedding(vocab, dim)
        self.tgt_emb = nn.Embedding(vocab, dim)
        self.encoder = nn.LSTM(dim, hidden, batch_first=True)
        self.decoder = nn.LSTM(dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, src, tgt_in):
        _, state = self.encoder(self.src_emb(src))
        state = repackage_hidden(state)  #C
        h, _ = self.decoder(self.tgt_emb(tgt_in), state)
        return self.out(h)


def date_batch(n):
    day = torch.randint(0, 10, (n, 2))
    month = torch.randint(0, 10, (n, 2))
    src = torch.cat([day, month], dim=1)
    tgt = torch.cat([month, day], dim=1)
    bos = torch.full((n, 1), BOS)
    return src, torch.cat([bos, tgt[:, :-1]], dim=1), tgt


def train(model, steps=50, lr=5e-3):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for step in range(1, steps + 1):
        src, tgt_in, tgt = date_batch(64)
        logits = model(src, tgt_in)
        loss = F.cross_entropy(logits.reshape(-1, 11), tgt.reshape(-1))
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        opt.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")


def main():
    model = Seq2Seq()
    start = {k: v.clone() for k, v in model.encoder.state_dict().items()}
    train(model)
    end = model.encoder.state_dict()
    print("encoder moved:", any(not torch.equal(start[k], end[k]) for k in start))


if __name__ == "__main__":
    main()
