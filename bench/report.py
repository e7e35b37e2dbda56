"""From raw rounds to medians, ratios and tables."""

import statistics

# A window in which the proxy waited for its core this long was disturbed by other processes.
DISTURBED_SHARE = 0.05
BEFORE = " before"  # suffix of the name of an earlier build
UNITS = {"us": "CPU us per request", "mb": "MB per CPU second", "kib": "KiB each"}


def undisturbed(rounds):
    """The rounds that count: the undisturbed ones, or all if too few were undisturbed."""
    quiet = [one for one in rounds if one.get("waited_ns", 0) <= DISTURBED_SHARE * one.get("seconds", 1) * 1e9]
    return quiet if len(quiet) >= 3 else rounds


def median(rounds, key):
    values = [one[key] for one in undisturbed(rounds) if key in one]
    return statistics.median(values) if values else None


def better(unit, values):
    return max(values) if unit == "mb" else min(values)


def best_peer(workload, peers):
    present = {name: median(workload["rounds"][name], "value") for name in peers if name in workload["rounds"]}
    if not present:
        return None
    return next(name for name, value in present.items() if value == better(workload["unit"], present.values()))


def ratio(workload, name, peer):
    """The median of the ratios within each cycle: a disturbance affects both sides of a ratio."""
    pairs = [(ours["value"], theirs["value"]) for ours, theirs in zip(workload["rounds"][name], workload["rounds"][peer])]
    return statistics.median(ours / theirs for ours, theirs in pairs if theirs > 0) if any(pair[1] > 0 for pair in pairs) else None


def number(value, digits=1):
    return "" if value is None else f"{value:,.{digits}f}"


def rows(result):
    peers = [name for name, facts in result["contestants"].items() if facts["peer"]]
    for workload in result["workloads"].values():
        peer = best_peer(workload, peers)
        for name, rounds in workload["rounds"].items():
            requests = [one["requests"] / one["seconds"] for one in undisturbed(rounds) if "requests" in one]
            yield {"title": workload["title"], "unit": workload["unit"], "name": name, "best": name == peer,
                   "value": median(rounds, "value"), "ratio": ratio(workload, name, peer) if peer else None,
                   "to_before": ratio(workload, name, name + BEFORE) if name + BEFORE in workload["rounds"] else None,
                   "rate": statistics.median(requests) if requests else None, "p50": median(rounds, "p50_us"),
                   "p99": median(rounds, "p99_us"), "pss": median(rounds, "pss_kib") or median(rounds, "during_kib"),
                   "failed": sum(one.get("failed", 0) for one in rounds)}


def print_rows(result):
    title = None
    for row in rows(result):
        if row["title"] != title:
            title = row["title"]
            print(f"\n{title}\n  {'':20}{UNITS[row['unit']]:>20}{'to best peer':>14}{'to before':>11}{'req/s':>10}{'p50 us':>9}{'p99 us':>9}"
                  f"{'PSS MiB':>9}{'failed':>8}")
        digits = 2 if row["unit"] == "kib" else 1
        print(f"  {row['name']:20}{number(row['value'], digits):>20}{number(row['ratio'], 2):>13}{'*' if row['best'] else ' '}"
              f"{number(row['to_before'], 3):>11}{number(row['rate'], 0):>10}{number(row['p50'], 0):>9}{number(row['p99'], 0):>9}{number(row['pss'] / 1024):>9}{row['failed']:>8}")


def markdown(result):
    """One line per workload, one column per contestant: the value, and in brackets the ratio to the best peer of the same run."""
    names = list(result["contestants"])
    machine = result["machine"]
    lines = [f"Measured {result['date']} at commit {result['commit']} on {machine['cpu']} ({machine['cores']} cores, Linux {machine['kernel']}); "
             + ", ".join(f"{name} {facts['version']}".strip() for name, facts in result["contestants"].items() if facts["peer"])
             + f"; {result['cycles']} interleaved cycles, medians. In brackets the ratio to the best peer (marked *).", "",
             "| workload | unit | " + " | ".join(names) + " |", "|---|---|" + "---|" * len(names)]
    cells = {}
    for row in rows(result):
        digits = 2 if row["unit"] == "kib" else 1
        mark = "\\*" if row["best"] else f" ({number(row['ratio'], 2)})" if row["ratio"] is not None else ""
        cells.setdefault((row["title"], UNITS[row["unit"]]), {})[row["name"]] = number(row["value"], digits) + mark
    for (title, unit), values in cells.items():
        lines.append(f"| {title} | {unit} | " + " | ".join(values.get(name, "") for name in names) + " |")
    return "\n".join(lines)
