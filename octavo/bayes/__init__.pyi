# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.bayes.gaussian_mixtures.reduction import GMMReduction as GMMReduction
from octavo.bayes.latent_gaussian.densities import Marginal as Marginal
from octavo.bayes.latent_gaussian.hyper_grid import HyperGrid as HyperGrid
from octavo.bayes.latent_gaussian.hyper_grid import hyperparameter_grid as hyperparameter_grid
from octavo.bayes.latent_gaussian.likelihood_names import make_likelihood as make_likelihood
from octavo.bayes.latent_gaussian.model import LatentGaussianModel as LatentGaussianModel
from octavo.bayes.latent_gaussian.model import LatentPrediction as LatentPrediction
from octavo.bayes.latent_gaussian.priors import GaussianPrior as GaussianPrior
from octavo.bayes.latent_gaussian.priors import ar1 as ar1
from octavo.bayes.latent_gaussian.priors import icar as icar
from octavo.bayes.latent_gaussian.priors import matern_grid as matern_grid
from octavo.bayes.latent_gaussian.priors import rw1 as rw1
from octavo.bayes.latent_gaussian.priors import rw2 as rw2
from octavo.bayes.latent_gaussian.priors import thin_plate_grid as thin_plate_grid
from octavo.bayes.latent_gaussian.sparse_precision import SparseCholesky as SparseCholesky
from octavo.bayes.latent_gaussian.sparse_precision import selected_inverse as selected_inverse
from octavo.bayes.latent_gaussian.sparse_precision import sparse_cholesky as sparse_cholesky
