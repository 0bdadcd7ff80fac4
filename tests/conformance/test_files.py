"""Files and text from outside: every module goes through the few that are built for it.

Writers that can leave half a file, readers that unpickle or unpack without a limit, and calls
that run text as code are found in the sources, wherever they are; each exception is named here
with its reason.
"""

import ast
from pathlib import Path

import octavo

ROOT = Path(octavo.__file__).parent
ALLOWED = {
    ("_whole_files.py", "write_bytes"): "this is the writer that renames",
    ("_journal_lines.py", "open-ab"): "journals grow line by line, and each line has a checksum",
    ("engine/distributed/shards.py", "open-wb"): "a draft that is renamed when it is whole",
    ("data/loaders/datasets.py", "write_bytes"): "into a stage, from which files are moved",
    ("data/loaders/datasets.py", "savez_compressed"): "into memory",
    ("data/loaders/records.py", "savez_compressed"): "into memory",
    ("cluster/referee/studies.py", "savetxt"): "into a folder that lives as long as the call",
    ("engine/compilation/kernel_cache.py", "pickle.loads"): "behind a checksum, from one's cache",
    ("cli.py", "to_csv"): "into memory",
    ("compare/results/saved.py", "joblib.load"): "a model that the user names, told to be a pickle",
    (
        "compare/running/folds.py",
        "joblib.load",
    ): "what this very comparison put into its own folder",
}
WRITERS = {"write_text", "write_bytes", "tofile", "savez", "savez_compressed", "savetxt", "to_csv"}
RUNNERS = {"eval", "exec", "compile"}
LOADERS = {("pickle", "load"), ("pickle", "loads"), ("joblib", "load"), ("pd", "read_pickle")}


def suspicious(tree):
    """Yield the calls of a module that could write half a file, or obey what they read."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name) and called.id in RUNNERS:
            yield called.id
        if isinstance(called, ast.Attribute):
            owner = called.value.id if isinstance(called.value, ast.Name) else ""
            if called.attr in WRITERS:
                yield called.attr
            if (owner, called.attr) in LOADERS or called.attr == "decompress":
                yield f"{owner}.{called.attr}"
            if (owner, called.attr) == ("np", "load"):
                words = {k.arg: k.value for k in node.keywords}
                plain = isinstance(words.get("allow_pickle"), ast.Constant)
                if not plain or words["allow_pickle"].value is not False:
                    yield "np.load"
        name = getattr(called, "attr", getattr(called, "id", ""))
        modes = (
            [a.value for a in node.args if isinstance(a, ast.Constant)] if name == "open" else []
        )
        for mode in modes:
            if isinstance(mode, str) and set(mode) <= set("rwabx+t") and set(mode) & set("wax"):
                yield f"open-{mode}"


def test_files_are_written_and_read_through_what_is_built_for_it():
    found = {
        (path.relative_to(ROOT).as_posix(), what)
        for path in ROOT.rglob("*.py")
        for what in suspicious(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found - set(ALLOWED) == set(), "use octavo._whole_files, _journal_lines or _unpacking"
    assert set(ALLOWED) - found == set(), "exceptions that are not needed any more"


def test_the_search_finds_what_it_is_for():
    bad = (
        "p.write_text('x')\nnp.load(f)\npickle.loads(b)\neval(s)\ngzip.decompress(b)\n"
        "open(p, 'w')\nnp.load(f, allow_pickle=False)\nopen(p, 'rb')\n"
    )
    assert list(suspicious(ast.parse(bad))) == [
        "write_text",
        "np.load",
        "pickle.loads",
        "eval",
        "gzip.decompress",
        "open-w",
    ]
