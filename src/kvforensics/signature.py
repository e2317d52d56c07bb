"""Who vouches for a bundle, and since when did it exist?

Signatures are OpenSSH's (`ssh-keygen -Y`), made and checked offline. Time stamps are RFC 3161: the request is written here,
a person sends it to an authority and puts the reply beside it, and `openssl` checks it. Nothing here calls out.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from kvforensics.errors import KvForensicsError, UsageError

NAMESPACE = "kvforensics-evidence@v1"
_BEGIN, _END = b"-----BEGIN SSH SIGNATURE-----\n", b"-----END SSH SIGNATURE-----\n"
# TimeStampReq of RFC 3161 2.4.1: version 1, SHA-512 imprint, certificates wanted; no nonce, so that it is the same each time.
_REQUEST = bytes.fromhex("30590201013051300d060960864801650304020305000440")
_CERTIFICATES = bytes.fromhex("0101ff")
_ADVICE = "install OpenSSH 8.1 or later"


def sign(path: Path, key: Path) -> bytes:
    """A signature of a file with a private key, or with a public key whose private half an agent holds."""
    if not key.is_file():
        raise UsageError("no such key", where=str(key), advice="make one with `ssh-keygen -t ed25519`")
    with tempfile.TemporaryDirectory(prefix="kvforensics-") as folder:
        copy = Path(folder) / path.name
        shutil.copyfile(path, copy)
        done = _run(["ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", NAMESPACE, str(copy)])
        made = copy.with_name(copy.name + ".sig")
        if done.returncode or not made.is_file():
            raise KvForensicsError(f"ssh-keygen did not sign: {_said(done)}", where=str(key))
        return made.read_bytes()


def check_signature(path: Path, signature: Path, signers: Path | None, identity: str | None) -> tuple[str, str]:
    """What is wrong with a signature (empty where nothing is), and what it shows.

    `signers` is an `allowed_signers` file. Without it only that the file is what some key signed can be told. Without an
    `identity` any signer in the file will do.
    """
    data = signature.read_bytes()
    if not _canonical(data):
        return "is no SSH signature as ssh-keygen writes one", ""
    if signers is None:
        done = _run(["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature)], path)
        if done.returncode:
            return f"does not fit {path.name}", ""
        return "", f"{path.name} is signed by a key that nothing here vouches for; name the signers with --signers"
    if not signers.is_file():
        raise UsageError("no such file", where=str(signers), advice="see ALLOWED SIGNERS in `man ssh-keygen`")
    who = identity or _principal(signature, signers)
    if who is None:
        return f"is by none of the signers in {signers.name}", ""
    command = ["ssh-keygen", "-Y", "verify", "-f", str(signers), "-I", who, "-n", NAMESPACE, "-s", str(signature)]
    if _run(command, path).returncode:
        return f"is not a signature of {path.name} by {who}", ""
    return "", f"{path.name} is signed by {who}"


def _principal(signature: Path, signers: Path) -> str | None:
    done = _run(["ssh-keygen", "-Y", "find-principals", "-f", str(signers), "-s", str(signature)])
    names = done.stdout.decode("utf-8", "replace").split("\n")[0].split(",")
    return names[0].strip() or None if done.returncode == 0 else None


def _canonical(data: bytes) -> bool:
    """Whether nothing in the armour could be changed without notice: base64 readers skip blanks and loose bits."""
    if not data.startswith(_BEGIN) or not data.endswith(_END):
        return False
    try:
        body = base64.b64decode(data[len(_BEGIN) : -len(_END)], validate=False)
    except binascii.Error:
        return False
    text = base64.b64encode(body)
    lines = b"".join(text[i : i + 70] + b"\n" for i in range(0, len(text), 70))
    return data == _BEGIN + lines + _END


def time_stamp_request(path: Path) -> bytes:
    """The RFC 3161 request for a file, in DER."""
    return _REQUEST + hashlib.sha512(path.read_bytes()).digest() + _CERTIFICATES


def check_time_stamp(request: Path, reply: Path, authorities: Path | None) -> tuple[str, str]:
    """What is wrong with the reply to a request (empty where nothing is), and what it shows."""
    if authorities is None:
        return "", f"{reply.name} was not checked; name the authority's certificates with --tsa-ca"
    if not authorities.is_file():
        raise UsageError("no such file", where=str(authorities))
    command = ["openssl", "ts", "-verify", "-queryfile", str(request), "-in", str(reply), "-CAfile", str(authorities)]
    if _run(command, advice="install OpenSSL").returncode:
        return f"does not answer {request.name} under the certificates in {authorities.name}", ""
    return "", f"{request.name} is answered by a time stamp under the certificates in {authorities.name}"


def _run(command: list[str], stdin: Path | None = None, advice: str = _ADVICE) -> subprocess.CompletedProcess[bytes]:
    program = shutil.which(command[0])
    if program is None:
        raise KvForensicsError(f"the program {command[0]} is missing", advice=advice)
    with (stdin or Path(os.devnull)).open("rb") as given:
        return subprocess.run(  # noqa: S603 - a fixed command; its arguments are paths that the user named
            [program, *command[1:]], stdin=given, capture_output=True, check=False, env={**os.environ, "LC_ALL": "C"}
        )


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join(done.stderr.decode("utf-8", "replace").split())[:300] or f"status {done.returncode}"
