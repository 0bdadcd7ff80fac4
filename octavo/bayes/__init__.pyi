# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.bayes.gaussian_mixtures.reduction import GMMReduction as GMMReduction
from octavo.bayes.mixed_models.accuracy import variational_accuracy as variational_accuracy
from octavo.bayes.mixed_models.estimator import VariationalMixedModel as VariationalMixedModel
from octavo.bayes.mixed_models.formula import fit_mixed_formula as fit_mixed_formula
from octavo.bayes.mixed_models.gaussian_variational import GaussianVariational as GaussianVariational
from octavo.bayes.mixed_models.gaussian_variational import ncvmp_update as ncvmp_update
from octavo.bayes.mixed_models.heteroscedastic import HeteroscedasticAdditiveRegressor as HeteroscedasticAdditiveRegressor
from octavo.bayes.mixed_models.matrix_calculus import commutation_matrix as commutation_matrix
from octavo.bayes.mixed_models.matrix_calculus import duplication_matrix as duplication_matrix
from octavo.bayes.mixed_models.matrix_calculus import moment_parameters as moment_parameters
from octavo.bayes.mixed_models.matrix_calculus import natural_parameters as natural_parameters
from octavo.bayes.mixed_models.matrix_calculus import row_kronecker as row_kronecker
from octavo.bayes.mixed_models.matrix_calculus import vech as vech
from octavo.bayes.mixed_models.splines import OSullivanSplines as OSullivanSplines
