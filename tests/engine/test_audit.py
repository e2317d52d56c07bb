"""Does the audit read every shape of a start-up log, and is unknown never a pass?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from kvforensics.cli import main
from kvforensics.engine.audit import Audit, AuditOptions, audit
from kvforensics.engine.environment import read_surroundings
from kvforensics.engine.server_args import read_server_args

REPR = (
    "server_args=ServerArgs(model_path='m', api_key='s3cret', context_length={context}, page_size=64, tp_size=2, dp_size=1, "
    "disaggregation_mode='{role}', disaggregation_transfer_backend='mooncake', allow_auto_truncate=False{more})"
)
DICT = (
    "server_args={{'model_path': 'm', 'note': \"it's, {{x}}\", 'context_length': {context}, 'page_size': 64, 'tp_size': 2, "
    "'dp_size': 1, 'disaggregation_mode': '{role}', 'disaggregation_transfer_backend': 'mooncake', "
    "'allow_auto_truncate': False{more}}}"
)
CAPACITY = (
    "max_total_num_tokens={pool}, chunked_prefill_size=8192, max_prefill_tokens=16384, max_running_requests=64, "
    "context_len={context}{memory}"
)
MEMORY = ", available_gpu_mem=30.55 GB"
NEW = ", 'radix_eviction_policy_config': None, 'disaggregation_enable_kv_checksum': True, 'attn_dp_size': 1, 'kv_canary': 'log'"


def started(
    role: str, pool: int, context: int, *, shape: str = REPR, more: str = "", memory: str = MEMORY, at: str = "06:00"
) -> str:
    ready = "[2026-08-29 {at}:09] The server is fired up and ready to roll!"
    return "\n".join((
        f"[2026-08-29 {at}:00] " + shape.format(context=context, role=role, more=more),
        f"[2026-08-29 {at}:05 TP1] KV Cache is allocated. #tokens: {pool}, K size: 1.31 GB, V size: 1.31 GB",
        f"[2026-08-29 {at}:06 TP0] " + CAPACITY.format(pool=pool, context=context, memory=memory),
        ready.format(at=at), "",
    ))  # fmt: skip


def audited(tmp_path: Path, *logs: str, env: str | None = None, **more: object) -> Audit:
    paths = []
    for number, text in enumerate(logs):
        path = tmp_path / f"node-{number}.log"
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    choices = []
    if env is not None:
        (tmp_path / "surroundings.txt").write_text(env, encoding="utf-8")
        choices = [(None, str(tmp_path / "surroundings.txt"))]
    return audit(AuditOptions(tuple(paths), read_surroundings(choices), **more))


def status(found: Audit, check: str, node: str | None = "node-0.log") -> str | None:
    return next((c.status for c in found.checks if c.id == check and c.node == node), None)


@pytest.mark.parametrize(
    ("text", "pool", "limit", "least", "below"),
    [
        (started("prefill", 1000, 2000, memory="", more=", pdlb_url=None"), 1000, 994, None, "0.4.10"),
        (started("prefill", 1000, 2000, more=", pdlb_url=None"), 1000, 994, "0.4.10", "0.5.2"),
        (started("decode", 1000, 2000, more=", radix_eviction_policy='lru', disaggregation_decode_tp=1"),
         1000, 994, "0.5.5", "0.5.11"),
        (started("decode", 3000, 2000, more=", kv_canary='none', cuda_graph_max_bs=8"), 3000, 1994, "0.5.13", "0.5.15"),
        (started("decode", 3000, 2000, shape=DICT), 3000, 1994, "0.5.19", None),
        (started("decode", 3000, 2000, shape=DICT, more=", 'dsa_prefill_cp_mode': None"), 3000, 1994, "0.5.19", "0.5.20"),
        (started("decode", 3000, 2000, shape=DICT, more=NEW), 3000, 1994, "0.5.22", None),
    ],
    ids=["0.4.6", "0.4.10", "0.5.5", "0.5.13", "0.5.19 or later", "0.5.19", "0.5.22"],
)  # fmt: skip
def test_each_shape_of_a_start_gives_pool_limit_and_version(
    tmp_path: Path, text: str, pool: int, limit: int, least: str | None, below: str | None
) -> None:
    (node,) = audited(tmp_path, text).document()["nodes"]
    assert (node["pool_tokens"], node["first_rejected_length"], node["page_size"]) == (pool, limit, 64)
    assert (node["version"]["at_least"], node["version"]["below"]) == (least, below)


def test_the_address_space_bound_is_not_the_pool(tmp_path: Path) -> None:
    text = (
        "[2026-09-20 07:02:17 TP0] KV Cache VA upper bound. dtype: torch.float8_e4m3fn, #tokens: 1310720, KV size: 1 GB\n"
        "[2026-09-20 07:02:54 TP0] Post-capture KV sizing: KV cache allocated. dtype: torch.bfloat16, #tokens: 1179648, x\n"
        "[2026-09-20 07:02:54 TP0] draft KV Cache is allocated. dtype: torch.bfloat16, #tokens: 99, KV size: 1 GB\n"
        "[2026-09-20 07:02:55 TP0] max_total_num_tokens: 5 is what the sizing started from\n"
    )
    (node,) = audited(tmp_path, text).document()["nodes"]
    assert (node["pool_tokens"], node["pool_basis"]) == (1179648, "post-capture sizing")
    assert node["first_rejected_length"] is None
    assert node["first_rejected_max"] == 1179642


@pytest.mark.parametrize("wrap", ["cri", "docker", "compose", "shipper", "ray", "box", "tracing"])
def test_every_dress_is_taken_off(tmp_path: Path, wrap: str) -> None:
    dresses = {
        "cri": lambda t: f"2026-08-29T04:00:44.2Z stderr F {t}",
        "docker": lambda t: json.dumps({"log": t + "\n", "stream": "stderr", "time": "2026-08-29T04:00:44.2Z"}),
        "compose": lambda t: f"glm-prefill-0-1  | {t}",
        "shipper": lambda t: json.dumps({"ts": 1788438100410, "kubernetes": {"pod": "p"}, "message": f"\x1b[36m{t}\x1b[0m"}),
        "ray": lambda t: f"\x1b[36m(SGLangEngine pid=616, ip=10.42.3.20)\x1b[0m {t}",
        "box": lambda t: f"│ {t}   │",
        "tracing": lambda t: f"2026-08-29T04:00:44.410Z  INFO scheduler.init: {t[t.index(']') + 2 :]}",
    }  # fmt: skip
    text = "\n".join(dresses[wrap](line) for line in started("prefill", 1000, 2000).splitlines())
    (node,) = audited(tmp_path, text).document()["nodes"]
    assert (node["role"], node["pool_tokens"], node["context_length"]) == ("prefill", 1000, 2000)


@pytest.mark.parametrize("size", [40, 300])
@pytest.mark.parametrize("runtime", ["cri", "docker"])
def test_a_line_that_the_runtime_split_is_joined_between_other_streams(tmp_path: Path, runtime: str, size: int) -> None:
    def pieces(text: str) -> list[str]:
        cut = [text[i : i + size] for i in range(0, len(text), size)]
        stamp = "2026-08-29T03:58:02.051Z"
        if runtime == "cri":
            return [f"{stamp} stderr {'F' if n == len(cut) - 1 else 'P'} {part}" for n, part in enumerate(cut)]
        ends = [part + ("\n" if n == len(cut) - 1 else "") for n, part in enumerate(cut)]
        return [json.dumps({"log": part, "stream": "stderr", "time": stamp}, separators=(",", ":")) for part in ends]

    other = (
        "2026-08-29T03:58:02.052Z stdout F GET /health"
        if runtime == "cri"
        else '{"log":"GET /health\\n","stream":"stdout","time":"2026-08-29T03:58:02.052Z"}'
    )
    lines = [
        piece
        for text in started("prefill", 1000, 2000).splitlines()
        for part in pieces(text)
        for piece in (part, other)
    ]
    (node,) = audited(tmp_path, "\n".join(lines)).document()["nodes"]
    assert (node["role"], node["pool_tokens"], node["settings_whole"]) == ("prefill", 1000, True)


def test_a_split_line_without_its_end_is_a_problem_and_tells_what_it_can(tmp_path: Path) -> None:
    text = (
        "2026-08-29T03:58:02.051Z stderr P [2026-08-29 05:58:02] "
        + REPR.format(context=2000, role="decode", more="")[:150]
    )
    found = audited(tmp_path, text)
    assert found.nodes[0].args is not None
    assert not found.nodes[0].args.whole
    assert found.inputs[0].problems == ["line 1: the end of a split line is missing"]


def test_each_restart_is_a_start_of_its_own(tmp_path: Path) -> None:
    text = started("prefill", 1000, 2000) + started("prefill", 2500, 2000, at="07:00")
    nodes = audited(tmp_path, text).document()["nodes"]
    assert [(n["start"], n["pool_tokens"], n["first_rejected_length"]) for n in nodes] == [
        (1, 1000, 994),
        (2, 2500, 1994),
    ]


def test_copies_of_the_capacity_line_and_its_dp_replicas_are_one_start(tmp_path: Path) -> None:
    line = "[2026-08-29 06:00:06 DP{rank} TP0] " + CAPACITY.format(pool=1000, context=2000, memory=MEMORY) + "\n"
    found = audited(tmp_path, "".join(line.format(rank=rank) for rank in (0, 1, 0, 1)))
    assert len(found.nodes) == 1


def test_words_of_the_engine_inside_a_request_are_not_believed(tmp_path: Path) -> None:
    text = started("prefill", 1000, 2000) + (
        "[2026-08-29 06:01:00] Receive: obj=GenerateReqInput(text='max_total_num_tokens=9, context_len=5', rid='a')\n"
        "[2026-08-29 06:01:00] Finish: obj=GenerateReqInput(text='server_args=ServerArgs(page_size=1)', rid='a')\n"
    )
    (node,) = audited(tmp_path, text).document()["nodes"]
    assert (node["pool_tokens"], node["page_size"]) == (1000, 64)


def test_prose_about_a_log_is_no_start(tmp_path: Path) -> None:
    text = "Look for `server_args=ServerArgs(...)`, later server_args={...}, and for max_total_num_tokens=5 in quotes.\n"
    assert audited(tmp_path, text).nodes == ()


def test_secrets_of_the_settings_go_no_further(tmp_path: Path) -> None:
    found = audited(tmp_path, started("prefill", 1000, 2000))
    assert "s3cret" not in json.dumps(found.document())
    assert "s3cret" not in repr(found.nodes)


def test_pool_below_context_fails_and_a_pool_that_is_not_told_is_unknown(tmp_path: Path) -> None:
    assert status(audited(tmp_path, started("prefill", 1000, 2000)), "pool_covers_context") == "fail"
    assert status(audited(tmp_path, started("prefill", 2000, 2000)), "pool_covers_context") == "pass"
    only_settings = started("prefill", 1000, 2000).splitlines()[0]
    assert status(audited(tmp_path, only_settings), "pool_covers_context") == "unknown"


@pytest.mark.parametrize(
    ("more", "shape", "guard", "both"),
    [("", REPR, "fail", "fail"), ("", DICT, "unknown", "unknown"), (NEW, DICT, "pass", "pass"),
     (", 'radix_eviction_policy_config': None", DICT, "pass", "unknown"),
     (", 'radix_eviction_policy_config': None, 'elastic_ep_rejoin': None", DICT, "pass", "fail")],
)  # fmt: skip
def test_the_version_checks_follow_the_bracket(tmp_path: Path, more: str, shape: str, guard: str, both: str) -> None:
    found = audited(tmp_path, started("decode", 2000, 2000, shape=shape, more=more))
    assert (status(found, "version_result_guard"), status(found, "version_both_fixes")) == (guard, both)


@pytest.mark.parametrize(
    ("env", "release", "batches"),
    [
        (None, "unknown", "unknown"),
        ("PATH=/bin\n", "pass", "fail"),
        ("SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE=0\n", "fail", "fail"),
        ("SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES=0\n", "pass", "fail"),
        ('env:\n  - name: SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES\n    value: "4096"\n', "pass", "pass"),
        ('{"env": [{"name": "SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE", "value": "1"}]}', "pass", "fail"),
        ("env:\n  - name: SGLANG_DISAGGREGATION_DEFERRED_DECODE_KV_RELEASE\n    valueFrom: {key: a}\n", "unknown", "fail"),
        ("services:\n  decode:\n    environment:\n      SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES: 9\n"
         "    command: --disaggregation-mode decode\n"
         "  prefill:\n    command: --disaggregation-mode prefill\n", "pass", "pass"),
    ],
    ids=["nothing", "dump", "off", "zero", "pod spec", "json", "reference", "compose"],
)  # fmt: skip
def test_switches_of_the_environment_need_evidence_of_it(
    tmp_path: Path, env: str | None, release: str, batches: str
) -> None:
    found = audited(tmp_path, started("decode", 2000, 2000, shape=DICT, more=NEW), env=env)
    assert (status(found, "deferred_release"), status(found, "mooncake_batches_bounded")) == (release, batches)


def test_limits_of_both_roles_are_compared(tmp_path: Path) -> None:
    apart = audited(tmp_path, started("prefill", 1000, 2000), started("decode", 2500, 2000))
    assert status(apart, "limits_agree", None) == "fail"
    equal = audited(tmp_path, started("prefill", 2400, 2000), started("decode", 2500, 2000))
    assert status(equal, "limits_agree", None) == "pass"
    alone = audited(tmp_path, started("prefill", 2400, 2000))
    assert status(alone, "limits_agree", None) == "unknown"


def test_the_canary_has_to_be_on_every_rank(tmp_path: Path) -> None:
    one = (
        "[2026-08-29 06:00:0{rank} TP{rank}] install_canary: disaggregation_mode=decode config=CanaryConfig(mode=log)\n"
    )
    base = started("decode", 2000, 2000, shape=DICT, more=NEW)
    assert status(audited(tmp_path, base), "kv_canary_covers") == "fail"
    assert status(audited(tmp_path, base + one.format(rank=0)), "kv_canary_covers") == "unknown"
    assert status(audited(tmp_path, base + one.format(rank=0) + one.format(rank=1)), "kv_canary_covers") == "pass"


def test_a_deployment_passes_only_when_everything_is_told(tmp_path: Path) -> None:
    canary = "".join(
        f"[2026-08-29 06:00:0{r} TP{r}] install_canary: disaggregation_mode=decode config=x\n" for r in (0, 1)
    )
    logs = (
        started("prefill", 2000, 2000, shape=DICT, more=NEW),
        started("decode", 2000, 2000, shape=DICT, more=NEW) + canary,
    )
    env = "SGLANG_MOONCAKE_MAX_TRANSFER_BATCH_INDICES=4096\n"
    assert audited(tmp_path, *logs, env=env).exit_status == 12
    whole = audited(tmp_path, *logs, env=env, attested=("proxy-aborts", "content-tests"))
    assert [c.id for c in whole.checks if c.status != "pass"] == []
    assert whole.exit_status == 0


def test_a_node_that_does_both_parts_has_no_checks(tmp_path: Path) -> None:
    found = audited(tmp_path, started("null", 1000, 2000))
    assert [c for c in found.checks if c.node is not None] == []
    assert found.nodes[0].role == "unified"


def test_the_usage_ratio_bounds_a_pool_that_nobody_printed(tmp_path: Path) -> None:
    text = "".join(
        f"[2026-09-03 14:14:0{n} DP1 TP1] Decode batch, #running-req: 4, #token: {tokens}, token usage: {usage}, "
        "pre-allocated usage: 0.00, #prealloc-req: 0\n"
        for n, (tokens, usage) in enumerate([(505056, "0.56"), (616129, "0.68"), (541691, "0.60")])
    )
    (node,) = audited(tmp_path, text).document()["nodes"]
    assert node["pool_tokens"] is None
    assert node["pool_tokens_min"] <= 901120 <= node["pool_tokens_max"]


def test_decode_context_parallelism_keeps_both_readings_where_the_version_is_open(tmp_path: Path) -> None:
    found = audited(tmp_path, started("decode", 1000, 5000, shape=DICT, more=", 'dcp_size': 2"))
    assert (found.nodes[0].limit.tokens.low, found.nodes[0].limit.tokens.high) == (994, 1994)


def test_a_broken_settings_line_tells_what_stands_before_the_break() -> None:
    args = read_server_args("server_args=ServerArgs(a=[1, (2, 3)], page_size=64, kv_canary='no")
    assert args is not None
    assert (args.number("page_size"), args.whole, args.keys) == (64, False, {"a", "page_size"})


def test_the_command_compares_two_states(tmp_path: Path) -> None:
    for name, pool in (("old", 1000), ("new", 2500)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "p.log").write_text(started("prefill", pool, 2000), encoding="utf-8")
    result = CliRunner().invoke(main, ["audit", "--compare", str(tmp_path / "old"), str(tmp_path / "new"), "--json"])
    document = json.loads(result.stdout)
    changes = {c["id"]: c["effect"] for c in document["changes"]}
    assert (changes["pool_covers_context"], changes["version_result_guard"], result.exit_code) == ("better", "same", 10)


def test_the_command_wants_logs_or_two_states(tmp_path: Path) -> None:
    assert CliRunner().invoke(main, ["audit"]).exit_code == 2


def test_the_text_names_the_line_behind_each_check(tmp_path: Path) -> None:
    (tmp_path / "p.log").write_text(started("prefill", 1000, 2000), encoding="utf-8")
    result = CliRunner().invoke(main, ["audit", str(tmp_path / "p.log"), "--workers", "1"])
    assert result.exit_code == 10
    assert "p.log:3" in result.stdout
    assert result.stdout.startswith("FAIL.")


def test_the_page_of_an_audit_has_every_check_and_lets_nothing_act(tmp_path: Path) -> None:
    wrapped = json.dumps({"kubernetes": {"pod": "<img src=x>"}, "message": "@"})
    text = "\n".join(wrapped.replace('"@"', json.dumps(line)) for line in started("prefill", 1000, 2000).splitlines())
    (tmp_path / "old.log").write_text(text, encoding="utf-8")
    (tmp_path / "new.log").write_text(started("decode", 3000, 2000), encoding="utf-8")
    page, ticket, data = (tmp_path / name for name in ("a.html", "a.md", "a.json"))
    done = CliRunner().invoke(main, ["audit", str(tmp_path / "old.log"), *(f"-o{p}" for p in (page, ticket, data))])
    assert done.exit_code == 10
    document = json.loads(data.read_text())
    for check in document["checks"]:
        assert check["title"].replace("'", "&#39;") in page.read_text()
    assert document["nodes"][0]["node"] == "<img src=x>"
    assert "<img" not in page.read_text()
    assert "verdict-fail" in page.read_text()
    changed = CliRunner().invoke(main, [
        "audit", "--compare", str(tmp_path / "old.log"), str(tmp_path / "new.log"), "-o", str(tmp_path / "c.html"),
    ])  # fmt: skip
    assert changed.exit_code == 10
    assert "Each check before and after" in (tmp_path / "c.html").read_text()


def test_numbers_that_nobody_should_write_are_not_read_and_stop_nothing(tmp_path: Path) -> None:
    long = "9" * 5_000
    text = (
        f"[2026-08-29 06:00:00 TP{long}] max_total_num_tokens=5, context_len=7\n"
        f"[2026-08-29 06:00:01 TP0] max_total_num_tokens={long}, context_len={long}\n"
        f"[2026-08-29 06:00:02 TP0] KV Cache is allocated. #tokens: {long}, K size: 1 GB\n"
        f"[2026-08-29 06:00:03] Request length is longer than the pool. Truncated. len(req.origin_input_ids)={long}, "
        f"max_req_input_len=5.\n"
        f"[2026-08-29 06:00:04] ReqTimeStats(rid=a, bootstrap_room={long}, input_len={long}, output_len=1, type=decode): "
        f"forward_duration={long}.1.2ms, entry_time={long}.5\n"
    )
    (tmp_path / "x.log").write_text(text, encoding="utf-8")
    for command in ("audit", "signatures"):
        assert CliRunner().invoke(main, [command, str(tmp_path / "x.log")]).exit_code in (11, 12)


def test_the_names_of_the_settings_of_a_fleet_are_held_once(tmp_path: Path) -> None:
    one, other = audited(tmp_path, started("prefill", 1000, 2000), started("prefill", 3000, 2000)).nodes
    assert one.args is not None
    assert other.args is not None
    assert one.args.keys is other.args.keys
