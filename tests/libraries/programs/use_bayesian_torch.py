import torch
from bayesian_torch.models.dnn_to_bnn import dnn_to_bnn, get_kl_loss

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Conv2d(1, 3, 3), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(108, 2))
dnn_to_bnn(model, {"prior_mu": 0.0, "prior_sigma": 1.0, "posterior_mu_init": 0.0, "posterior_rho_init": -3.0,
                   "type": "Reparameterization", "moped_enable": False, "moped_delta": 0.5})
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
x, y = torch.randn(8, 1, 8, 8), torch.tensor([0, 1] * 4)
for _ in range(3):
    loss = torch.nn.functional.cross_entropy(model(x), y) + get_kl_loss(model) / 8
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
