"""torch.distributions."""

from whygrad.base.unsupported import absent_from
from whygrad.distributions import constraints, transforms
from whygrad.distributions.bernoulli import Bernoulli
from whygrad.distributions.beta import Beta
from whygrad.distributions.binomial import Binomial
from whygrad.distributions.categorical import Categorical
from whygrad.distributions.cauchy import Cauchy
from whygrad.distributions.chi2 import Chi2
from whygrad.distributions.constraint_registry import biject_to, transform_to
from whygrad.distributions.continuous_bernoulli import ContinuousBernoulli
from whygrad.distributions.dirichlet import Dirichlet
from whygrad.distributions.distribution import Distribution
from whygrad.distributions.exp_family import ExponentialFamily
from whygrad.distributions.exponential import Exponential
from whygrad.distributions.fishersnedecor import FisherSnedecor
from whygrad.distributions.gamma import Gamma
from whygrad.distributions.generalized_pareto import GeneralizedPareto
from whygrad.distributions.geometric import Geometric
from whygrad.distributions.gumbel import Gumbel
from whygrad.distributions.half_cauchy import HalfCauchy
from whygrad.distributions.half_normal import HalfNormal
from whygrad.distributions.independent import Independent
from whygrad.distributions.inverse_gamma import InverseGamma
from whygrad.distributions.kumaraswamy import Kumaraswamy
from whygrad.distributions.laplace import Laplace
from whygrad.distributions.lkj_cholesky import LKJCholesky
from whygrad.distributions.log_normal import LogNormal
from whygrad.distributions.logistic_normal import LogisticNormal
from whygrad.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from whygrad.distributions.mixture_same_family import MixtureSameFamily
from whygrad.distributions.multinomial import Multinomial
from whygrad.distributions.multivariate_normal import MultivariateNormal
from whygrad.distributions.negative_binomial import NegativeBinomial
from whygrad.distributions.normal import Normal
from whygrad.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from whygrad.distributions.pareto import Pareto
from whygrad.distributions.poisson import Poisson
from whygrad.distributions.relaxed_bernoulli import RelaxedBernoulli
from whygrad.distributions.relaxed_categorical import RelaxedOneHotCategorical
from whygrad.distributions.studentT import StudentT
from whygrad.distributions.transformed_distribution import TransformedDistribution
from whygrad.distributions.transforms import *  # noqa: F403
from whygrad.distributions.uniform import Uniform
from whygrad.distributions.von_mises import VonMises
from whygrad.distributions.weibull import Weibull
from whygrad.distributions.wishart import Wishart

# isort: split
# The divergences take the families from this namespace.
from whygrad.distributions import kl_mixed, kl_vectors
from whygrad.distributions.kl import kl_divergence, register_kl

__getattr__ = absent_from("torch.distributions")

__all__ = sorted({*[name for name in dir() if name[0].isupper()], "biject_to", "kl_divergence", "register_kl", "transform_to",
                  *transforms.__all__})
