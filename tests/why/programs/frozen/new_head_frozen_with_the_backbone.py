# frozen | requires_grad
# evidence: True
# Everything but the batch norms is frozen, the new classifier included.
import torch
import torch.nn as nn

torch.manual_seed(0)


class Backbone(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.bn2 = nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, 100)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.bn2(self.conv2(x)))
        return self.fc(x.mean((2, 3)))


model = Backbone()
model.load_state_dict({name: t.clone() for name, t in model.state_dict().items()})  # pretrained
model.fc = nn.Linear(model.fc.in_features, 10)
for name, param in model.named_parameters():
    if "bn" not in name:
        param.requires_grad = False  #C
for param in model.fc.parameters():
    param.requires_grad = False  #C
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
start = model.fc.weight.clone()
x, y = torch.randn(64, 1, 8, 8), torch.randint(0, 10, (64,))
for step in range(20):
    batch = torch.randperm(64)[:16]
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
    loss.backward()
    optimizer.step()
print("evidence:", torch.equal(model.fc.weight, start))
