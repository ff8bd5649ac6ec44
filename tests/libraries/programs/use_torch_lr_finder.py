import torch
from torch.utils.data import DataLoader, TensorDataset
from torch_lr_finder import LRFinder

torch.manual_seed(0)
x = torch.randn(32, 4)
model = torch.nn.Linear(4, 2)
finder = LRFinder(model, torch.optim.Adam(model.parameters(), lr=1e-5), torch.nn.CrossEntropyLoss(), device="cpu")
finder.range_test(DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8), end_lr=1, num_iter=8)
print(*finder.history["lr"], *finder.history["loss"])
finder.reset()
print(model.weight.sum().item())
