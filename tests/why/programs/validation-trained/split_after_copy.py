# validation-trained
# evidence: True
import torch
import torch.nn as nn


class Regression:
    def __init__(self, x, y, share=0.25):
        self.x_train, self.y_train = x, y
        cut = int(len(x) * share)
        self.x_val, self.y_val = x[:cut], y[:cut]
        self.net = nn.Sequential(nn.Linear(x.shape[1], 32), nn.Tanh(), nn.Linear(32, 1))
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-2)

    def validate(self):
        self.net.eval()
        with torch.no_grad():
            error = (self.net(self.x_val).squeeze(1) - self.y_val).pow(2).mean().item()  #C
        self.net.train()
        return error

    def fit(self, epochs=10, batch=30):
        for epoch in range(epochs):
            for rows in torch.randperm(len(self.x_train)).split(batch):
                loss = (self.net(self.x_train[rows]).squeeze(1) - self.y_train[rows]).pow(2).mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
            print(f"epoch {epoch} validation error {self.validate():.3f}")


torch.manual_seed(0)
features = torch.randn(240, 7)
job = Regression(features, features[:, 0] - features[:, 1].abs())
job.fit()
print("evidence:", all(any(torch.equal(row, other) for other in job.x_train) for row in job.x_val))
