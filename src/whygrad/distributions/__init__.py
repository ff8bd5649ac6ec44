"""torch.distributions."""

from whygrad.base.unsupported import absent_from
from whygrad.distributions import constraints, torch_files, transforms
from whygrad.distributions.bounded import Beta, ContinuousBernoulli, Dirichlet, Kumaraswamy, Uniform
from whygrad.distributions.categories import Categorical, Multinomial, OneHotCategorical, OneHotCategoricalStraightThrough
from whygrad.distributions.constraint_registry import biject_to, transform_to
from whygrad.distributions.counts import Bernoulli, Binomial, Geometric, NegativeBinomial, Poisson
from whygrad.distributions.derived import Independent, TransformedDistribution
from whygrad.distributions.distribution import Distribution
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.location_scale import Cauchy, Gumbel, Laplace, Normal, StudentT, VonMises
from whygrad.distributions.matrices import LKJCholesky, Wishart
from whygrad.distributions.mixture_same_family import MixtureSameFamily
from whygrad.distributions.positive import *  # noqa: F403
from whygrad.distributions.relaxed import RelaxedBernoulli, RelaxedOneHotCategorical
from whygrad.distributions.transformed_normals import HalfCauchy, HalfNormal, LogisticNormal, LogNormal
from whygrad.distributions.transforms import *  # noqa: F403
from whygrad.distributions.vectors import LowRankMultivariateNormal, MultivariateNormal

# isort: split
# The divergences take the families from this namespace.
from whygrad.distributions import kl_mixed
from whygrad.distributions.kl import kl_divergence, register_kl

torch_files.install()
__getattr__ = absent_from("torch.distributions")

__all__ = sorted({*[name for name in dir() if name[0].isupper()], "biject_to", "kl_divergence", "register_kl", "transform_to",
                  *transforms.__all__})
