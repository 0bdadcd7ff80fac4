# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.ranking.online_ranker import LeaderboardRow as LeaderboardRow
from octavo.ranking.online_ranker import OnlineRanker as OnlineRanker
from octavo.ranking.online_ranker import Rating as Rating
from octavo.ranking.prequential import PrequentialTrace as PrequentialTrace
from octavo.ranking.rating_updates import posterior_moments_by_derivatives as posterior_moments_by_derivatives
