# wrong-dim | softmax, sum to one
# evidence: trained
import torch
import torch.nn.functional as F
from torch import nn


class Pointer(nn.Module):
    """Attends from a few questions to many facts."""

    def __init__(self, width=16):
        super().__init__()
        self.ask, self.key = nn.Linear(width, width), nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(width, 1)

    def forward(self, questions, facts):
        scores = torch.bmm(self.ask(questions), self.key(facts).transpose(1, 2))
        weights = self.drop(F.softmax(scores, dim=1))  #C
        return self.out(torch.bmm(weights, facts)).squeeze(-1)


def main():
    torch.manual_seed(1)
    model = Pointer()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(12):
        facts = torch.randn(8, 9, 16)
        questions = facts[:, :3] + 0.1 * torch.randn(8, 3, 16)
        loss = F.mse_loss(model(questions, facts), questions[..., 0])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("trained")


if __name__ == "__main__":
    main()
