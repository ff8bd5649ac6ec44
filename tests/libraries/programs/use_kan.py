import torch
from kan import KAN, create_dataset

torch.manual_seed(0)
model = KAN(width=[2, 3, 1], grid=3, k=3, seed=0, auto_save=False)
dataset = create_dataset(lambda x: torch.exp(torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2), n_var=2, train_num=60, test_num=20)
result = model.fit(dataset, opt="Adam", steps=5, lr=0.05, update_grid=False)
print(*[float(x) for x in result["train_loss"]])
