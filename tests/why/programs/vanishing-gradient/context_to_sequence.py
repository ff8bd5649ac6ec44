# vanishing-gradient | gradient
# evidence: context network changed by more than 1e-6: False
# parameters: context.0.weight, context.0.bias, context.2.weight, context.2.bias
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(101)


class ContextRNN(nn.Module):
    """The context sets the first state; the answer is read after the last step."""

    def __init__(self, ctx_dim=6, n_in=3, hidden=20, classes=4):
        super().__init__()
        self.context = nn.Sequential(nn.Linear(ctx_dim, 16), nn.Tanh(), nn.Linear(16, hidden))
        self.cell = nn.RNNCell(n_in, hidden)  #C
        self.readout = nn.Linear(hidden, classes)

    def forward(self, ctx, seq):
        h = torch.tanh(self.context(ctx))
        for t in range(seq.size(1)):  #C
            h = self.cell(seq[:, t], h)  #C
        return self.readout(h)


def recall_batch(n, length=60):
    ctx = torch.randn(n, 6)
    y = ctx[:, :4].argmax(dim=1)
    return ctx, 0.5 * torch.randn(n, length, 3), y


class Run:
    def __init__(self, lr=0.1, momentum=0.9):
        self.model = ContextRNN()
        self.opt = torch.optim.SGD(self.model.parameters(), lr=lr, momentum=momentum)
        self.initial = [p.detach().clone() for p in self.model.context.parameters()]

    def step(self):
        ctx, seq, y = recall_batch(32)
        logits = self.model(ctx, seq)
        loss = F.cross_entropy(logits, y)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item(), (logits.argmax(1) == y).float().mean().item()

    def context_change(self):
        pairs = zip(self.initial, self.model.context.parameters())
        return max((a - b).abs().max().item() for a, b in pairs)


def main():
    run = Run()
    for step in range(30):
        loss, acc = run.step()
        if step % 10 == 0:
            print(f"step {step} loss {loss:.4f} acc {acc:.2f}")
    print("context network changed by more than 1e-6:", run.context_change() > 1e-6)


if __name__ == "__main__":
    main()
