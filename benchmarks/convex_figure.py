"""The figure of the convex methods: excess against epsilon, and against gradient evaluations."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def draw(lines: list[dict[str, Any]], about: str, out: Path) -> None:
    """Write convex-methods.svg and .png: excess against epsilon, and against gradients."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "convex-methods"})
    from matplotlib import pyplot, ticker

    names = list(dict.fromkeys(line["setting"] for line in lines))
    figure, axes = pyplot.subplots(len(names), 2, figsize=(13, 4.2 * len(names)))
    markers = "osD^v<>PX*h"
    for row, name in enumerate(names):
        left, right = axes[row]
        chosen = [line for line in lines if line["setting"] == name]
        for k, line in enumerate(chosen):
            means = [cell["mean"] for cell in line["cells"]]
            style = {"marker": markers[k], "color": f"C{k}" if k < 10 else "black"}
            left.errorbar(
                line["epsilon"],
                means,
                yerr=[cell["error"] for cell in line["cells"]],
                linestyle="-" if line["pure"] else "--",
                linewidth=1,
                markersize=5,
                **style,
            )
            work = [cell["derivatives"] for cell in line["cells"]]
            label = f"{line['method']}: {line['rate']}  [{line['source']}]"
            right.plot(work, means, linestyle=":", linewidth=0.8, label=label, **style)
        left.set(xscale="log", yscale="log", xlabel="epsilon", ylabel=chosen[0]["measure"])
        right.set(xscale="log", yscale="log", xlabel="gradient evaluations / n")
        right.set_xlim(0.3, 400)
        right.xaxis.set_minor_formatter(ticker.NullFormatter())
        left.set_title(f"{name} ({about}; solid: pure)", fontsize=8)
        right.set_title("the same points against their work", fontsize=8)
        right.legend(fontsize=6.5, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    figure.tight_layout()
    for kind in ("svg", "png"):
        figure.savefig(
            out / f"convex-methods.{kind}",
            dpi=120,
            metadata={"Date": None} if kind == "svg" else None,
        )
    pyplot.close(figure)
    print(f"figure: {out / 'convex-methods.svg'} and .png")
