"""What a user reads who gives the command line something that it cannot use."""

import gzip
import pickle
import re

import pytest
from typer.testing import CliRunner

from octavo import _unpacking, cli

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("openpyxl")
pytest.importorskip("skops")
pytest.importorskip("bokeh")

runner = CliRunner()
ROWS = [f"{k},{k * k % 17},{'uv'[k % 3 == 0]},2024-01-{k % 28 + 1:02d}" for k in range(60)]
TABLE = "a,b,kind,day\n" + "\n".join(ROWS) + "\n"
WORDS = "@relation t\n@attribute a numeric\n@attribute k {u,v}\n@data\n"

FILES = {
    "table.csv": TABLE,
    "few.csv": "\n".join(TABLE.splitlines()[:7]) + "\n",
    "header.csv": "a,b,kind\n",
    "empty.csv": b"",
    "blank.csv": " \n\n",
    "ragged.csv": "a,b\n1,2\n1,2,3,4\n",
    "quote.csv": 'a,b\n1,"2\n3,4\n',
    "binary.csv": b"a,b\0\1\2",
    "cut.csv.gz": gzip.compress(TABLE.encode())[:60],
    "bad.csv.gz": b"not packed at all",
    "bad.csv.xz": b"not packed at all",
    "bad.zip": b"PK\x03\x04 and no more",
    "large.csv.gz": gzip.compress(b"1,2\n" * 100_000),
    "bad.parquet": b"PAR1 and no more",
    "cut.parquet": b"PAR1" + bytes(100) + b"PAR1",
    "bad.xlsx": b"PK\x03\x04 and no more",
    "text.xlsx": b"a,b\n1,2\n",
    "old.xls": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "bad.libsvm": "1 a:b\n",
    "zero.libsvm": "1 0:2 1:x\n",
    "nodata.arff": "@relation t\n@attribute a numeric\n",
    "norows.arff": WORDS,
    "odd.arff": "@relation t\n@attribute\n@data\n1\n",
    "ragged.arff": WORDS + "1,u\n2,'v\n",
    "bad.jsonl": '{"a": 1}\n{"a": }\n',
    "list.json": "[1, 2, 3]",
    "one.csv": "a,kind\n" + "".join(f"{k % 7},u\n" for k in range(40)),
    "constant.csv": "a,kind\n" + "".join(f"3,{'uv'[k % 2]}\n" for k in range(40)),
    "alone.csv": "kind\n" + "u\nv\n" * 20,
    "ids.csv": "a,kind\n" + "".join(f"{k % 7},n{k}\n" for k in range(40)),
    "life.csv": "x,days,s,left\n"
    + "".join(f"{k % 11},{k + 1},{k % 3},{k - 5}\n" for k in range(40)),
    "games.csv": "one,two,r\n" + "x,y,good\ny,x,1\n" * 20,
    "labels.csv": "a,p,q\n" + "".join(f"{k % 7},{k % 2},{'maybe'}\n" for k in range(40)),
    "garbage.joblib": b"\x80\x04 this is no model",
    "other.joblib": pickle.dumps({"format": "another"}),
    "garbage.skops": b"this is no model",
    "words.csv": "text,kind\n" + "u,v\nv,u\n" * 20,
}
MENDED = [  # what to type, and a part of what has to be said
    ("compare nowhere/t.csv", "check the path"),
    ("compare tabel.csv", "did you mean table.csv or"),
    ("compare .", "is a folder"),
    ("compare empty.csv", "is empty"),
    ("compare blank.csv", "holds no rows"),
    ("compare header.csv --target kind", "holds a single row"),
    ("compare ragged.csv", "mend that line"),
    ("compare quote.csv", "mend that line"),
    ("compare binary.csv", "is not a text file"),
    ("compare cut.csv.gz", "cannot be unpacked"),
    ("compare bad.csv.gz", "cannot be unpacked"),
    ("compare bad.csv.xz", "cannot be unpacked"),
    ("compare bad.zip", "cannot be unpacked"),
    ("compare large.csv.gz", "is too large"),
    ("compare bad.parquet", "not a sound Parquet file"),
    ("compare cut.parquet", "not a sound Parquet file"),
    ("compare bad.xlsx", "not a sound Excel file"),
    ("compare text.xlsx", "not a sound Excel file"),
    ("compare old.xls", ".xlsx"),
    ("compare bad.libsvm", "is not a libsvm file"),
    ("compare zero.libsvm", "is not a libsvm file"),
    ("compare nodata.arff", "no @data section"),
    ("compare norows.arff", "no rows after @data"),
    ("compare odd.arff", "not an attribute"),
    ("compare ragged.arff", "mend that line"),
    ("compare bad.jsonl", "not JSON"),
    ("compare list.json", "no object"),
    ("compare table.csv --target knid", "did you mean kind?"),
    ("compare table.csv --target 9", "known: a, b, kind, day"),
    ("compare table.csv --target day", "holds dates"),
    ("compare table.csv --target kind --task regression", "is not a number"),
    ("compare table.csv --task regression", "name a --target"),
    ("compare table.csv --task sorting", "sorting"),
    ("compare table.csv --task multilabel", "several targets"),
    ("compare table.csv --target a --target b --task regression", "one target"),
    ("compare table.csv --target kind --score acuracy", "did you mean accuracy"),
    ("compare table.csv --target kind --methods lineer", "did you mean linear"),
    ("compare table.csv --target kind --methods Ridge", "Ridge"),
    ("compare table.csv --target kind --methods CustomOnlineClassifier", "cannot be tried here"),
    ("compare table.csv --target kind --cv 1", "at least 2 folds"),
    ("compare table.csv --target kind --repeats 0", "at least once"),
    ("compare table.csv --target kind --time-budget 0", "must be positive"),
    ("compare table.csv --target kind --rows -1", "must be 0"),
    ("compare table.csv --target kind --keep c", "known: a, b, kind, day"),
    ("compare table.csv --target kind --group a --time-order day", "choose one"),
    ("compare table.csv --group a --task clustering", "not for clustering"),
    ("compare table.csv --target a --group kind", "The groups are 2"),
    ("compare words.csv --target kind --time-order text", "neither dates nor numbers"),
    ("compare table.csv --target kind --report nowhere/r.html", "does not exist"),
    ("compare table.csv --target kind --save nowhere/m.joblib", "does not exist"),
    ("compare table.csv --target kind --save m.pkl", ".joblib or .skops"),
    ("compare table.csv --target kind --probabilities", "--save"),
    ("compare table.csv --target a --probabilities --save m.joblib", "regression"),
    ("compare few.csv --target a --task regression", "needs at least 20"),
    ("compare one.csv --target kind", "one class"),
    ("compare constant.csv --target kind", "No usable column is left"),
    ("compare alone.csv --target kind", "no column besides the target"),
    ("compare ids.csv --target kind", "looks like an identifier"),
    ("compare life.csv --time days", "--event is not given"),
    ("compare life.csv --time dais --event s=1", "did you mean days?"),
    ("compare life.csv --time days --event s", "has 3 values"),
    ("compare life.csv --time days --event s=dead", "never 'dead'"),
    ("compare life.csv --time left --event s=1", "is negative"),
    ("compare games.csv --task ranking", "winner"),
    ("compare life.csv --task ranking --item x --game days --target s", "tells games apart"),
    ("compare games.csv --task ranking --item one --item two --target r", "no result of a game"),
    ("compare games.csv --task ranking --item one --game two --target r", "1 usable game;"),
    ("compare labels.csv --target p --target q", "maybe"),
    ("predict none.joblib table.csv", "--save"),
    ("predict garbage.joblib table.csv", "no sound model file"),
    ("predict other.joblib table.csv", "holds no model"),
    ("predict garbage.skops table.csv", "no sound model file"),
    ("predict garbage.joblib none.csv", "none.csv"),
    ("predict garbage.joblib table.csv --out nowhere/p.csv", "does not exist"),
    ("list zzzzqq", "try fewer"),
    ("list --room rankin", "did you mean ranking"),
    ("show OnlineRnker", "did you mean OnlineRanker"),
    ("show zzzzqq", "the nearest are"),
    ("data fetch uci/sonor", "uci/sonar"),
    ("data fetch libol/glass", "convert_libol"),
    ("reproduce online-rnking", "did you mean online-ranking"),
    ("reproduce --report nowhere/r.html", "does not exist"),
    ("app none.csv --no-browser", "none.csv"),
    ("app few.csv --label c --no-browser", "known: a, b, kind, day"),
    ("app few.csv --gamma much --no-browser", "--gamma must be"),
    ("app empty.csv --no-browser", "is empty"),
]


