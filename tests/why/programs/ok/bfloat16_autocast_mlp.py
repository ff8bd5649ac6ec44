# ok
# evidence: activations in bfloat16: True, weights in float32: True, loss went down: True
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self, d=16, h=48, c=5):
        super().__init__()
        self.fc1, self.fc2, self.fc3 = nn.Linear(d, h), nn.Linear(h, h), nn.Linear(h, c)
        self.seen = None

    def forward(self, x):
        x = F.gelu(self.fc1(x))
        x = self.fc2(x)
        self.seen = x.dtype
        return self.fc3(F.gelu(x))


def main():
    torch.manual_seed(39)
    centers = torch.randn(5, 16)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    losses = []
    for step in range(50):
        y = torch.randint(0, 5, (64,))
        x = centers[y] + torch.randn(64, 16)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(x)
        # bfloat16 has the range of float32, so no loss scaling; the loss itself is taken in float32
        loss = F.cross_entropy(logits.float(), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
        if step % 10 == 9:
            print(f"step {step + 1} loss {losses[-1]:.4f}")
    f32 = all(p.dtype == torch.float32 for p in model.parameters())
    print(f"activations in bfloat16: {model.seen == torch.bfloat16}, weights in float32: {f32}, "
          f"loss went down: {sum(losses[-5:]) < sum(losses[:5])}")


if __name__ == "__main__":
    main()
