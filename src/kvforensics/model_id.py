"""Was a request answered by the affected model?

Reads a model's name together with the provider and the host that the record tells. An id of the incident is the model
wherever it stands; a shorter name is the model at the incident's own provider, another one elsewhere, and undecided where
the record does not say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import Enum
from urllib.parse import unquote

from kvforensics.incident import Incident

GATEWAY = "gateway.ai.cloudflare.com"
CACHE_SIZE = 1 << 16
CACHED_LENGTH = 512
_DATED = re.compile(r"-20[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])$")
_NOT_ALNUM = re.compile(r"[\W_]+")
_REQUEST_LINE = re.compile(r"[A-Z]{3,16} (\S.*?)(?: HTTP/[0-9.]{1,3})?")
_SDK_SUFFIX = re.compile(r"\.(chat|completions?|responses?|messages|generativeai|languagemodel)$")
# Runs are bounded, so that a hostile line cannot make the search slow.
_ESCAPED = re.compile(rb"\\{1,8}u00([2-7][0-9a-f])|%(?:25){0,3}([2-7][0-9a-f])|\\{1,8}(?=/)")
# Even in a field that says who served the call, these do not. Elsewhere a name outside the incident's lists says nothing.
_NOBODY = frozenset(("", "compat", "unknown", "custom", "dynamic", "none", "null", "na"))
# Words of other makers' model names, so that a name without a number is not taken for an alias.
_FAMILIES = frozenset(
    ("gpt", "chatgpt", "claude", "gemini", "gemma", "llama", "mistral", "mixtral", "codestral", "ministral", "deepseek", "qwen",
     "kimi", "moonshot", "grok", "sonar", "command", "whisper", "embedding", "embeddings", "phi", "nova", "titan", "dall",
     "tts", "davinci", "haiku", "sonnet", "opus", "minimax", "jamba", "yi", "bge", "flux", "rerank", "palm", "bison")
)  # fmt: skip


class _Kind(Enum):
    ID = "an id of the incident"
    NAME = "a shorter name of the model"
    HIDDEN = "a route, an alias or a variant that may hide the model"
    OTHER = "another model"


class ModelReader:
    """Reads model names for one incident. Not shared between threads."""

    def __init__(self, incident: Incident) -> None:
        self._ids = tuple(_segments(i) for i in incident.model_ids)
        self._names = frozenset(n.casefold() for n in incident.model_names)
        self._folded = frozenset(map(_fold, self._names))
        held = "|".join(re.escape(t.casefold()) for t in (*incident.model_ids, *incident.model_names))
        self._held = re.compile(rf"(?<![a-z0-9._-])(?:{held})(?![a-z0-9_]|[.-][a-z0-9])")
        self._providers = frozenset(_fold(p) for p in incident.providers)
        self._others = frozenset(_fold(p) for p in incident.other_providers)
        self._hosts, self._other_hosts = incident.hosts, incident.other_hosts
        self._kinds: dict[str, _Kind] = {}
        self._plain: dict[str, bool] = {}
        self._texts = tuple(t.casefold().encode() for t in (*incident.model_ids, *incident.model_names))
        ends = {t.rsplit(b"/", 1)[-1] for t in self._texts}
        self.marks = tuple(sorted({spelled for end in ends for spelled in (end, end.upper(), end.capitalize())}))
        """What is in bytes that have the model's name, in the usual spellings of its letters."""
        self._longest = max(map(len, self._texts)) + 1
        self._mention, self._cut = _mention(self._texts)

    def read(
        self, model: str | None, provider: str | None, host: str | None, *, provider_serves: bool = False
    ) -> bool | None:
        """Whether the record is on the affected model; None where it does not tell.

        `host` may be a name, `host:port` or a URL; `provider_serves` says that `provider` names who served the call.
        """
        model = _target(model) if model else model
        kind = self._kind(model) if model and model.strip() else _Kind.HIDDEN
        if kind is _Kind.ID:
            return True
        if kind is _Kind.OTHER:
            return False
        place = self._place(model, provider, host, serves=provider_serves)
        if kind is _Kind.HIDDEN and place:
            return None
        return place

    def is_plainly_other(self, model_text: str) -> bool:
        """Whether the text alone says another model, whatever provider and host are."""
        known = self._plain.get(model_text)
        if known is None:
            known = bool(model_text.strip()) and self._kind(_target(model_text)) is _Kind.OTHER
            if len(model_text) <= CACHED_LENGTH:
                if len(self._plain) >= CACHE_SIZE:
                    self._plain.clear()
                self._plain[model_text] = known
        return known

    def is_named(self, text: str) -> bool:
        """Whether a text is an id or a shorter name of the model, and no address or sentence with one in it."""
        return not _is_address(text) and len(text.split()) == 1 and self._kind(text) in (_Kind.ID, _Kind.NAME)

    def mentions(self, raw: bytes) -> bool:
        """Whether bytes that could not be read mention the model, also percent-encoded, JSON-escaped or as UTF-16.

        Generous on purpose: it only forbids the verdict *not exposed*. A longer model name does not count, an id or name
        that is cut off by the end of the bytes does.
        """
        plain = raw.lower().translate(None, b"\0")
        if b"%" in plain or b"\\u00" in plain or b"\\/" in plain:
            plain = _ESCAPED.sub(_unescape, plain)
        # A pattern that may start anywhere is slow, so it is tried only where the text is there at all.
        if any(text in plain for text in self._texts) and self._mention.search(plain) is not None:
            return True
        return self._cut.search(plain.rstrip()[-self._longest :]) is not None

    def _kind(self, text: str) -> _Kind:
        kind = self._kinds.get(text)
        if kind is None:
            kind = self._classify(text)
            if len(text) <= CACHED_LENGTH:
                if len(self._kinds) >= CACHE_SIZE:
                    self._kinds.clear()
                self._kinds[text] = kind
        return kind

    def _classify(self, text: str) -> _Kind:
        parts = _segments(text)
        if not parts:
            return _Kind.HIDDEN
        exact = self._equals(parts)
        if exact is not None:
            return exact
        if self._equals((*parts[:-1], parts[-1].split(":", 1)[0])) is not None:
            return _Kind.HIDDEN  # a router's variant, such as `:free`
        if _is_address(text):
            # A path that shows no model (`/v1/chat/completions`) says nothing about it.
            inside = any(parts[i : i + len(ident)] == ident for ident in self._ids for i in range(len(parts)))
            shown = "run" in parts or any(p.startswith("@") for p in parts)
            return _Kind.OTHER if shown and not inside else _Kind.HIDDEN
        if parts[0] == "dynamic":
            return _Kind.HIDDEN
        if _fold(parts[-1]) in self._folded or self._held.search("/".join(parts)[:CACHED_LENGTH]) is not None:
            return _Kind.HIDDEN  # written without its marks, or inside quotes, a list, a version
        return _Kind.HIDDEN if _may_be_alias(parts) else _Kind.OTHER

    def _equals(self, parts: tuple[str, ...]) -> _Kind | None:
        for last in dict.fromkeys((parts[-1], _DATED.sub("", parts[-1]))):
            whole = (*parts[:-1], last)
            if any(whole[-len(ident) :] == ident for ident in self._ids):
                return _Kind.ID
            if last in self._names:
                return _Kind.NAME
        return None

    def _place(self, model: str | None, provider: str | None, host: str | None, *, serves: bool) -> bool | None:
        """True at the incident's own provider, False elsewhere, None where nothing tells."""
        at = self._at_host(_address_of(model, host))
        if at is None:
            at = self._at_provider(provider or "", serves=serves)
        if (
            at is None
            and model
            and not _is_address(model)
            and self._providers & {_fold(p) for p in _segments(model)[:-1]}
        ):
            at = True
        return at

    def _at_host(self, address: str) -> bool | None:
        name, path = _split(address)
        if not name:
            return None
        if name == GATEWAY and len(path) > 1:
            # /v1/{account}/{gateway}/{provider}/...
            named = _fold(path[3]) if len(path) > 3 else ""
            return True if named in self._providers else False if named in self._others else None
        if _among(name, self._hosts):
            return True
        return False if _among(name, self._other_hosts) else None

    def _at_provider(self, provider: str, *, serves: bool) -> bool | None:
        text = provider.strip().casefold()
        for folded in (_fold(text), _fold(_SDK_SUFFIX.sub("", text))):
            if folded in self._providers:
                return True
            if folded in self._others:
                return False
        return False if serves and _fold(text) not in _NOBODY else None


