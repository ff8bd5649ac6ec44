# loss-constant
# evidence: done
"""Toy speech recogniser trained with CTC on synthetic tone sequences."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

N_SYMBOLS, N_MELS, FRAMES_PER_SYMBOL = 6, 12, 4  #C


class Tones(Dataset):
    def __init__(self, n, min_len=9, max_len=12, seed=0):
        g = torch.Generator().manual_seed(seed)
        proto = torch.randn(N_SYMBOLS + 1, N_MELS, generator=torch.Generator().manual_seed(42))
        self.items = []
        for _ in range(n):
            k = int(torch.randint(min_len, max_len + 1, (1,), generator=g))
            target = torch.randint(1, N_SYMBOLS + 1, (k,), generator=g)
            frames = proto[target].repeat_interleave(FRAMES_PER_SYMBOL, 0)
            frames = frames + 0.2 * torch.randn(frames.shape, generator=g)
            self.items.append((frames, target))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch):
    frames, targets = zip(*batch)
    lengths = torch.tensor([len(f) for f in frames])
    target_lengths = torch.tensor([len(t) for t in targets])
    padded = nn.utils.rnn.pad_sequence(frames, batch_first=True)
    return padded, lengths, torch.cat(targets), target_lengths


class Recogniser(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.subsample = nn.ModuleList([
            nn.Conv1d(N_MELS, hidden, 3, stride=2, padding=1),  #C
            nn.Conv1d(hidden, hidden, 3, stride=2, padding=1),  #C
            nn.Conv1d(hidden, hidden, 3, stride=2, padding=1),  #C
        ])
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, N_SYMBOLS + 1)

    def forward(self, x, lengths):
        x = x.transpose(1, 2)
        for conv in self.subsample:
            x = F.relu(conv(x))
            lengths = (lengths + 1) // 2  #C
        x, _ = self.rnn(x.transpose(1, 2))
        return self.out(x).log_softmax(-1), lengths


def main():
    torch.manual_seed(0)
    loader = DataLoader(Tones(128), batch_size=16, shuffle=True, collate_fn=collate)
    model = Recogniser()
    ctc = nn.CTCLoss(blank=0, zero_infinity=True)  #C
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(6):
        total = 0.0
        for x, lengths, targets, target_lengths in loader:
            log_probs, out_lengths = model(x, lengths)
            loss = ctc(log_probs.transpose(0, 1), targets, out_lengths, target_lengths)  #C
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            total += loss.item()
        print(f"epoch {epoch} ctc loss {total / len(loader):.4f}")
    with torch.no_grad():
        x, lengths, targets, target_lengths = next(iter(loader))
        log_probs, _ = model(x, lengths)
        best = log_probs.argmax(-1)[0].unique_consecutive()
    print("decoded", best[best != 0].tolist())
    print("target ", targets[:target_lengths[0]].tolist())


if __name__ == "__main__":
    main()
print("evidence: done")
