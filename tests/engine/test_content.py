"""Are leaks found by rare word sequences, are chance and common texts left alone, and is no text printed?"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from click.testing import CliRunner

from kvforensics.cli import main
from kvforensics.engine.bodies import Body, read_bodies
from kvforensics.engine.canary import digest_of
from kvforensics.engine.content import check_content
from kvforensics.engine.shingles import words_of

KEY = b"k" * 32
BOILERPLATE = "you are a helpful assistant and you answer in the language of the user without adding anything else"


def simulated(seed: int, *, requests: int, leaks: int) -> tuple[list[Body], dict[str, str]]:
    """Texts of some tenants with common and rare words, shared boilerplate and own themes; and the source of each leak."""
    chance = random.Random(seed)
    words = [f"w{n}" for n in range(4_000)]
    weights = list(accumulate(1 / (n + 1) for n in range(len(words))))
    themes = {f"t{n}": chance.sample(words, 300) for n in range(12)}

    def text(tenant: str, length: int) -> str:
        common = chance.choices(words, cum_weights=weights, k=length)
        return " ".join(w if chance.random() < 0.6 else chance.choice(themes[tenant]) for w in common)

    bodies = []
    for number in range(requests):
        tenant = chance.choice(list(themes))
        prompt = f"{BOILERPLATE} {text(tenant, 130)}"
        quote = " ".join(prompt.split()[30:60])
        bodies.append(Body(f"r{number}", tenant, prompt, f"{BOILERPLATE} {text(tenant, 60)} {quote}"))
    sources = {}
    for number in chance.sample(range(requests // 2, requests), leaks):
        other = chance.choice([b for b in bodies[: requests // 2] if b.tenant != bodies[number].tenant])
        said = other.prompt.split()
        at = chance.randrange(20, len(said) - 60)
        # A model repeats with slips: now and then a word is another one.
        copied = [w if chance.random() > 0.03 else "slip" for w in said[at : at + 60]]
        answer = f"{bodies[number].answer} {' '.join(copied)}"
        bodies[number] = Body(bodies[number].rid, bodies[number].tenant, bodies[number].prompt, answer)
        sources[bodies[number].rid] = other.tenant
    return bodies, sources


def test_true_leaks_are_found_and_false_ones_are_rare() -> None:
    found = leaked = controls = false = 0
    for seed in range(3):
        bodies, sources = simulated(seed, requests=800, leaks=40)
        result = check_content(lambda bodies=bodies: iter(bodies), dict.fromkeys(sources), KEY)
        pairs = {(m.rid, m.source_tenant) for m in result.matches}
        found += len(pairs & set(sources.items()))
        assert len(pairs - set(sources.items())) == 0
        leaked += len(sources)
        controls += result.controls
        false += result.false_positives
    assert found / leaked >= 0.95
    assert controls > 2_000
    assert false / controls <= 0.001


def test_the_stated_rate_is_an_upper_bound_and_not_stated_without_controls() -> None:
    bodies, sources = simulated(1, requests=300, leaks=5)
    result = check_content(lambda: iter(bodies), dict.fromkeys(sources), KEY)
    assert result.false_positive_rate_at_most is not None
    assert 0 < result.false_positive_rate_at_most < 0.02
    alone = [b for b in bodies if b.rid in sources]
    assert check_content(lambda: iter(alone), dict.fromkeys(sources), KEY).false_positive_rate_at_most is None


def test_what_the_receiver_or_several_tenants_wrote_proves_nothing() -> None:
    text = " ".join(f"secret{n}" for n in range(30))
    own = [Body("a", "x", text, text), Body("b", "y", text, "nothing")]
    assert check_content(lambda: iter(own), {"a": None}, KEY).matches == ()
    several = [Body("a", "x", "hello", text), Body("b", "y", text, ""), Body("c", "z", text, "")]
    assert check_content(lambda: iter(several), {"a": None}, KEY).matches == ()
    one = [Body("a", "x", "hello", text), Body("b", "y", text, "")]
    (match,) = check_content(lambda: iter(one), {"a": ["y"]}, KEY).matches
    assert (match.source_tenant, match.shared, match.in_superset) == ("y", 23, True)


def test_answers_without_a_tenant_are_counted_not_judged() -> None:
    result = check_content(lambda: iter([Body("a", None, "p", "q")]), {"a": None, "b": None}, KEY)
    assert (result.compared, result.without_tenant, result.without_answer, result.exit_status) == (0, 1, 1, 12)


def written(path: Path, objects: list[dict[str, object]]) -> str:
    path.write_text("".join(json.dumps(o) + "\n" for o in objects), encoding="utf-8")
    return str(path)


def test_bodies_of_request_logs_dumps_and_flat_objects_are_read(tmp_path: Path) -> None:
    path = written(tmp_path / "b.jsonl", [
        {"event": "request.finished", "rid": "e", "obj": {"text": "engine prompt", "custom_labels": {"tenant": "x"}},
         "out": {"text": "engine answer", "meta_info": {"id": "e"}}},
        {"request_id": "d", "tenant": "y",
         "request": {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]},
         "response": {"choices": [{"message": {"role": "assistant", "content": "ho"}}]}},
        {"id": "f", "tenant": "z", "prompt": "flat prompt", "completion": "flat answer"},
        {"event": "request.received", "rid": "e", "obj": {"text": "engine prompt"}},
    ])  # fmt: skip
    found = [(b.rid, b.tenant, b.prompt, b.answer) for b in read_bodies((path,))]
    assert found[0][:3] == ("e", "x", "engine prompt")
    assert "engine answer" in found[0][3]
    assert found[1] == ("d", "y", "hi", "ho")
    assert found[2] == ("f", "z", "flat prompt", "flat answer")
    assert len(found) == 3


def test_canaries_are_found_by_keyed_digests_in_answers_to_others_only(tmp_path: Path) -> None:
    key = "00112233445566778899aabbccddeeff"
    phrase = "Project Blue-Heron 7741"
    digest = digest_of(words_of(phrase), bytes.fromhex(key))
    path = written(tmp_path / "b.jsonl", [
        {"id": "own", "tenant": "x", "prompt": "p", "answer": f"about {phrase}"},
        {"id": "leak", "tenant": "y", "prompt": "p", "answer": "they call it PROJECT blue heron 7741!"},
        {"id": "asked", "tenant": "y", "prompt": f"what is {phrase}", "answer": f"{phrase} is unknown"},
    ])  # fmt: skip
    file = tmp_path / "canary.toml"
    file.write_text(
        f'schema = "kvforensics.canary/1"\nkey = "{key}"\n'
        f'[[canary]]\nid = "heron"\ntenant = "x"\nwords = 4\ndigest = "{digest}"\n'
    )
    result = CliRunner().invoke(main, ["content", path, "--canary", str(file), "--json"])
    assert result.exit_code == 10
    assert json.loads(result.stdout)["canaries"] == [
        {"canary": "heron", "owner": "x", "rid": "leak", "tenant": "y", "times": 1}
    ]
    assert "blue" not in result.stdout.lower()


def test_the_command_prints_scores_and_no_text(tmp_path: Path) -> None:
    def objects() -> Iterator[dict[str, object]]:
        for body in bodies:
            yield {"id": body.rid, "tenant": body.tenant, "prompt": body.prompt, "answer": body.answer}

    bodies, sources = simulated(2, requests=200, leaks=4)
    path = written(tmp_path / "b.jsonl", list(objects()))
    affected = tmp_path / "affected.txt"
    affected.write_text("\n".join(sources))
    result = CliRunner().invoke(main, ["content", path, "--affected", str(affected)])
    assert result.exit_code == 10
    assert "rare sequences" in result.stdout
    assert not any(f" w{n} " in result.stdout for n in range(4_000))


def test_answers_that_open_alike_are_counted_against_the_others() -> None:
    bodies = [Body(f"a{n}", "x", "p", "Das rest of it " + str(n)) for n in range(3)]
    bodies += [Body(f"b{n}", "y", "p", f"<think>word{n}", thinks=True) for n in range(4)]
    result = check_content(lambda: iter(bodies), dict.fromkeys(("a0", "a1", "a2")), KEY)
    others, affected = result.openings
    assert (affected["answers"], affected["open_with_the_commonest"], affected["open_with_thinking"]) == (3, 3, 0)
    assert (others["answers"], others["open_with_the_commonest"], others["open_with_thinking"]) == (4, 0, 4)
    assert "Das" not in json.dumps(result.document())


def test_what_the_replay_rules_out_is_shown_and_is_no_find() -> None:
    text = " ".join(f"secret{n}" for n in range(30))
    bodies = [Body("a", "x", "hello", text), Body("b", "y", text, "")]
    result = check_content(lambda: iter(bodies), {"a": ["z"]}, KEY)
    assert [m.in_superset for m in result.matches] == [False]
    assert result.exit_status == 0
    for superset, rows in ((["z", None], 0), (["z"], 63)):
        open_still = check_content(lambda: iter(bodies), {"a": superset}, KEY, rows)
        assert ([m.in_superset for m in open_still.matches], open_still.exit_status) == ([None], 10)
    assert [(a.rid, a.own_containment) for a in result.answers] == [("a", 0.0)]
