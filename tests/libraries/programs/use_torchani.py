import torch
import torchani

torch.manual_seed(0)
aev = torchani.AEVComputer.like_1x(num_species=4)
coordinates = torch.tensor([[[0.03, 0.006, 0.01], [-0.83, 0.39, -0.26], [-0.66, -0.84, 0.20], [0.45, 0.51, -0.93], [0.67, 0.31, 0.9]]],
                           requires_grad=True)
species = torchani.nn.SpeciesConverter(["H", "C", "N", "O"])(torch.tensor([[6, 1, 1, 1, 1]]))
features = aev(species, coordinates)
network = torch.nn.Linear(features.shape[-1], 1)
energy = network(features).sum()
(forces,) = torch.autograd.grad(energy, coordinates)
print(features.shape, features.sum().item(), energy.item(), forces.norm().item())
