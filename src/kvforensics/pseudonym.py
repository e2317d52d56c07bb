"""Under which name does a tenant appear to one group of recipients?

HMAC-SHA-256 under a secret key, with the group in the message: the same group sees the same name for a tenant, two groups
cannot compare names, and nobody can guess a tenant without the key. Whoever holds the key can: this is pseudonymous, not
anonymous, data. Destroying the key cuts the link for good.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
from pathlib import Path

from kvforensics.errors import UsageError

LEAST_KEY_BYTES = 32
_DOMAIN = b"kvforensics/tenant/v1"
_KEY_DOMAIN = b"kvforensics/key-id/v1"


class Pseudonyms:
    """Names for one group of recipients."""

    def __init__(self, key: bytes, group: str) -> None:
        self._key = key
        self._group = group.encode()

    @property
    def key_id(self) -> str:
        """Which key it was, without saying anything about it."""
        return hmac.new(self._key, _KEY_DOMAIN, hashlib.sha256).hexdigest()[:16]

    def name(self, tenant: str) -> str:
        """`t_` and 128 bits."""
        # Lengths go first, so that no two pairs of group and tenant make the same message.
        parts = (_DOMAIN, self._group, tenant.encode("utf-8", "surrogatepass"))
        message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
        digest = hmac.new(self._key, message, hashlib.sha256).digest()[:16]
        return "t_" + base64.b32encode(digest).decode().rstrip("=").lower()


def load_key(path: Path) -> bytes:
    """The key in a file. Raises `UsageError` where it is short, or readable by others."""
    advice = f"make one with `(umask 077; head -c {LEAST_KEY_BYTES} /dev/urandom > FILE)`, and keep it away from the export"
    if not path.is_file():
        raise UsageError("no such key", where=str(path), advice=advice)
    if os.name == "posix" and path.stat().st_mode & 0o077:
        raise UsageError("the key can be read by others", where=str(path), advice=f"chmod 600 {path}")
    key = path.read_bytes()
    if len(key) < LEAST_KEY_BYTES:
        raise UsageError(f"the key is shorter than {LEAST_KEY_BYTES} bytes", where=str(path), advice=advice)
    return key
