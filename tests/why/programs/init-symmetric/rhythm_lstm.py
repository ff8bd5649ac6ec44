# init-symmetric | constant/same/identical/equal/symmetr
# evidence: distinct hidden states per step: 1
# parameters: lstm.weight_ih_l0, lstm.weight_hh_l0
import torch
import torch.nn as nn
import torch.nn.functional as F


class RhythmModel(nn.Module):
    """Will the next beat be accented?"""

    def __init__(self, hidden=10):
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        self.init_parameters()

    def init_parameters(self, value=0.1):
        for name, p in self.named_parameters():
            if "weight" in name:
                nn.init.constant_(p, value)  #C
            else:
                nn.init.zeros_(p)

    def forward(self, beats):
        h, _ = self.lstm(beats)
        return self.out(h).squeeze(-1), h


def rhythms(n=24, length=12):
    period = torch.randint(2, 5, (n, 1))
    t = torch.arange(length + 1)
    accent = ((t % period) == 0).float()
    x = torch.stack([accent[:, :-1], torch.rand(n, length)], dim=-1)
    return x, accent[:, 1:]


def train(model, steps=40):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        x, y = rhythms()
        logits, _ = model(x)
        loss = F.binary_cross_entropy_with_logits(logits, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss.item():.4f}")


def distinct_units(h, tol=1e-3):
    units = h.detach().reshape(-1, h.size(-1)).t()
    kept = []
    for u in units:
        if all((u - k).abs().max() > tol for k in kept):
            kept.append(u)
    return len(kept)


def main():
    torch.manual_seed(89)
    model = RhythmModel()
    train(model)
    _, h = model(rhythms()[0])
    print("distinct hidden states per step:", distinct_units(h))


if __name__ == "__main__":
    main()
