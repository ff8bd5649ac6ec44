"""The files where torch has the distributions: programs write `from torch.distributions.normal import Normal`."""

from __future__ import annotations

import sys
from types import ModuleType

# Our file -> torch's files with their classes.
FILES = {
    "bounded": {"beta": ["Beta"], "continuous_bernoulli": ["ContinuousBernoulli"], "dirichlet": ["Dirichlet"],
                "kumaraswamy": ["Kumaraswamy"], "uniform": ["Uniform"]},
    "categories": {"categorical": ["Categorical"], "multinomial": ["Multinomial"],
                   "one_hot_categorical": ["OneHotCategorical", "OneHotCategoricalStraightThrough"]},
    "counts": {"bernoulli": ["Bernoulli"], "binomial": ["Binomial"], "geometric": ["Geometric"],
               "negative_binomial": ["NegativeBinomial"], "poisson": ["Poisson"]},
    "derived": {"independent": ["Independent"], "transformed_distribution": ["TransformedDistribution"]},
    "location_scale": {"cauchy": ["Cauchy"], "gumbel": ["Gumbel"], "laplace": ["Laplace"], "normal": ["Normal"],
                       "studentT": ["StudentT"], "von_mises": ["VonMises"]},
    "matrices": {"lkj_cholesky": ["LKJCholesky"], "wishart": ["Wishart"]},
    "positive": {"chi2": ["Chi2"], "exponential": ["Exponential"], "fishersnedecor": ["FisherSnedecor"], "gamma": ["Gamma"],
                 "generalized_pareto": ["GeneralizedPareto"], "inverse_gamma": ["InverseGamma"], "pareto": ["Pareto"],
                 "weibull": ["Weibull"]},
    "relaxed": {"relaxed_bernoulli": ["LogitRelaxedBernoulli", "RelaxedBernoulli"],
                "relaxed_categorical": ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]},
    "transformed_normals": {"half_cauchy": ["HalfCauchy"], "half_normal": ["HalfNormal"], "log_normal": ["LogNormal"],
                            "logistic_normal": ["LogisticNormal"]},
    "vectors": {"lowrank_multivariate_normal": ["LowRankMultivariateNormal"], "multivariate_normal": ["MultivariateNormal"]},
}


def install() -> None:
    """Make a module of each of torch's files, to which its classes belong, in pickles too."""
    package = f"{__package__}"
    for our_name, homes in FILES.items():
        file = sys.modules[f"{package}.{our_name}"]
        for name, classes in homes.items():
            home = ModuleType(f"{package}.{name}", file.__doc__)
            vars(home).update(vars(file), __name__=home.__name__, __all__=classes)
            for kind in classes:
                getattr(file, kind).__module__ = home.__name__
            sys.modules[home.__name__] = vars(sys.modules[package])[name] = home
