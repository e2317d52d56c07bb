"""What do the encrypted fields of a record say to the owner of the key?

The Logpush data set of AI Gateway encrypts bodies and metadata with the customer's public key: `{"type": "encrypted",
"key", "iv", "data"}` in base64, an AES key wrapped by RSA-OAEP with SHA-256, and AES-GCM data with the tag at its end
(https://developers.cloudflare.com/ai-gateway/observability/logging/logpush/). What is opened is handed to the paths of a
format and forgotten: no text of it is kept, told in an error, or written anywhere.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec import Struct

from kvforensics.errors import UsageError
from kvforensics.paths import embedded

LARGEST_KEY_FILE = 1 << 20
MARK = b"encrypted"
"""What is in the bytes of every record that has an encrypted field."""
SHORTEST = len('{"type":"encrypted"}')
"""No text that is an encrypted field is shorter."""
WRONG_KEY = "wrong_private_key"
DAMAGED = "damaged_encryption"
NO_KEY = "encrypted"
_INSTALL = "install it with: pip install 'kvforensics[logpush]'"


@dataclass(frozen=True, slots=True)
class PrivateKey:
    """An RSA private key. `fingerprint` is the SHA-256 of its public half (DER, SubjectPublicKeyInfo), in hexadecimal."""

    der: bytes = field(repr=False)
    fingerprint: str


class SealedTally(Struct):
    """How many records have encrypted fields, and how many of them stayed closed, for which reason."""

    records: int = 0
    no_key: int = 0
    wrong_key: int = 0
    damaged: int = 0

    def add(self, other: SealedTally) -> None:
        """Add the counts of another piece."""
        self.records += other.records
        self.no_key += other.no_key
        self.wrong_key += other.wrong_key
        self.damaged += other.damaged

    def problems(self) -> Iterator[str]:
        """What to tell of the source."""
        for name, count in ((WRONG_KEY, self.wrong_key), (DAMAGED, self.damaged)):
            if count:
                yield f"{name}: {count} of {self.records} encrypted records stay closed"


def load_private_keys(paths: Sequence[str]) -> tuple[PrivateKey, ...]:
    """The keys in PEM or DER files, each once. Raises `UsageError` that names the file where one is not usable."""
    keys = [_load(path) for path in paths]
    return tuple({key.fingerprint: key for key in keys}.values())


def _load(path: str) -> PrivateKey:
    try:
        with Path(path).open("rb") as file:
            data = file.read(LARGEST_KEY_FILE + 1)
    except OSError as error:
        raise UsageError(f"cannot be read ({error.strerror or 'not a file'})", where=path) from error
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
            PublicFormat,
            load_der_private_key,
            load_pem_private_key,
        )
    except ImportError as error:
        raise UsageError("opening encrypted fields needs the package cryptography", advice=_INSTALL) from error
    load = load_pem_private_key if b"-----BEGIN" in data else load_der_private_key
    try:
        key = load(data, password=None)
    except TypeError:
        raise UsageError(
            "the private key is protected by a password", where=path,
            advice="hand it over opened, without a file: --private-key <(openssl pkey -in FILE)",
        ) from None  # fmt: skip
    except (ValueError, UnsupportedAlgorithm):
        held = "a public key" if b"PUBLIC KEY" in data else "a certificate" if b"CERTIFICATE" in data else None
        raise UsageError(
            f"is {held}, not a private key" if held else "is not a private key", where=path,
            advice="give the RSA private key of the gateway's Logpush settings, in PEM or DER",
        ) from None  # fmt: skip
    if not isinstance(key, RSAPrivateKey):
        raise UsageError(
            "is a private key, but not an RSA key", where=path, advice="Logpush encrypts for RSA keys only"
        )
    der = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    public = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return PrivateKey(der, sha256(public).hexdigest())


class Opener:
    """Opens the encrypted fields of records and counts what stayed closed."""

    def __init__(self, keys: Sequence[PrivateKey]) -> None:
        self._keys = keys
        self.tally = SealedTally()

    def open(self, record: Any, names: Sequence[str]) -> tuple[Any, tuple[str, ...]] | None:
        """The record with what its fields of these names hold, and why some stayed closed; None where none is encrypted."""
        sealed = {name: parts for name in names if (parts := _parts(record.get(name))) is not None}
        if not sealed:
            return None
        opened, closed = dict(record), {}
        unwrapped: dict[str, bytes | None] = {}
        for name, parts in sealed.items():
            held = self._open(parts, unwrapped) if self._keys else NO_KEY
            opened[name] = held.decode("utf-8", "replace") if isinstance(held, bytes) else None
            if isinstance(held, str):
                closed[name] = held
        tally, why = self.tally, set(closed.values())
        tally.records += 1
        tally.no_key += NO_KEY in why
        tally.wrong_key += WRONG_KEY in why
        tally.damaged += DAMAGED in why
        return opened, tuple(f"{reason}:{name[:64]}" for name, reason in closed.items())

    def _open(self, parts: tuple[str, str, str], unwrapped: dict[str, bytes | None]) -> bytes | str:
        """The plaintext, or the reason why there is none."""
        wrapped, iv, data = parts
        try:
            if wrapped not in unwrapped:
                # One AES key may serve all fields of a log.
                unwrapped[wrapped] = self._unwrap(b64decode(wrapped, validate=True))
            key = unwrapped[wrapped]
            return (
                WRONG_KEY
                if key is None
                else _decrypt(key, b64decode(iv, validate=True), b64decode(data, validate=True))
            )
        except (binascii.Error, ValueError):
            return DAMAGED

    def _unwrap(self, wrapped: bytes) -> bytes | None:
        from cryptography.hazmat.primitives.asymmetric.padding import MGF1, OAEP
        from cryptography.hazmat.primitives.hashes import SHA256

        for key in self._keys:
            private = _key_object(key.der)
            if len(wrapped) == (private.key_size + 7) // 8:
                try:
                    return bytes(private.decrypt(wrapped, OAEP(MGF1(SHA256()), SHA256(), None)))
                except ValueError:
                    continue
        return None


@lru_cache(maxsize=64)
def _key_object(der: bytes) -> Any:
    """The key as the library has it, made once in each process."""
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    return load_der_private_key(der, password=None)


def _decrypt(key: bytes, iv: bytes, data: bytes) -> bytes | str:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    try:
        return AESGCM(key).decrypt(iv, data, None)
    except InvalidTag:
        return DAMAGED


def _parts(value: Any) -> tuple[str, str, str] | None:
    """The wrapped key, the IV and the data of an encrypted field, None where a value is no such field."""
    held = embedded(value) if type(value) is str and "encrypted" in value else value
    if type(held) is not dict or held.get("type") != "encrypted":
        return None
    key, iv, data = (p if type(p := held.get(name)) is str else "" for name in ("key", "iv", "data"))
    return key, iv, data
