import torch
import torchopt

torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
x, y = torch.randn(6, 3), torch.randn(6, 1)
optimizer = torchopt.MetaSGD(model, lr=0.1)
start = torchopt.extract_state_dict(model)
for _ in range(2):
    optimizer.step(torch.nn.functional.mse_loss(model(x), y))
loss = torch.nn.functional.mse_loss(model(x), y)
print(loss.item())
torchopt.recover_state_dict(model, start)
adam = torchopt.Adam(model.parameters(), lr=0.1)
loss = torch.nn.functional.mse_loss(model(x), y)
adam.zero_grad()
loss.backward()
adam.step()
print(loss.item(), model.weight.sum().item())
