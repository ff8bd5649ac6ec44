# retain-graph-needless, graph-kept | retain_graph/retain graph/retained
# evidence: last chunk can be differentiated once more: True
import torch
import torch.nn as nn
import torch.nn.functional as F


class Counter(nn.Module):
    """Pulses within the last two ticks (0, 1 or 2), read from a long stream in chunks."""

    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 3)

    def forward(self, x, state):
        h, state = self.rnn(x, state)
        return self.out(h), state


def stream(batch=8, length=60):
    pulses = (torch.rand(batch, length) < 0.3).float()
    return pulses.unsqueeze(-1), (pulses + F.pad(pulses, (1, 0))[:, :-1]).long()


class TruncatedBPTT:
    def __init__(self, model, chunk=10, lr=1e-2):
        self.model, self.chunk = model, chunk
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def run(self, x, y):
        state, total, n = None, 0.0, 0
        for xc, yc in zip(x.split(self.chunk, dim=1), y.split(self.chunk, dim=1)):
            logits, state = self.model(xc, state)
            loss = F.cross_entropy(logits.flatten(0, 1), yc.flatten())
            self.optimizer.zero_grad()
            loss.backward(retain_graph=True)  #C
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            state = state.detach()
            total, n = total + loss.item(), n + 1
        self.last = loss, logits
        return total / n

    def differentiable_again(self):
        loss, logits = self.last
        try:
            torch.autograd.grad(loss, logits)
            return True
        except RuntimeError:
            return False


def main():
    torch.manual_seed(55)
    bptt = TruncatedBPTT(Counter())
    for it in range(8):
        print(f"sequence {it} loss {bptt.run(*stream()):.4f}")
    print("last chunk can be differentiated once more:", bptt.differentiable_again())


if __name__ == "__main__":
    main()
