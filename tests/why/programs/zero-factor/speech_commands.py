# zero-factor, masked-all | mask/zero/0
# evidence: subsampler moved: False
# parameters: subsample.weight, subsample.bias, rnn.weight_ih_l0, rnn.weight_hh_l0, rnn.bias_ih_l0, rnn.bias_hh_l0, head.weight
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader

torch.manual_seed(24)

STRIDE = 8


class Utterances(Dataset):
    def __init__(self, n=120, mel=6, classes=3):
        g = torch.Generator().manual_seed(3)
        self.items = []
        for i in range(n):
            y = i % classes
            frames = int(torch.randint(32, 57, (1,), generator=g))
            x = 0.5 * torch.randn(frames, mel, generator=g)
            x[:, 2 * y: 2 * y + 2] += 1.0
            self.items.append((x, y))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    lengths = torch.tensor([x.size(0) for x, _ in batch])
    longest = max(x.size(0) for x, _ in batch)
    feats = torch.stack([F.pad(x, (0, 0, 0, longest - x.size(0))) for x, _ in batch])
    return feats, lengths // STRIDE, torch.tensor([y for _, y in batch])  #C


class CommandNet(nn.Module):
    def __init__(self, mel=6, hidden=16, classes=3):
        super().__init__()
        self.subsample = nn.Conv1d(mel, hidden, STRIDE, stride=STRIDE)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.head = nn.Linear(hidden, classes)

    def forward(self, feats, lengths):
        h = F.relu(self.subsample(feats.transpose(1, 2))).transpose(1, 2)
        h, _ = self.rnn(h)
        mask = (torch.arange(h.size(1))[None] < (lengths // STRIDE)[:, None]).float()  #C
        pooled = (h * mask[:, :, None]).sum(dim=1) / mask.sum(dim=1, keepdim=True).clamp(min=1)  #C
        return self.head(pooled)


def main():
    loader = DataLoader(Utterances(), batch_size=24, shuffle=True, collate_fn=collate)
    net = CommandNet()
    opt = torch.optim.Adam(net.parameters(), lr=5e-3)
    first = net.subsample.weight.detach().clone()
    for epoch in range(5):
        losses, hits = [], 0
        for feats, lengths, y in loader:
            logits = net(feats, lengths)
            loss = F.cross_entropy(logits, y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            losses.append(loss.item())
            hits += (logits.argmax(1) == y).sum().item()
        print(f"epoch {epoch} loss {sum(losses) / len(losses):.3f} acc {hits / 120:.3f}")
    print("subsampler moved:", not torch.equal(first, net.subsample.weight))


if __name__ == "__main__":
    main()
