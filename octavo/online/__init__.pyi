# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.online.adahedge import AdaHedge as AdaHedge
from octavo.online.adahedge import CBMS as CBMS
from octavo.online.adahedge import DoublingAdaHedge as DoublingAdaHedge
from octavo.online.adahedge import FlipFlop as FlipFlop
from octavo.online.adahedge import FlipFlopParameters as FlipFlopParameters
from octavo.online.adahedge import FollowTheLeader as FollowTheLeader
from octavo.online.adahedge import Hedge as Hedge
from octavo.online.adahedge import NormalHedge as NormalHedge
from octavo.online.adahedge import Trace as Trace
from octavo.online.adahedge import VariationMW as VariationMW
from octavo.online.adahedge import flipflop_parameters as flipflop_parameters
from octavo.online.adahedge import regret_of_fixed_eta as regret_of_fixed_eta
from octavo.online.adahedge import safe_eta as safe_eta
from octavo.online.expert_ensemble import ExpertEnsembleClassifier as ExpertEnsembleClassifier
from octavo.online.expert_ensemble import ExpertEnsembleRegressor as ExpertEnsembleRegressor
from octavo.online.regret_bounds import data_bounds as data_bounds
