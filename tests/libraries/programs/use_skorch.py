import numpy as np
import torch
from skorch import NeuralNetClassifier

torch.manual_seed(0)
np.random.seed(0)
x = np.random.randn(60, 5).astype("float32")
y = (x.sum(1) > 0).astype("int64")
net = NeuralNetClassifier(torch.nn.Sequential(torch.nn.Linear(5, 10), torch.nn.ReLU(), torch.nn.Linear(10, 2), torch.nn.Softmax(-1)),
                          max_epochs=4, lr=0.1, verbose=0, batch_size=16)
net.fit(x, y)
print(*net.history[:, "train_loss"], net.score(x, y), net.predict_proba(x[:2]).sum())
