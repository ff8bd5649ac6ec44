import warnings

import numpy as np
from pytorch_tabnet.tab_model import TabNetClassifier

warnings.simplefilter("ignore")
np.random.seed(0)
x = np.random.randn(64, 5).astype("float32")
model = TabNetClassifier(n_d=4, n_a=4, n_steps=2, verbose=0, seed=0, device_name="cpu")
model.fit(x, (x[:, 0] > 0).astype(int), max_epochs=3, batch_size=32, virtual_batch_size=16)
print(*model.history["loss"], model.predict_proba(x).sum())
