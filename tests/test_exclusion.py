"""Do exclusion files say exactly whom they exclude, and can evidence never exclude itself?"""

from __future__ import annotations

import hashlib
import ipaddress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvforensics.errors import UsageError
from kvforensics.exclusion import ExclusionRule, load_exclusions, match_client_ips

HEAD = 'schema = "kvforensics.exclusions/1"\n'
RULE = '[[rule]]\nid = "qa"\ncategory = "test"\nreason = "QA"\napproved_by = "J. Doe"\n'


def write(folder: Path, text: str, name: str = "rules.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def ip_rule(*values: str, ident: str = "r") -> ExclusionRule:
    return ExclusionRule(ident, "test", "x", "y", None, None, (("client_ip", values),))


def test_a_rule_is_read_with_all_that_it_says(tmp_path: Path) -> None:
    text = (
        HEAD
        + RULE
        + (
            "valid_from = 2026-09-01T00:00:00Z\nvalid_until = 2026-09-02T00:00:00+02:00\n"
            'tenant = "team-qa"\nuser_agent = ["k6/*", "curl/*"]\n'
        )
    )
    (loaded,) = load_exclusions([write(tmp_path, text)], [])
    (rule,) = loaded.rules
    assert (rule.id, rule.category, rule.reason, rule.approved_by) == ("qa", "test", "QA", "J. Doe")
    assert rule.valid_from_us == 1_788_220_800_000_000
    assert rule.valid_until_us == rule.valid_from_us + 22 * 3_600_000_000
    assert rule.matchers == (("tenant", ("team-qa",)), ("user_agent", ("k6/*", "curl/*")))
    assert (loaded.name, loaded.digest, loaded.lists) == ("rules.toml", hashlib.sha256(text.encode()).hexdigest(), ())


def test_a_list_file_gives_one_value_a_line_and_is_digested(tmp_path: Path) -> None:
    (tmp_path / "lists").mkdir()
    data = b"\xef\xbb\xbf# heading\r\nteam#1\r\n\r\n  team-2  # why\r\nteam#1\r\n"
    (tmp_path / "lists" / "qa.txt").write_bytes(data)
    (loaded,) = load_exclusions([write(tmp_path, HEAD + RULE + 'tenant = ["@lists/qa.txt", "team-3"]\n')], [])
    assert loaded.rules[0].values("tenant") == ("team#1", "team-2", "team-3")
    assert loaded.lists == (("lists/qa.txt", hashlib.sha256(data).hexdigest()),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD + RULE, "has no matcher"),
        (HEAD + RULE + "tenant = []\n", "rule.tenant should not be empty"),
        (HEAD + RULE + "tenant = 5\n", "rule.tenant should be a list"),
        (HEAD + RULE + 'tenants = "x"\n', "rules.toml:7: rule.tenants is not a known key"),
        (HEAD + RULE.replace('"test"', '"tests"') + 'tenant = "x"\n', "rule.category should be one of"),
        (HEAD + RULE.replace('reason = "QA"\n', "") + 'tenant = "x"\n', "rule.reason is missing"),
        (HEAD + RULE.replace("approved_by", "approver") + 'tenant = "x"\n', "rule.approver is not a known key"),
        (HEAD + RULE + 'client_ip = "192.0.2.300"\n', "rule.client_ip holds '192.0.2.300'"),
        (HEAD + RULE + 'client_ip = "192.0.2.1/24"\n', "rule.client_ip holds '192.0.2.1/24'"),
        (
            HEAD + RULE + 'tenant = "x"\nvalid_from = 2026-09-01T00:00:00\n',
            "rule.valid_from should be a date and time with",
        ),
        (
            HEAD + RULE + 'tenant = "x"\nvalid_from = 2026-09-02T00:00:00Z\nvalid_until = 2026-09-01T00:00:00Z\n',
            "later",
        ),
        (HEAD + RULE + 'tenant = "x"\n' + RULE + 'tenant = "y"\n', "rules.toml:9: rule.id 'qa' is already used"),
        (HEAD + RULE + 'tenant = "@gone.txt"\n', "tenant @gone.txt: no such file"),
        (HEAD + RULE + 'tenant = "@/etc/hosts"\n', "should name a file beside"),
        (HEAD + RULE + 'tenant = "@../list"\n', "should name a file beside"),
        (HEAD + RULE + 'tenant = "@"\n', "should name a file beside"),
        (HEAD + "rules = 1\n", "rules is not a known key"),
        (HEAD, "rule is missing"),
        (RULE + 'tenant = "x"\n', "schema is missing"),
        ("not toml", "not TOML"),
    ],
)
def test_what_is_wrong_is_one_usage_error_that_names_the_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        load_exclusions([write(tmp_path, text)], [])
    assert says in str(error.value)


