# SPDX-License-Identifier: BSD-3-Clause
"""The private folder of one run: its secret, and the socket where ranks hand over their output."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile

from waitio.errors import WaitioError

SOCKET_PATH_MAX = 100


def write_secret(path: str, text: str = "") -> None:
    """Write a fresh secret, or that one, to a new file that only its owner reads."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except FileExistsError:
        raise WaitioError(f"'{path}' exists already; a secret is never overwritten") from None
    except OSError as error:
        raise WaitioError(f"cannot make the secret file '{path}': {error.strerror}") from None
    with os.fdopen(fd, "w", encoding="ascii") as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(text or secrets.token_hex(32) + "\n")
        file.flush()
        os.fsync(file.fileno())


def kept_secret(path: str) -> str:
    """Return the secret in a file that a run before this one has left; else it is made now."""
    if not os.path.lexists(path):
        write_secret(path)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        with os.fdopen(fd, encoding="ascii") as file:
            text = file.read(1000)
    except (OSError, ValueError) as error:
        raise WaitioError(f"cannot read the kept secret '{path}': {error}") from None
    if not text.strip():
        raise WaitioError(f"the kept secret '{path}' is empty: remove it, and start the run anew")
    return text


def _home_folder() -> str:
    folder = os.path.join(os.path.expanduser("~"), ".waitio")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    return folder


class RunDir:
    """Folders of one run, mode 0700, removed by `remove`.

    With blocks on other machines the secret lies under the user's home, which they share; the
    socket always lies on this machine.
    """

    def __init__(self, shared: bool, kept: str = "") -> None:
        """Make the folders and the secret; `kept` names the file of one that outlives the run."""
        try:
            self.local = tempfile.mkdtemp(prefix="waitio-run-")
            if len(self.local) > SOCKET_PATH_MAX:
                os.rmdir(self.local)
                self.local = tempfile.mkdtemp(prefix="waitio-run-", dir="/tmp")
            self._shared: str | None = None
            if shared:
                self._shared = tempfile.mkdtemp(prefix="run-", dir=_home_folder())
        except OSError as error:
            raise WaitioError(f"cannot make a private folder: {error}") from None
        self.shared = self._shared or self.local  # reached by the processes of every block
        self.secret = os.path.join(self.shared, "secret")
        self.socket = os.path.join(self.local, "s")
        try:
            write_secret(self.secret, kept_secret(kept) if kept else "")
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        """Remove all of it."""
        shutil.rmtree(self.local, ignore_errors=True)
        if self._shared:
            shutil.rmtree(self._shared, ignore_errors=True)
