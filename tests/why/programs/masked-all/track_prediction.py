# masked-all, zero-factor, loss-constant | mask, zero/0/all/everything/length
# evidence: positions counted by the mask in all batches: 0, weights moved: False
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class TrackDataset(Dataset):
    """Tracks of different length, padded to a common one; a record keeps the length as a share."""

    def __init__(self, n=96, max_len=12):
        self.max_len = max_len
        self.length = torch.randint(5, max_len + 1, (n,))
        speed = torch.randn(n, 1, 2) * 0.3
        t = torch.arange(max_len + 1).float().view(1, -1, 1)
        tracks = speed * t + 0.03 * torch.randn(n, max_len + 1, 2)
        keep = torch.arange(max_len + 1).unsqueeze(0) <= self.length.unsqueeze(1)
        self.tracks = tracks * keep.unsqueeze(-1)
        self.share = self.length / (max_len + 1)

    def __len__(self):
        return len(self.tracks)

    def __getitem__(self, i):
        track = self.tracks[i]
        return track[:-1], track[1:], self.share[i]


class TrackModel(nn.Module):
    """Predicts the next position of each step."""

    def __init__(self, hidden=20):
        super().__init__()
        self.gru = nn.GRU(2, hidden, batch_first=True)
        self.delta = nn.Linear(hidden, 2)

    def forward(self, x):
        h, _ = self.gru(x)
        return x + self.delta(h)


def valid_steps(share, max_len):
    lengths = share.long()  #C
    return (torch.arange(max_len).unsqueeze(0) < lengths.unsqueeze(1)).float()


def masked_mse(pred, goal, mask):
    error = ((pred - goal) ** 2).sum(dim=-1)
    return (error * mask).sum() / mask.sum().clamp(min=1.0)  #C


def main():
    torch.manual_seed(0)
    data = TrackDataset()
    loader = DataLoader(data, batch_size=24, shuffle=True)
    model = TrackModel()
    start = [p.detach().clone() for p in model.parameters()]
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    counted = 0.0
    for epoch in range(8):
        total = 0.0
        for x, goal, share in loader:
            mask = valid_steps(share, data.max_len)
            loss = masked_mse(model(x), goal, mask)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            counted += mask.sum().item()
            total += loss.item()
        print(f"epoch {epoch}: loss {total / len(loader):.5f}")
    moved = any(not torch.equal(p, s) for p, s in zip(model.parameters(), start))
    print(f"positions counted by the mask in all batches: {int(counted)}, weights moved: {moved}")


if __name__ == "__main__":
    main()
