import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform

torch.manual_seed(0)
prior = BoxUniform(low=-2 * torch.ones(2), high=2 * torch.ones(2))
theta = prior.sample((200,))
x = theta + 0.1 * torch.randn_like(theta)
inference = NPE(prior=prior, density_estimator="mdn", show_progress_bars=False)
estimator = inference.append_simulations(theta, x).train(max_num_epochs=2, training_batch_size=50)
posterior = inference.build_posterior(estimator)
print(*inference.summary["validation_loss"])
print(posterior.log_prob(torch.tensor([[0.1, 0.2]]), x=torch.zeros(1, 2)).item())
