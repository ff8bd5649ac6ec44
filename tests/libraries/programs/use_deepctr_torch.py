import numpy as np, pandas as pd, torch
from deepctr_torch.inputs import SparseFeat, DenseFeat, get_feature_names
from deepctr_torch.models import DeepFM, DCN, xDeepFM, AutoInt

rng = np.random.default_rng(0)
data = {"a": rng.integers(0, 5, 64), "b": rng.integers(0, 3, 64), "d": rng.normal(size=64).astype("float32")}
y = (data["d"] > 0).astype("float32")
columns = [SparseFeat("a", 5, embedding_dim=4), SparseFeat("b", 3, embedding_dim=4), DenseFeat("d", 1)]
for kind in (DeepFM, DCN, xDeepFM, AutoInt):
    model = kind(linear_feature_columns=columns, dnn_feature_columns=columns, task="binary", device="cpu", seed=0)
    model.compile("adam", "binary_crossentropy", metrics=["binary_crossentropy", "auc"])
    history = model.fit(data, y, batch_size=16, epochs=2, verbose=0, shuffle=False)
    print(kind.__name__, history.history["loss"], model.predict(data, 32).sum())
