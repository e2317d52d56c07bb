"""How well is the truth of many simulated incidents found? Prints figures: python tests/simulation/run.py [INCIDENTS].

Page sizes 1 and 64, data parallelism 1 to 8; once with full logs, once with whole seconds and 1 % of requests missing.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from kvforensics.engine.trace import TraceOptions, trace
from simulation import engine, logs


def run(seeds: range, *, coarse: bool, missing: float) -> str:
    """One line of figures."""
    wrong = responses = superset = inside = pairs = first = absent = 0
    for seed in seeds:
        incident = engine.simulate(seed, page=(1, 64)[seed % 2], dp=1 + seed // 2 % 8, per_rank=100)
        with tempfile.TemporaryDirectory() as name:
            left_out = logs.write(incident, Path(name), coarse=coarse, missing=missing)
            found = trace(TraceOptions((name,)))
        by_rid = {logs.rid(r, "decode"): r for r in incident.requests}
        got = {found.ranks[e.rank].rid[e.request]: e for e in found.exposed}
        wrong += set(got) != {logs.rid(r, "decode") for r in incident.affected}
        absent += found.absent == len(left_out)
        for rid, exposed in got.items():
            rows: dict[str, int] = {}
            visible = set()
            for writer, count in by_rid[rid].truth.items():
                if writer >= 0:
                    tenant = incident.requests[writer].tenant
                    rows[tenant] = rows.get(tenant, 0) + count
                    if writer not in left_out:
                        visible.add(tenant)
            shares = {s.tenant: s for s in exposed.tenants}
            responses += 1
            superset += visible <= set(exposed.earlier_tenants)
            for tenant in {*rows, *shares}:
                pairs += 1
                share, truth = shares.get(tenant), rows.get(tenant, 0)
                inside += share.low <= truth <= share.high if share else truth == 0
            best = max(rows.values(), default=0)
            first += not rows or any(rows.get(s.tenant, 0) == best for s in exposed.tenants[:3])
    return (
        f"{len(seeds)} incidents, {wrong} with other affected requests than the truth, {responses} responses; superset "
        f"{superset / responses:.2%}; 90 % intervals hold {inside / pairs:.2%} of {pairs} shares; top source in the first "
        f"three {first / responses:.2%}; missing requests reported in {absent} incidents"
    )


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for coarse, missing in ((False, 0.0), (True, 0.01)):
        began = time.process_time()
        print("whole seconds, 1 % missing:" if coarse else "full logs:", run(range(count), coarse=coarse, missing=missing))
        print(f"  {time.process_time() - began:.0f} s of processor time")
