"""Draws the tables of experiments/RESULTS.md that a comment `<!-- figure: NAME -->` marks: NAME-light.svg and NAME-dark.svg
beside this file, accuracy over ε with one line for each row of SERIES, and bars of one standard deviation.

usage: draw.py [--check]
--check: writes nothing; exits 1 and names each file that differs from what the tables give.
"""
import argparse
import math
import os
import re
import sys
from html import escape

FOLDER = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(FOLDER, "..", "RESULTS.md")
# Figure -> beginning of a row's first cell -> label at the end of its line.
SERIES = {
    "proven-digits": {
        "`dp-spectral`": "dp-spectral, public images",
        "its student, 1,000 public": "student on public images",
        "`dp-gd`": "dp-gd on fixed features",
        "its student, no data, drawn writing": "student without data",
        "votes of 400 members, 300": "votes of 400, public images",
        "`dpsgd`": "dpsgd, no side information",
        "PATE": "PATE, public images",
    },
    "proven-shuffles": {
        "`dp-spectral`": "dp-spectral, public images",
        "`dp-gd`": "dp-gd on fixed features",
        "its student, no data, drawn writing": "student without data",
        "votes of 400 members, 300": "votes of 400, public images",
        "`dpsgd`": "dpsgd, no side information",
    },
    "proven-cifar10": {
        "`dp-gd`, `patch-linear`": "dp-gd patch-linear",
        "`dp-gd`, `hog-linear`": "dp-gd hog-linear",
        "`dpsgd`": "dpsgd, no side information",
    },
}
TITLES = {
    "proven-digits": "Test accuracy at a proven ε, 8,000 private digits: mean ± deviation of 3 seeds",
    "proven-shuffles": "Test accuracy at a proven ε, three shuffles of the digits: mean ± deviation of 9 runs",
    "proven-cifar10": "Test accuracy at a proven ε, 20,000 images of CIFAR-10: mean ± deviation",
}
# Figures whose vertical scale is the logarithm of the error, and its marks; the others are linear.
ERROR_MARKS = {
    "proven-digits": (30, 50, 70, 80, 90, 95, 97, 98, 99),
    "proven-shuffles": (90, 92, 94, 95, 96, 97, 98, 99),
}
# Okabe and Ito's colours, which people who see few colours can tell apart; lighter where the ground is dark.
COLOURS = {
    "light": ("#0072b2", "#b8560a", "#00795a", "#a0447f", "#8a6d00", "#2b2b2b", "#3a86c8"),
    "dark": ("#56b4e9", "#f0a045", "#2cc79c", "#e39bc8", "#f0e442", "#e8e8e8", "#8fc7ff"),
}
COLOUR_OF = ("dp-spectral", "student on public images", "dp-gd on fixed features", "student without data",
             "votes of 400", "dpsgd", "PATE", "dp-gd patch-linear", "dp-gd hog-linear")
INK = {"light": ("#1f2328", "#d0d7de"), "dark": ("#e6edf3", "#3d444d")}
WIDTH, HEIGHT = 860, 420
LEFT, RIGHT, TOP, BOTTOM = 56, 268, 44, 52


def tables(text):
    """Figure -> (values of ε, [(first cell, {ε: (mean, deviation)})])."""
    found = {}
    for mark in re.finditer(r"<!-- figure: ([\w-]+) -->\n((?:\|.*\n)+)", text):
        head, _, *rows = [[cell.strip() for cell in line.strip("| \n").split(" | ")] for line in mark[2].splitlines()]
        columns = {index: float(name[4:]) for index, name in enumerate(head) if name.startswith("ε = ")}
        body = []
        for row in rows:
            cells = {epsilon: re.fullmatch(r"([\d.]+) ± ([\d.]+)", row[index])
                     for index, epsilon in columns.items() if index < len(row)}
            body.append((row[0], {epsilon: (float(cell[1]), float(cell[2])) for epsilon, cell in cells.items() if cell}))
        found[mark[1]] = sorted(columns.values()), body
    return found


def spread(places, least):
    """Moves labels apart to a distance of at least `least`, keeping their order and staying below the title."""
    order = sorted(range(len(places)), key=lambda index: places[index])
    moved = [places[index] for index in order]
    for _ in range(400):
        for index in range(1, len(moved)):
            gap = least - (moved[index] - moved[index - 1])
            if gap > 0:
                moved[index - 1] -= gap / 2
                moved[index] += gap / 2
        moved[0] = max(moved[0], TOP + 4)
    result = [0.0] * len(places)
    for index, place in zip(order, moved):
        result[index] = place
    return result


