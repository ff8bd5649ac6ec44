import os

os.environ["KERAS_BACKEND"] = "torch"
import keras
import numpy as np
import torch

keras.utils.set_random_seed(0)
model = keras.Sequential([keras.layers.Dense(16, activation="relu"), keras.layers.BatchNormalization(), keras.layers.Dense(3)])
model.compile(optimizer=keras.optimizers.Adam(0.01), loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
              metrics=["accuracy"])
data = np.random.default_rng(0).normal(size=(96, 8)).astype("float32")
x, held_out = data[:64], data[64:]
y = (x[:, 0] > 0).astype("int64") + (x[:, 1] > 0)
history = model.fit(x, y, batch_size=16, epochs=3, shuffle=False, verbose=0)
print(*history.history["loss"], *history.history["accuracy"])
print(*model.evaluate(held_out, (held_out[:, 0] > 0).astype("int64") + (held_out[:, 1] > 0), verbose=0), model.predict(x[:2], verbose=0).sum())
image = keras.layers.Conv2D(4, 3, padding="same")(torch.ones(1, 8, 8, 3))
print(keras.layers.MaxPooling2D()(image).shape, keras.layers.LSTM(5)(torch.ones(2, 6, 3)).sum().item())
