# Written by tools/sync.py from the __all__ of this package's modules.
from octavo.data.datasets import DatasetInfo as DatasetInfo
from octavo.data.datasets import DatasetNotFoundError as DatasetNotFoundError
from octavo.data.datasets import convert_libol as convert_libol
from octavo.data.datasets import fetch_dataset as fetch_dataset
from octavo.data.datasets import list_datasets as list_datasets
from octavo.data.datasets import load_dataset as load_dataset
from octavo.data.formats import CorruptDatasetError as CorruptDatasetError
from octavo.data.games import make_games as make_games
from octavo.data.hmms import make_hmm_sequences as make_hmm_sequences
from octavo.data.proteins import ProteinHMM as ProteinHMM
from octavo.data.proteins import protein_structure_hmm as protein_structure_hmm
from octavo.data.sparse_precision import SparsePrecision as SparsePrecision
from octavo.data.sparse_precision import make_sparse_precision as make_sparse_precision
from octavo.data.streams import ArffChunks as ArffChunks
from octavo.data.streams import ArrayChunks as ArrayChunks
from octavo.data.streams import LibsvmChunks as LibsvmChunks
