"""`octavo app` at the command line: what it says when it cannot start, and where it listens."""

import builtins
import re
import socket
import urllib.request

import pytest
from typer.testing import CliRunner

from octavo import cli

pytest.importorskip("bokeh")
pytest.importorskip("pandas")

from octavo.app.map_server import MapServer
from octavo.app.map_sessions import start_session
from octavo.app.map_tables import load_table

runner = CliRunner()


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(
        "size,weight,kind\n" + "".join(f"{i},{i * i % 7},k{i % 2}\n" for i in range(12))
    )
    return path


@pytest.fixture
def runs(monkeypatch):
    """Let servers start but not stay; return what was served."""
    served = []
    monkeypatch.setattr(MapServer, "run", lambda self: (served.append(self), self.stop()))
    return served


def invoke(*arguments):
    result = runner.invoke(cli.app, ["app", *map(str, arguments)])
    return result, re.sub(r"\s+", " ", result.output)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["nothing.csv"], "There is no file nothing.csv"),
        (["DATA", "--label", "kinds"], "No column is called 'kinds'; did you mean kind"),
        (["DATA", "--gamma", "wide"], "--gamma must be a number"),
        (["DATA", "--gamma", "-1"], "gamma"),
        (["DATA", "--kernel", "rbb"], "rbb"),
        (["--port", "70000"], "less than or equal to 65535"),
    ],
    ids=["file", "column", "gamma", "negative gamma", "kernel", "port"],
)
def test_what_cannot_be_served_is_told(data, runs, arguments, says):
    result, text = invoke(*(data if a == "DATA" else a for a in arguments))
    assert result.exit_code == 2
    assert says in text
    assert "Traceback" not in text
    assert runs == []


def test_a_port_in_use_is_told(data, runs):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        result, text = invoke(data, "--no-browser", "--port", port)
    assert result.exit_code == 2
    assert f"Port {port} cannot be used" in text


def test_without_bokeh_it_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without_bokeh(name, *rest):
        if name == "octavo.app.map_server":
            raise ModuleNotFoundError("No module named 'bokeh'", name="bokeh")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_bokeh)
    result, text = invoke()
    assert result.exit_code == 2
    assert "needs bokeh, which is not installed: pip install 'octavo[app]'" in text


def test_the_address_is_printed_and_opened(data, runs, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    result, text = invoke(data, "--label", "kind", "--kernel", "linear", "--low-rank", "5")
    assert result.exit_code == 0
    (server,) = runs
    assert opened == [server.url]
    assert server.url in result.stdout.splitlines()
    assert server.session.to_model().kernel == "linear"
    assert server.session.to_model().low_rank == 5
    assert server.table.label == "kind"
    invoke(data, "--no-browser")
    assert len(runs) == 2
    assert len(opened) == 1
    assert runs[0].url.rsplit("/", 2)[1] != runs[1].url.rsplit("/", 2)[1]


def test_only_this_machine_is_listened_to(data):
    table = load_table(data)
    server = MapServer(table, start_session(table))
    try:
        addresses = {s.getsockname()[0] for s in server._server._http._sockets.values()}
        assert addresses == {"127.0.0.1"}
    finally:
        server.stop()
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(server.url, timeout=5)


def test_rows_few_enough_take_the_whole_kernel(data):
    assert start_session(load_table(data)).to_model().low_rank is None
    assert start_session(load_table()).to_model().low_rank == 300
