import norse.torch as norse
import torch

torch.manual_seed(0)
model = norse.SequentialState(torch.nn.Linear(6, 10), norse.LIFCell(), torch.nn.Linear(10, 3), norse.LICell())
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
encoder = norse.ConstantCurrentLIFEncoder(seq_length=8)
data = encoder(2 * torch.rand(4, 6))
for _ in range(3):
    state, outputs = None, []
    for step in data:
        out, state = model(step, state)
        outputs.append(out)
    loss = torch.nn.functional.cross_entropy(torch.stack(outputs).max(0).values, torch.tensor([0, 1, 2, 0]))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item(), data.sum().item())
