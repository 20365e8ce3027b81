#!/usr/bin/env python3
"""Plots of reports that `pullback load --echo … --json FILE` wrote, as SVG.

    plot_load.py percentiles OUT.svg REPORT.json      latency by percentile, server and echo
    plot_load.py ratios OUT.svg REPORT.json...        ratios to the echo by requests in flight
"""

import json
import math
import sys

WIDTH, HEIGHT = 640, 360
LEFT, RIGHT, TOP, BOTTOM = 64, 16, 36, 48
COLOURS = {"server": "#1f5fa8", "echo": "#8a8a8a", "p50": "#1f5fa8", "answers/s": "#b3541e"}


class Plot:
    """Axes with ticks, lines and a legend; both axes map a value to 0..1 themselves."""

    def __init__(self, title, x_label, y_label, x_of, y_of):
        self.x_of, self.y_of = x_of, y_of
        self.parts = []
        self.names = 0
        self.text(WIDTH / 2, 20, title, size=14)
        self.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 10, x_label)
        middle = (TOP + HEIGHT - BOTTOM) / 2
        self.parts.append(f'<text x="14" y="{middle}" text-anchor="middle" '
                          f'transform="rotate(-90 14 {middle})">{y_label}</text>')

    def text(self, x, y, text, anchor="middle", size=12, fill="#222"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" '
                          f'font-size="{size}" fill="{fill}">{text}</text>')

    def at(self, x, y):
        inner_x, inner_y = WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM
        return LEFT + self.x_of(x) * inner_x, HEIGHT - BOTTOM - self.y_of(y) * inner_y

    def path(self, points, colour, dash=""):
        spots = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{spots}" fill="none" stroke="{colour}" '
                          f'stroke-width="{1 if dash else 2}" stroke-dasharray="{dash}"/>')

    def x_tick(self, x, label):
        place, _ = self.at(x, 0)
        self.path([(place, TOP), (place, HEIGHT - BOTTOM)], "#ddd", "1 0")
        self.text(place, HEIGHT - BOTTOM + 16, label)

    def y_tick(self, y, label):
        _, place = self.at(0, y)
        self.path([(LEFT, place), (WIDTH - RIGHT, place)], "#ddd", "1 0")
        self.text(LEFT - 6, place + 4, label, anchor="end")

    def level(self, y, colour, label):
        _, place = self.at(0, y)
        self.path([(LEFT, place), (WIDTH - RIGHT, place)], colour, "5 4")
        self.text(WIDTH - RIGHT - 4, place - 4, label, anchor="end", fill=colour)

    def line(self, name, values, marks=False):
        points = [self.at(x, y) for x, y in values]
        self.path(points, COLOURS[name])
        if marks:
            self.parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{COLOURS[name]}"/>'
                           for x, y in points]
        self.text(LEFT + 12, TOP + 18 + 16 * self.names, name, anchor="start", fill=COLOURS[name])
        self.names += 1

    def write(self, path):
        body = "\n".join(self.parts)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
                       f'font-family="sans-serif" font-size="12">\n'
                       f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>\n{body}\n</svg>\n')


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def percentiles(out, path):
    report = load(path)
    sides = {side: report[side]["histogram_us"] for side in ("server", "echo")}
    # 0 at the median's half, each further nine the same distance on: 0, 90, 99, 99.9, 99.99 %.
    nines = 4

    def x_of(share):
        return min(1.0, -math.log10(max(1 - share, 10**-nines)) / nines)

    low = min(h[0][0] for h in sides.values())
    high = max(h[-1][1] for h in sides.values())
    floor, ceiling = math.floor(math.log10(low)), math.ceil(math.log10(high))

    def y_of(us):
        return (math.log10(max(us, low)) - floor) / (ceiling - floor)

    loop = f'{report["concurrency"]} in flight' if report["loop"] == "closed" else f'{report["rate"]:g}/s'
    plot = Plot(f'Warm {report["rpc"]}, {report["loop"]} loop, {loop}', "percentile", "latency, µs",
                x_of, y_of)
    for share, label in [(0, "0"), (0.5, "50"), (0.9, "90"), (0.99, "99"), (0.999, "99.9"), (0.9999, "99.99")]:
        plot.x_tick(share, label)
    for power in range(floor, ceiling + 1):
        plot.y_tick(10.0**power, f"{10**power:,}" if power >= 0 else f"{10.0**power:g}")
    for side, histogram in sides.items():
        total, seen, values = sum(b[2] for b in histogram), 0, []
        for _, highest, count in histogram:
            values.append((seen / total, highest))
            seen += count
        plot.line(side, [v for v in values if 1 - v[0] >= 10**-nines])
    plot.write(out)


def ratios(out, paths):
    reports = sorted((load(p) for p in paths), key=lambda r: r["concurrency"])
    counts = [r["concurrency"] for r in reports]
    last = math.log2(counts[-1] / counts[0])
    low, high = 0.5, 2.0
    plot = Plot("pullbackd to the bare echo, warm Evaluate", "requests in flight", "ratio",
                lambda c: math.log2(max(c, counts[0]) / counts[0]) / last,
                lambda y: (min(max(y, low), high) - low) / (high - low))
    for count in counts:
        plot.x_tick(count, str(count))
    for tenths in range(6, 21, 2):
        plot.y_tick(tenths / 10, f"{tenths / 10:.1f}")
    plot.level(1.2, COLOURS["p50"], "p50 promised ≤ 1.2")
    plot.level(0.8, COLOURS["answers/s"], "answers/s promised ≥ 0.8")
    plot.line("p50", [(r["concurrency"], r["ratios"]["p50"]) for r in reports], marks=True)
    plot.line("answers/s", [(r["concurrency"], r["ratios"]["answers_per_second"]) for r in reports],
              marks=True)
    plot.write(out)


def main(arguments):
    if len(arguments) == 3 and arguments[0] == "percentiles":
        return percentiles(*arguments[1:])
    if len(arguments) >= 4 and arguments[0] == "ratios":
        return ratios(arguments[1], arguments[2:])
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
