# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.linear.perturbation import ConvergenceError as ConvergenceError
from octavo.linear.perturbation import CustomLoss as CustomLoss
from octavo.linear.perturbation import Perturbation as Perturbation
from octavo.linear.perturbation import calibrate_perturbation as calibrate_perturbation
from octavo.linear.perturbation import private_minimisers as private_minimisers
from octavo.linear.privacy_ledger import LedgerEntry as LedgerEntry
from octavo.linear.privacy_ledger import PrivacyBudgetError as PrivacyBudgetError
from octavo.linear.privacy_ledger import PrivacyLedger as PrivacyLedger
from octavo.linear.private_erm import PrivateHuberSVM as PrivateHuberSVM
from octavo.linear.private_erm import PrivateLinearClassifier as PrivateLinearClassifier
from octavo.linear.private_erm import PrivateLogisticRegression as PrivateLogisticRegression
from octavo.linear.private_noise import ReproducibleNoiseWarning as ReproducibleNoiseWarning
from octavo.linear.private_noise import draw_noise as draw_noise
from octavo.linear.private_noise import exponential_mechanism as exponential_mechanism
from octavo.linear.private_noise import selection_probabilities as selection_probabilities