def faults(said):
    """Return what keeps a message from being sentences, each with the words around it."""
    marks = {
        "two full stops, or one behind a question": r"[.?!;:]\s*[.?!]",
        "a sentence in parentheses within another": r"\w[.?!]\)",
        "a remark behind its sentence": r"[.?!] \([^)]*\)[.?]",
        "a capital in the middle": r"[;:(] (There|The|No|It|Its|Expected|Unpacked|A)\b",
        "Python's own words": r"Traceback|Errno|<class|Error\(|object at 0x",
    }
    found = [
        f"{what}: ...{hit[0]}..."
        for what, mark in marks.items()
        if (hit := re.search(rf".{{0,30}}{mark}.{{0,20}}", said))
    ]
    if not said.endswith((".", "?", ".)")):
        found.append("no full stop at the end")
    if re.match(r"[a-z]+ ", said) and not said.startswith("pip "):
        found.append("it begins small")
    return found


def test_faults_are_seen():
    assert faults("There is no file a.csv; did you mean b.csv?") == []
    for bad in (
        "No column is called 'a'; did you mean b? (--target).",
        "a.csv has nothing..",
        "a.csv is damaged (There is no end.); fetch it.",
        "a.csv: It holds nothing.",
        "there is no file a.csv.",
        "There is no file a.csv",
    ):
        assert faults(bad) != [], bad


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("refusals")
    for name, content in FILES.items():
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
    return folder


@pytest.mark.parametrize(("typed", "part"), MENDED, ids=[typed for typed, _ in MENDED])
def test_a_refusal_is_a_sentence(folder, monkeypatch, typed, part):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("OCTAVO_CACHE", str(folder / "cache"))
    monkeypatch.setattr(_unpacking, "MOST_UNPACKED", 100_000)
    done = runner.invoke(cli.app, typed.split())
    assert done.exit_code == 2, done.output
    start, said = done.stderr.rstrip("\n").split("Error: ")
    assert "\n" not in said
    assert part in said
    assert faults(said) == [], said
