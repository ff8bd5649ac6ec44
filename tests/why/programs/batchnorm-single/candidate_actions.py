# batchnorm-single, output-constant | batchnorm/batch norm/bn
# evidence: value depends on the state: False
# parameters: state_enc.0.weight, state_enc.0.bias, state_enc.1.weight
import torch
import torch.nn as nn
import torch.nn.functional as F


class ActionValue(nn.Module):
    """Scores a set of candidate actions for one state."""

    def __init__(self, n_state=5, n_action=2, dim=16):
        super().__init__()
        self.state_enc = nn.Sequential(nn.Linear(n_state, dim), nn.BatchNorm1d(dim), nn.ReLU())  #C
        self.action_enc = nn.Sequential(nn.Linear(n_action, dim), nn.ReLU())
        self.value = nn.Linear(2 * dim, 1)

    def forward(self, state, actions):
        s = state.expand(len(actions), -1)  #C
        h = torch.cat([self.state_enc(s), self.action_enc(actions)], dim=1)  #C
        return self.value(h).squeeze(-1)


def payoff(state, actions):
    return 2.0 * state[0] + state[1] - actions.pow(2).sum(1)


def train(model, steps=200, candidates=20):
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    recent = []
    for step in range(1, steps + 1):
        state = torch.randn(5)
        actions = torch.rand(candidates, 2) * 2 - 1
        loss = F.mse_loss(model(state, actions), payoff(state, actions))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss.item())
        if step % 40 == 0:
            print(f"step {step} loss {sum(recent[-40:]) / 40:.4f}")


def main():
    torch.manual_seed(98)
    model = ActionValue()
    train(model)
    actions = torch.rand(20, 2)
    with torch.no_grad():
        low = model(torch.full((5,), -1.0), actions)
        high = model(torch.full((5,), 1.0), actions)
    print("value depends on the state:", not torch.allclose(low, high, atol=1e-2))


if __name__ == "__main__":
    main()
