"""Log-log plots as SVG, without a plotting library."""

import math
from collections.abc import Mapping, Sequence
from html import escape

Points = Sequence[tuple[float, float]]
_WIDTH, _HEIGHT = 720, 440
_LEFT, _TOP, _RIGHT, _BOTTOM = 76, 40, 190, 56
_COLORS = ("#0b6e4f", "#3a86c8", "#c1121f", "#8d6a9f", "#e09f3e", "#5c677d")


def loglog(title: str, x_label: str, y_label: str, series: Mapping[str, Points]) -> str:
    """An SVG with one line a series; both axes are logarithmic, the x axis in powers of two (MiB)."""
    xs = [x for points in series.values() for x, _ in points]
    ys = [y for points in series.values() for _, y in points]
    x_low, x_high = math.log2(min(xs)), math.log2(max(xs))
    y_low, y_high = math.floor(math.log10(min(ys))), math.ceil(math.log10(max(ys)))
    wide, high = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def at(x: float, y: float) -> tuple[float, float]:
        along = (math.log2(x) - x_low) / max(x_high - x_low, 1e-9)
        up = (math.log10(y) - y_low) / max(y_high - y_low, 1)
        return round(_LEFT + along * wide, 1), round(_TOP + (1 - up) * high, 1)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="{escape(title)}">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#ffffff"/>',
        f'<text x="{_LEFT}" y="22" font-size="15">{escape(title)}</text>',
    ]
    for power in range(y_low, y_high + 1):
        _, y = at(min(xs), 10.0**power)
        out.append(f'<path d="M{_LEFT} {y}H{_LEFT + wide}" stroke="#d8dde3"/>')
        out.append(f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{10.0**power:g}</text>')
    for mark in sorted(set(xs)):
        x, _ = at(mark, 10.0**y_low)
        name = f"{mark / 1024:g} GiB" if mark >= 1024 else f"{mark:g} MiB"
        out.append(f'<path d="M{x} {_TOP}V{_TOP + high}" stroke="#eef1f4"/>')
        out.append(f'<text x="{x}" y="{_TOP + high + 18}" text-anchor="middle">{name}</text>')
    middle = _TOP + high / 2
    out.append(f'<text x="{_LEFT + wide / 2}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(x_label)}</text>')
    out.append(f'<text transform="translate(18 {middle}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>')
    for number, (name, points) in enumerate(series.items()):
        color = _COLORS[number % len(_COLORS)]
        places = [at(x, y) for x, y in sorted(points)]
        path = "M" + "L".join(f"{x} {y}" for x, y in places)
        out.append(f'<path d="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        out += [f'<circle cx="{x}" cy="{y}" r="3" fill="{color}"/>' for x, y in places]
        row = _TOP + 12 + number * 20
        out.append(f'<rect x="{_LEFT + wide + 16}" y="{row - 9}" width="12" height="12" fill="{color}"/>')
        out.append(f'<text x="{_LEFT + wide + 34}" y="{row + 2}">{escape(name)}</text>')
    return "\n".join([*out, "</svg>"]) + "\n"
