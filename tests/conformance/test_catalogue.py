"""Every public thing has a record, and every record is complete."""

import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from octavo._lazy import modules_below
from octavo.catalogue import Method, Paper, find_method, methods, papers
from octavo.problems import PROBLEMS, TASKS, problems_of
from tests.conformance.discovery import (
    PACKAGE,
    declared_cases,
    estimators,
    members_of_records,
    public_names,
    rooms,
)

ROOT = PACKAGE.parent
PAIRS = list(methods())
each_method = pytest.mark.parametrize(
    ("paper", "method"), PAIRS, ids=[method.name for _, method in PAIRS]
)


def family_files(folder: str, method: Method, ending: str) -> list[Path]:
    """Return what a family has there: one file of its name, or a folder with one per method."""
    single = ROOT / folder / method.room / f"{method.family}{ending}"
    several = (ROOT / folder / method.room / method.family).glob(f"[a-z]*{ending}")
    return [single] if single.exists() else sorted(several)


# Names that two rooms have, each with its own meaning.
SHARED = {"required_samples": {"linear", "decomposition"}}  # for privacy; to resolve a slowness


def test_every_public_name_of_a_room_is_in_one_record():
    recorded = [member for _, method in PAIRS for member in method.members]
    twice = {name for name, count in Counter(recorded).items() if count > 1}
    assert twice == set(SHARED), "a member is recorded twice"
    for name, rooms_of_it in SHARED.items():
        assert {method.room for _, method in PAIRS if name in method.members} == rooms_of_it
    public = {name for room in rooms() for name in public_names(room)}
    assert public == set(recorded)


def test_names_of_methods_and_papers_are_unique():
    for names in ([m.name for _, m in PAIRS], [p.key for p in papers()]):
        assert len(names) == len(set(names))


@each_method
def test_record_is_complete(paper: Paper, method: Method):
    for field in ("task", "summary", "use_when", "avoid_when", "instead"):
        assert len(getattr(method, field)) > 10, field
    assert method.members, "no member"
    assert method.peers, "no peer to compare with"
    assert method.name in method.members, "its own name is not public in its room"
    assert importlib.import_module(f"octavo.{method.room}.{method.family}")
    for path in method.modules:
        assert importlib.import_module(f"octavo.{method.room}.{path}")
    for member in method.members:
        assert method.load(member) is not None


@each_method
def test_method_has_a_claim(paper: Paper, method: Method):
    assert any(claim.method == method.name for claim in paper.claims)


@each_method
def test_method_has_one_docs_page(paper: Paper, method: Method):
    marker = f".. octavo-method:: {method.name}\n"
    pages = family_files("docs/methods", method, ".rst")
    assert sum(marker in page.read_text(encoding="utf-8") for page in pages) == 1


@each_method
def test_method_has_a_plot(paper: Paper, method: Method):
    assert method.plots, "no plot"
    assert set(method.plots) <= set(public_names("plot"))


@each_method
def test_family_has_a_benchmark(paper: Paper, method: Method):
    assert family_files("benchmarks", method, ".py")


@each_method
def test_family_has_tests_and_plots_of_its_name(paper: Paper, method: Method):
    assert list((ROOT / "tests" / method.room / method.family).glob("test_*.py"))


@each_method
def test_family_has_an_example(paper: Paper, method: Method):
    """Of its own: one of `plot_hmm_mixtures_...` is none of the family `hmm`."""
    families = {m.family for _, m in PAIRS if m.room == method.room}
    longer = [f for f in families if f.startswith(f"{method.family}_")]
    scripts = (ROOT / "examples" / method.room).glob(f"plot_{method.family}*.py")
    names = [path.stem.removeprefix("plot_") for path in scripts]
    assert [n for n in names if not any(n == f or n.startswith(f"{f}_") for f in longer)]


@pytest.mark.parametrize("paper", papers(), ids=[paper.key for paper in papers()])
def test_claims_are_well_formed(paper: Paper):
    names = [claim.name for claim in paper.claims]
    assert len(names) == len(set(names))
    assert paper.figures, "no figure for the report"
    for claim in paper.claims:
        assert claim.expect.because, claim.name
        assert claim.where, claim.name
        assert claim.seeds, claim.name


def test_every_plot_belongs_to_a_method():
    used = {plot for _, method in PAIRS for plot in method.plots}
    assert set(public_names("plot")) == used


def test_non_table_estimators_declare_a_case():
    declared = {case.name for case in declared_cases()}
    for cls in estimators():
        try:
            tags = cls().__sklearn_tags__()
        except TypeError:  # needs arguments: cannot be checked without a case
            assert cls.__name__ in declared, cls
            continue
        assert tags.input_tags.two_d_array or cls.__name__ in declared, cls


def test_derived_files_are_up_to_date():
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "sync.py"), "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_vague_module_names():
    vague = {"utils", "util", "helpers", "helper", "misc", "common"}
    assert not [path for path in PACKAGE.rglob("*.py") if path.stem in vague]


def test_public_members_are_in_the_modules_all():
    for room in rooms():
        for path in modules_below(f"octavo.{room}"):
            module = importlib.import_module(path)
            for name in getattr(module, "__all__", []):
                thing = getattr(module, name)
                assert inspect.getdoc(thing), f"{path}.{name} has no docstring"
                assert public_names(room)[name] == path


def test_members_point_to_their_method():
    for member, name in members_of_records().items():
        assert member in SHARED or find_method(member)[1].name == name


def test_discovery_finds_what_lies_deep():
    """A walk that stops at the first level would pass every other test by finding nothing."""
    assert len(estimators()) > 100
    assert all(public_names(room) for room in rooms())
    deep = [name for name in modules_below("octavo.kernel") if name.count(".") == 3]
    assert "octavo.kernel.mkl.wrapper" in deep
    with pytest.raises(LookupError, match="holds no module"):
        modules_below("tests.empty_package")


def test_no_public_name_is_also_a_module():
    """Importing such a module would put it in the place of the name it defines."""
    for room in [*rooms(), "plot", "data"]:
        children = {info.name for info in pkgutil.iter_modules([str(PACKAGE / room)])}
        assert children, room
        assert not children & set(public_names(room)), room


def test_every_method_is_on_the_way_from_a_problem():
    lost = [method.name for _, method in methods() if not problems_of(method.name)]
    assert not lost, f"no step of octavo/problems.py leads to {lost}"


def test_every_problem_belongs_to_one_task():
    assert sorted(k for keys in TASKS.values() for k in keys) == sorted(p.key for p in PROBLEMS)


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: p.key)
def test_problems_lead_somewhere(problem):
    for name in problem.names:
        find_method(name)
    assert (ROOT / "examples" / f"{problem.picture}.py").exists()
    assert problem.words
    assert problem.elsewhere.endswith(".")


def test_no_name_is_exported_by_two_modules_of_a_package():
    for stub in sorted(PACKAGE.glob("*/__init__.pyi")):
        names = re.findall(r"import (\w+) as", stub.read_text(encoding="utf-8"))
        twice = sorted({name for name in names if names.count(name) > 1})
        assert not twice, f"{stub.parent.name} exports {twice} twice: the later hides the earlier"
