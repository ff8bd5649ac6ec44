"""A bidirectional GRU judges bracket sequences of different lengths, packed so that padding costs nothing."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

SYMBOLS = "()[]"


def make_sequence():
    """Random brackets, and for each position how many are open there."""
    length = int(torch.randint(4, 17, ()))
    tokens, depths, depth = [], [], 0
    for _ in range(length):
        opening = depth == 0 or torch.rand(()).item() < 0.55
        depth += 1 if opening else -1
        tokens.append(2 * int(torch.randint(2, ())) + (not opening))
        depths.append(float(depth))
    return torch.tensor(tokens), torch.tensor(depths)


class DepthCounter(nn.Module):
    def __init__(self, embedding=8, hidden=24):
        super().__init__()
        self.embedding = nn.Embedding(len(SYMBOLS), embedding)
        self.gru = nn.GRU(embedding, hidden, num_layers=2, bidirectional=True)
        self.norm = nn.LayerNorm(2 * hidden)
        self.head = nn.Linear(2 * hidden, 1)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embedding(tokens), lengths, enforce_sorted=False)
        output, _ = self.gru(packed)
        output, _ = pad_packed_sequence(output)
        return self.head(self.norm(output)).squeeze(-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    model = DepthCounter()
    for name, parameter in model.gru.named_parameters():
        if "weight_hh" in name:
            nn.init.orthogonal_(parameter)
    optimizer = torch.optim.NAdam(model.parameters(), lr=5e-3)

    for step in range(args.steps):
        tokens, depths = zip(*[make_sequence() for _ in range(16)])
        lengths = torch.tensor([len(t) for t in tokens])
        target = pad_sequence(depths)
        mask = torch.arange(len(target))[:, None] < lengths
        predicted = model(pad_sequence(tokens), lengths)
        loss = nn.functional.huber_loss(predicted[mask], target[mask])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_value_(model.parameters(), 0.1)
        optimizer.step()
        print(f"step {step} loss {loss.item():.6f}")


if __name__ == "__main__":
    main()
