# ok
# evidence: done
"""Masked token model with two task heads, accumulation, warm-up and early stopping."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, MASK, IGNORE = 13, 8, 0, -100


def sequences(n, gen):
    kind = torch.randint(0, 3, (n,), generator=gen)
    base = torch.randint(0, 4, (n, 1), generator=gen)
    motif = torch.tensor([[0, 1, 2, 3], [3, 1, 2, 0], [0, 3, 3, 1]])[kind]
    first = (motif + base) % 6 + 1
    return torch.cat([first, first + 6], dim=1), kind


def mask_tokens(tokens, gen, p=0.25):
    pick = torch.rand(tokens.shape, generator=gen) < p
    labels = tokens.masked_fill(~pick, IGNORE)
    return tokens.masked_fill(pick, MASK), labels


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, dim), nn.Parameter(torch.zeros(LENGTH, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True,
                                           norm_first=True)
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.token_head, self.kind_head = nn.Linear(dim, VOCAB), nn.Linear(dim, 3)
        self.log_var = nn.Parameter(torch.zeros(2))

    def forward(self, tokens):
        h = self.norm(self.body(self.tok(tokens) + self.pos))
        return self.token_head(h), self.kind_head(h.mean(1))

    def loss(self, tokens, labels, kind):
        token_logits, kind_logits = self(tokens)
        a = F.cross_entropy(token_logits.flatten(0, 1), labels.flatten(),
                            ignore_index=IGNORE, label_smoothing=0.05)
        b = F.cross_entropy(kind_logits, kind)
        w = torch.exp(-self.log_var)
        return w[0] * a + w[1] * b + self.log_var.sum()


def validate(model, data):
    model.eval()
    tokens, labels, kind = data
    with torch.no_grad():
        logits, s = model(tokens)
        live = labels != IGNORE
        nll = F.cross_entropy(logits[live], labels[live]).item()
        acc = (logits[live].argmax(1) == labels[live]).float().mean().item()
        return nll, acc, (s.argmax(1) == kind).float().mean().item()


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(2)
    model, accumulate, warm = Encoder(), 2, 8
    opt = torch.optim.AdamW(model.parameters(), lr=5e-3)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min(1.0, (s + 1) / warm))
    tokens, kind = sequences(200, gen)
    val = (*mask_tokens(tokens, gen), kind)
    best, best_state, bad = float("inf"), None, 0
    for epoch in range(10):
        model.train()
        opt.zero_grad()
        for micro in range(16):
            tokens, kind = sequences(32, gen)
            masked, labels = mask_tokens(tokens, gen)
            (model.loss(masked, labels, kind) / accumulate).backward()
            if (micro + 1) % accumulate == 0:
                nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                opt.step()
                opt.zero_grad()
                sched.step()
        nll, acc, kind_acc = validate(model, val)
        print(f"epoch {epoch:2d} val nll {nll:.4f} token acc {acc:.3f} kind acc {kind_acc:.3f}")
        if nll < best - 1e-3:
            best, best_state, bad = nll, copy.deepcopy(model.state_dict()), 0
        else:
            bad += 1
            if bad == 3:
                break
    model.load_state_dict(best_state)
    print(f"restored nll {validate(model, val)[0]:.4f} (best {best:.4f})")


if __name__ == "__main__":
    main()
print("evidence: done")