def test_an_id_is_unique_over_all_files(tmp_path: Path) -> None:
    text = HEAD + RULE + 'tenant = "x"\n'
    with pytest.raises(UsageError, match=r"'qa' is already used in a\.toml"):
        load_exclusions([write(tmp_path, text, "a.toml"), write(tmp_path, text, "b.toml")], [])


def test_a_missing_exclusion_file_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        load_exclusions([tmp_path / "gone.toml"], [])


@pytest.mark.parametrize("by_link", [False, True])
def test_evidence_cannot_exclude_itself(tmp_path: Path, *, by_link: bool) -> None:
    logs = tmp_path / "logs"
    (logs / "deep").mkdir(parents=True)
    path = write(logs / "deep", HEAD + RULE + 'tenant = "x"\n')
    if by_link:
        link = tmp_path / "link.toml"
        link.symlink_to(path)
        path = link
    with pytest.raises(UsageError, match="must not lie inside the scanned paths"):
        load_exclusions([path], [logs])


def test_a_list_inside_the_scanned_paths_is_refused_too(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "list.txt").write_text("x\n", encoding="utf-8")
    with pytest.raises(UsageError, match="must not lie inside"):
        load_exclusions([write(tmp_path, HEAD + RULE + 'tenant = "@logs/list.txt"\n')], [logs])


def test_a_file_beside_the_scanned_folder_is_fine(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    assert load_exclusions([write(tmp_path, HEAD + RULE + 'tenant = "x"\n')], [tmp_path / "logs"])


@pytest.mark.parametrize(
    ("value", "ip", "matches"),
    [
        ("192.0.2.17", "192.0.2.17", True),
        ("192.0.2.17", "192.0.2.18", False),
        ("192.0.2.0/24", "192.0.2.255", True),
        ("192.0.2.0/24", "192.0.3.0", False),
        ("192.0.2.0/24", "::ffff:192.0.2.17", True),
        ("::ffff:192.0.2.0/120", "192.0.2.17", True),
        ("2001:db8::/32", "2001:DB8:0:7::42", True),
        ("2001:db8::/32", "[2001:db8::1]:443", True),
        ("2001:db8::/32", "192.0.2.17", False),
        ("192.0.2.0/24", "192.0.2.17:40122", True),
        ("0.0.0.0/0", "2001:db8::1", False),
        ("192.0.2.0/24", "192.0.2.17, 198.51.100.1", False),
        ("192.0.2.0/24", "", False),
        ("192.0.2.0/24", "-", False),
        ("192.0.2.0/24", "[", False),
    ],
)
def test_an_address_matches_its_networks_in_either_spelling(value: str, ip: str, matches: bool) -> None:
    assert match_client_ips([ip_rule(value)], [ip]) == ([("r", ip)] if matches else [])


def test_pairs_come_by_rule_and_then_by_text_and_once() -> None:
    rules = [ip_rule("192.0.2.0/24", "192.0.2.0/25", ident="b"), ip_rule("192.0.2.2", ident="a")]
    rules.append(ExclusionRule("c", "test", "x", "y", None, None, (("tenant", ("t",)),)))
    assert match_client_ips(rules, ["192.0.2.2", "192.0.2.1", "192.0.2.2"]) == [
        ("b", "192.0.2.1"), ("b", "192.0.2.2"), ("a", "192.0.2.2"),
    ]  # fmt: skip
    assert match_client_ips(rules[2:], ["192.0.2.2"]) == []


@settings(derandomize=True, deadline=None)
@given(
    networks=st.lists(st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 32)), min_size=1, max_size=5),
    ips=st.lists(st.integers(0, 2**32 - 1).map(lambda n: str(ipaddress.IPv4Address(n))), max_size=10),
)
def test_the_quick_look_up_agrees_with_asking_each_network(networks: list[tuple[int, int]], ips: list[str]) -> None:
    values = [ipaddress.ip_network(n, strict=False) for n in networks]
    slow = [("r", ip) for ip in sorted(set(ips)) if any(ipaddress.ip_address(ip) in net for net in values)]
    assert match_client_ips([ip_rule(*map(str, values))], ips) == slow
