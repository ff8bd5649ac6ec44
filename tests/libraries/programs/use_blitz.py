import torch
from blitz.modules import BayesianLinear
from blitz.utils import variational_estimator


@variational_estimator
class Regressor(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = BayesianLinear(4, 8), BayesianLinear(8, 1)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


torch.manual_seed(0)
model = Regressor()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x = torch.randn(16, 4)
for _ in range(3):
    optimizer.zero_grad()
    loss = model.sample_elbo(inputs=x, labels=x.sum(1, keepdim=True), criterion=torch.nn.MSELoss(), sample_nbr=2,
                             complexity_cost_weight=1 / 16)
    loss.backward()
    optimizer.step()
    print(loss.item())
