"""tests/bench/plot_load.py: plots of small reports, as `pullback load --json` writes them."""

import json
import subprocess
import sys
import xml.etree.ElementTree as xml

import pytest
from conftest import ROOT

SVG = "{http://www.w3.org/2000/svg}"


def report(concurrency, p50, answers, **fields):
    """Half of the latencies are low, one in a thousand is the highest."""
    side = {"histogram_us": [[100, 101, 500], [200, 203, 499], [5000, 5063, 1]]}
    return {"rpc": "Evaluate", "loop": "closed", "concurrency": concurrency, "server": side,
            "echo": {"histogram_us": [[80, 81, 999], [900, 915, 1]]},
            "ratios": {"p50": p50, "answers_per_second": answers}, **fields}


@pytest.fixture
def plot(tmp_path):
    """plot(mode, report...): the elements of the plot, by tag."""

    def run(mode, *reports):
        files = []
        for i, one in enumerate(reports):
            files.append(tmp_path / f"{i}.json")
            files[-1].write_text(json.dumps(one))
        out = tmp_path / "out.svg"
        subprocess.run([sys.executable, ROOT / "tests/bench/plot_load.py", mode, out, *files], check=True)
        root = xml.parse(out).getroot()
        assert root.tag == SVG + "svg"
        return lambda tag: list(root.iter(SVG + tag))

    return run


def texts(elements):
    return [text.text for text in elements("text")]


def lines(elements):
    """Points of the curves: wide lines without dashes; the axes' are thin."""
    return [[tuple(map(float, spot.split(","))) for spot in line.get("points").split()]
            for line in elements("polyline") if line.get("stroke-width") == "2"]


def test_percentiles(plot):
    elements = plot("percentiles", report(16, 1.1, 0.9))
    written = texts(elements)
    assert "Warm Evaluate, closed loop, 16 in flight" in written
    assert {"server", "echo", "50", "99.9", "10", "10,000"} <= set(written)
    server, echo = lines(elements)
    assert len(server) == 3 and len(echo) == 2
    for curve in (server, echo):
        assert curve == sorted(curve)  # to the right by percentile,
        assert [y for _, y in curve] == sorted((y for _, y in curve), reverse=True)  # and up
    assert server[0][0] == echo[0][0] and server[0][1] < echo[0][1]  # 101 µs stands above 81


def test_percentiles_of_an_open_loop(plot):
    assert "Warm Evaluate, open loop, 4000/s" in texts(
        plot("percentiles", report(16, 1.1, 0.9, loop="open", rate=4000.0)))


def test_ratios(plot):
    elements = plot("ratios", report(64, 1.06, 0.92), report(1, 1.31, 0.795), report(8, 3.0, 0.91))
    written = texts(elements)
    assert {"1", "8", "64", "p50", "answers/s", "p50 promised ≤ 1.2"} <= set(written)
    p50, answers = lines(elements)
    assert len(elements("circle")) == 6
    assert [x for x, _ in p50] == sorted(x for x, _ in p50) == [x for x, _ in answers]
    # The further up the larger; what is off the scale stays on the plot.
    assert p50[1][1] < p50[0][1] < p50[2][1] < answers[2][1] < answers[1][1] < answers[0][1]
    assert min(y for _, y in p50) >= 0


def test_wrong_arguments_say_how(tmp_path):
    ran = subprocess.run([sys.executable, ROOT / "tests/bench/plot_load.py", "ratios", tmp_path / "x.svg"],
                         capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "plot_load.py percentiles OUT.svg REPORT.json" in ran.stderr
