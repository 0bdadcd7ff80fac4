# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.ranking.aggregation.preferences import PairwisePreferences as PairwisePreferences
from octavo.ranking.ratings.estimator import LeaderboardRow as LeaderboardRow
from octavo.ranking.ratings.estimator import OnlineRanker as OnlineRanker
from octavo.ranking.ratings.estimator import Rating as Rating
from octavo.ranking.ratings.prequential import PrequentialTrace as PrequentialTrace
from octavo.ranking.ratings.updates import posterior_moments_by_derivatives as posterior_moments_by_derivatives
