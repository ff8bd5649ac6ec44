import warnings

import torch
from stable_baselines3 import A2C, PPO

warnings.simplefilter("ignore")
torch.set_num_threads(1)
for kind in (PPO, A2C):
    model = kind("MlpPolicy", "CartPole-v1", n_steps=32, seed=0, device="cpu", verbose=0, **({"batch_size": 16, "n_epochs": 2} if kind is PPO else {}))
    model.learn(64)
    print(round(sum(p.abs().sum().item() for p in model.policy.parameters()), 2), model.num_timesteps)
