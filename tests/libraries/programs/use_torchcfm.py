import torch
from torchcfm.conditional_flow_matching import (
    ConditionalFlowMatcher,
    ExactOptimalTransportConditionalFlowMatcher,
    SchrodingerBridgeConditionalFlowMatcher,
)
from torchcfm.models.models import MLP

import numpy as np

for kind in (ConditionalFlowMatcher, ExactOptimalTransportConditionalFlowMatcher, SchrodingerBridgeConditionalFlowMatcher):
    torch.manual_seed(0)
    np.random.seed(0)
    model, matcher = MLP(dim=2, time_varying=True, w=16), kind(sigma=0.1)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        t, xt, ut = matcher.sample_location_and_conditional_flow(torch.randn(16, 2), torch.randn(16, 2) + 1)
        loss = (model(torch.cat([xt, t[:, None]], -1)) - ut).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(kind.__name__, loss.item())
