import numpy as np
import torch
from poutyne import Model, Callback, set_seeds

set_seeds(0)
network = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3))
x = np.random.default_rng(0).normal(size=(48, 8)).astype("float32")
y = (x[:, 0] > 0).astype("int64") + (x[:, 1] > 0)
model = Model(network, "adam", "cross_entropy", batch_metrics=["accuracy"])
for row in model.fit(x[:32], y[:32], validation_data=(x[32:], y[32:]), epochs=3, batch_size=8, verbose=False):
    print(row["epoch"], row["loss"], row["acc"], row["val_loss"], row["val_acc"])
print(model.predict(x[:2], verbose=False).sum())