def draw(name, epsilons, body, theme):
    ink, grid = INK[theme]
    lines = []
    for start, label in SERIES[name].items():
        points = next((cells for first, cells in body if first.startswith(start)), None)
        if not points:
            raise SystemExit(f"{name}: no row of RESULTS.md begins with {start}")
        lines.append((label, sorted(points.items())))
    if name in ERROR_MARKS:
        marks, note = ERROR_MARKS[name], "both scales are logarithmic (of ε and of the error)"
        def scale(value):
            return -math.log(100 - value)
    else:
        edges = [mean + sign * deviation for _, points in lines for _, (mean, deviation) in points for sign in (-1, 1)]
        marks = range(10 * math.floor(min(edges) / 10), 10 * math.ceil(max(edges) / 10) + 1, 10)
        scale, note = float, "its scale is logarithmic"
    low, high = scale(marks[0]), scale(marks[-1])
    begin, end = math.log(epsilons[0]), math.log(epsilons[-1])

    def x(epsilon):
        return LEFT + 14 + (WIDTH - LEFT - RIGHT - 28) * (math.log(epsilon) - begin) / (end - begin)

    def y(value):
        return TOP + (HEIGHT - TOP - BOTTOM) * (high - scale(value)) / (high - low)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           f'role="img" font-family="-apple-system, Segoe UI, Noto Sans, DejaVu Sans, Helvetica, Arial, sans-serif" '
           f'font-size="13" fill="{ink}">',
           f"<title>{escape(TITLES[name])}</title>",
           f'<text x="{LEFT}" y="22" font-size="15" font-weight="600">{escape(TITLES[name])}</text>']
    for value in marks:
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="{grid}"/>'
                   f'<text x="{LEFT - 8}" y="{y(value) + 4:.1f}" text-anchor="end">{value} %</text>')
    for epsilon in epsilons:
        out.append(f'<text x="{x(epsilon):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{epsilon:g}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.1f}" y="{HEIGHT - 12}" text-anchor="middle">'
               f"ε, proven for one example; {note}</text>")
    places = spread([y(points[-1][1][0]) for _, points in lines], 17)
    for (label, points), place in zip(lines, places):
        colour = COLOURS[theme][COLOUR_OF.index(label.split(",")[0]) % len(COLOURS[theme])]
        path = " ".join(f"{x(epsilon):.1f},{y(mean):.1f}" for epsilon, (mean, _) in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for epsilon, (mean, deviation) in points:
            out.append(f'<line x1="{x(epsilon):.1f}" x2="{x(epsilon):.1f}" y1="{y(mean - deviation):.1f}" '
                       f'y2="{y(mean + deviation):.1f}" stroke="{colour}" stroke-width="1.2"/>'
                       f'<circle cx="{x(epsilon):.1f}" cy="{y(mean):.1f}" r="3.2" fill="{colour}"/>')
        last = points[-1]
        out.append(f'<line x1="{x(last[0]) + 5:.1f}" y1="{y(last[1][0]):.1f}" x2="{WIDTH - RIGHT + 8}" y2="{place:.1f}" '
                   f'stroke="{colour}" stroke-width="0.8"/>'
                   f'<text x="{WIDTH - RIGHT + 12}" y="{place + 4:.1f}" fill="{colour}">{escape(label)}</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description="Draws the figures of experiments/RESULTS.md from its tables.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    options = parser.parse_args()
    with open(PAGE, encoding="utf-8") as file:
        found = tables(file.read())
    stale = []
    for name in SERIES:
        if name not in found:
            raise SystemExit(f"RESULTS.md marks no table <!-- figure: {name} -->")
        for theme in COLOURS:
            path = os.path.join(FOLDER, f"{name}-{theme}.svg")
            text = draw(name, *found[name], theme)
            if not options.check:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                continue
            try:
                with open(path, encoding="utf-8") as file:
                    same = file.read() == text
            except OSError:
                same = False
            if not same:
                stale.append(f"{path} is not what its table gives: run python3 experiments/pictures/draw.py")
    print("\n".join(stale) or ("figures: as their tables" if options.check else f"figures: {2 * len(SERIES)} written"))
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