def _fold(name: str) -> str:
    return _NOT_ALNUM.sub("", name.casefold())


def _segments(text: str) -> tuple[str, ...]:
    """The path segments of a model text: no query, decoded, folded."""
    plain = re.split(r"[?#]", text.strip(), maxsplit=1)[0]
    for _ in range(3):  # a proxy may encode what was encoded already
        decoded = unquote(plain, errors="surrogateescape")
        if decoded == plain:
            break
        plain = decoded
    return tuple(p.casefold() for p in plain.strip().split("/") if p)


def _target(text: str) -> str:
    """The target of a request line as access logs keep it (`POST /ai/run/... HTTP/2.0`), any other text as it is."""
    found = _REQUEST_LINE.fullmatch(text.strip())
    return found[1] if found and _is_address(found[1]) else text


def _is_address(text: str) -> bool:
    return "://" in text or text.lstrip().startswith("/")


def _may_be_alias(parts: tuple[str, ...]) -> bool:
    """Makers put numbers in the names of models; people who name routes and aliases seldom do."""
    if any(p.startswith("@") for p in parts) or any(c.isdigit() for c in parts[-1]):
        return False
    return not any(family in _FAMILIES for part in parts for family in re.split(r"[-_.: ]", part))


def _address_of(model: str | None, host: str | None) -> str:
    """Where the call went: the host, with the path that the model text shows where the host has none."""
    place = (host or "").strip()
    if model and _is_address(model):
        text = model.strip()
        if not place:
            return text if "://" in text else ""
        if text.startswith("/") and not _split(place)[1]:
            return place.rstrip("/") + text
    return place


