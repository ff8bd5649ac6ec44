import torch
import torchbnn

torch.manual_seed(0)
model = torch.nn.Sequential(torchbnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=4, out_features=8), torch.nn.ReLU(),
                            torchbnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=8, out_features=3))
divergence = torchbnn.BKLLoss(reduction="mean", last_layer_only=False)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(12, 4), torch.tensor([0, 1, 2] * 4)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(model(x), y) + 0.1 * divergence(model)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
