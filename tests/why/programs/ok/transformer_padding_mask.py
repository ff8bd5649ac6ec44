# ok
# evidence: padding does not change outputs: True, padding row stayed zero: True, loss went down: True
import torch
import torch.nn as nn

PAD = 0


class TextEncoder(nn.Module):
    def __init__(self, vocab=30, dim=16, heads=2, length=10):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim, padding_idx=PAD)
        self.pos = nn.Embedding(length, dim)
        self.attn = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, 32), nn.GELU(), nn.Linear(32, dim))
        self.cls = nn.Linear(dim, 2)

    def forward(self, ids):
        pad = ids == PAD
        h = self.tok(ids) + self.pos(torch.arange(ids.shape[1]))
        a, _ = self.attn(h, h, h, key_padding_mask=pad, need_weights=False)
        h = self.norm1(h + a)
        h = self.norm2(h + self.ff(h))
        keep = (~pad).unsqueeze(-1).float()
        pooled = (h * keep).sum(1) / keep.sum(1)
        return self.cls(pooled)


def sentences(n, vocab=30, length=10):
    ids = torch.randint(1, vocab, (n, length))
    lengths = torch.randint(2, length - 1, (n,))
    ids[torch.arange(length)[None, :] >= lengths[:, None]] = PAD
    return ids, ((ids == 7) | (ids == 8) | (ids > 20)).float().sum(1).gt(0.35 * lengths).long()


def main():
    torch.manual_seed(91)
    model = TextEncoder()
    opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(60):
        ids, y = sentences(32)
        loss = nn.functional.cross_entropy(model(ids), y)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        losses.append(loss.item())
        if step % 12 == 0:
            print(f"step {step} loss {losses[-1]:.4f}")
    with torch.no_grad():
        ids, _ = sentences(16)
        ids[:, -1] = PAD
        same = torch.allclose(model(ids), model(ids[:, :-1]), atol=1e-4)
        zero_row = bool((model.tok.weight[PAD] == 0).all())
    print(f"padding does not change outputs: {same}, padding row stayed zero: {zero_row}, "
          f"loss went down: {sum(losses[-10:]) < sum(losses[:10])}")


if __name__ == "__main__":
    main()
