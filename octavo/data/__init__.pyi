# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.data.clicks import make_clicks as make_clicks
from octavo.data.datasets import DatasetInfo as DatasetInfo
from octavo.data.datasets import DatasetNotFoundError as DatasetNotFoundError
from octavo.data.datasets import convert_libol as convert_libol
from octavo.data.datasets import fetch_dataset as fetch_dataset
from octavo.data.datasets import list_datasets as list_datasets
from octavo.data.datasets import load_dataset as load_dataset
from octavo.data.formats import CorruptDatasetError as CorruptDatasetError
from octavo.data.games import make_games as make_games
from octavo.data.splice_sites import make_splice_sites as make_splice_sites