def _split(address: str) -> tuple[str, tuple[str, ...]]:
    """Host name and path segments of a URL, a base URL without scheme, or `host:port`."""
    rest = address.split("://", 1)[-1]
    path = _segments(rest)
    if not path:
        return "", ()
    name = path[0].rsplit("@", 1)[-1]
    name = name if name.startswith("[") else name.split(":", 1)[0]
    return name.rstrip("."), path[1:]


def _among(name: str, hosts: Iterable[str]) -> bool:
    return any(name == host or name.endswith("." + host) for host in hosts)


def _unescape(found: re.Match[bytes]) -> bytes:
    digits = found[1] or found[2]
    return bytes((int(digits, 16),)).lower() if digits else b""


def _mention(texts: Sequence[bytes]) -> tuple[re.Pattern[bytes], re.Pattern[bytes]]:
    """Patterns for a whole id or name, and for one that the end of the bytes cuts off."""
    whole = b"|".join(re.escape(t) for t in texts)
    cut = b"|".join(re.escape(t[:n]) for t in texts for n in range(len(t) - 1, min(4, len(t) - 1), -1))
    date = rb"(?:-20[0-9]{6})?"
    edge = rb"(?<![a-z0-9._-])"
    return (
        re.compile(edge + b"(?:" + whole + b")" + date + rb"(?![a-z0-9_]|[.-][a-z0-9])"),
        re.compile(edge + b"(?:" + (cut or whole) + rb")\Z"),
    )
