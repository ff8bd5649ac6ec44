import torch
from laplace import Laplace
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(24, 3)
y = (x.sum(1) > 0).long()
model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
for _ in range(10):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
loader = DataLoader(TensorDataset(x, y), batch_size=8)
for structure in ("diag", "kron", "full"):
    la = Laplace(model, "classification", subset_of_weights="last_layer", hessian_structure=structure)
    la.fit(loader)
    la.optimize_prior_precision(method="marglik")
    print(structure, la.log_marginal_likelihood().item(), la(x[:3], link_approx="probit").sum(0).tolist())
