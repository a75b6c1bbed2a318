"""Reading regular files and replacing them whole: the only module that opens a file to write (Z2).

A file is replaced by a complete temporary one beside it: encoded in full before, private, synced, renamed,
the directory synced. What was read is remembered by a fingerprint, so that a change by another program
is seen before it is overwritten (Z4).
"""

from __future__ import annotations

import errno
import os
import stat

from milkmem.errors import BadData, CannotWrite

TYPE_CHECKING = False
if TYPE_CHECKING:
    Fingerprint = tuple[int, int, int, int]

PRIVATE_FILE = 0o600
PRIVATE_DIRECTORY = 0o700
TEMPORARY_PREFIX = ".milkmem-"
TEMPORARY_SUFFIX = ".tmp"
BACKUP_SUFFIX = ".bak"

_KINDS = (
    (stat.S_ISDIR, "is a directory"),
    (stat.S_ISFIFO, "is a FIFO"),
    (stat.S_ISSOCK, "is a socket"),
    (stat.S_ISCHR, "is a device"),
    (stat.S_ISBLK, "is a device"),
)


def fingerprint(status: os.stat_result) -> Fingerprint:
    """Return what tells one state of a file from another: device, inode, size, mtime in ns (Z4)."""
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def fingerprint_of(path: str) -> Fingerprint | None:
    """Return the fingerprint of a file as it stands now, None where there is none."""
    try:
        return fingerprint(os.stat(path))
    except OSError:
        return None


def read_regular(path: str) -> tuple[bytes, Fingerprint] | None:
    """Return a file's bytes and fingerprint, None where there is none.

    Raises BadData, at once, for anything but a regular file and for one that cannot be read (F7).
    """
    try:
        # A FIFO would block and a device might act on being opened, so look before opening.
        _refuse_irregular(path, os.stat(path).st_mode)
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadData(f"{path}: cannot be read: {_reason(error)}") from error
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        status = os.fstat(descriptor)
        _refuse_irregular(path, status.st_mode)
        try:
            return file.readall() or b"", fingerprint(status)
        except OSError as error:
            raise BadData(f"{path}: cannot be read: {_reason(error)}") from error


def _refuse_irregular(path: str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    kind = next((words for test, words in _KINDS if test(mode)), "is no file")
    raise BadData(f"{path}: {kind}, not a regular file")


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def cannot_write(path: str, error: OSError) -> CannotWrite:
    """Return the error for a path that could not be written."""
    return CannotWrite(f"{path}: cannot write: {_reason(error)}")


def make_private_directory(path: str) -> None:
    """Create a directory and the parents it lacks, private whatever the umask (F1, Z2).

    Raises CannotWrite. Directories that exist are left as they are.
    """
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        parent = os.path.dirname(path)
        if parent == path:
            break
        path = parent
    for each in reversed(missing):
        try:
            os.mkdir(each, PRIVATE_DIRECTORY)
            os.chmod(each, PRIVATE_DIRECTORY)
            _keep_owner(each, os.stat(os.path.dirname(each)))
        except FileExistsError as error:
            if not os.path.isdir(each):
                raise cannot_write(each, error) from error
        except OSError as error:
            raise cannot_write(each, error) from error


def _keep_owner(target: str | int, owner: os.stat_result) -> None:
    """Give a file that root writes in a user's place to that user."""
    if os.geteuid() == 0 and (owner.st_uid, owner.st_gid) != (0, 0):
        os.chown(target, owner.st_uid, owner.st_gid)


def open_private(path: str) -> int:
    """Open a private file for a lock, made if needed, and return its descriptor; raises CannotWrite."""
    try:
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE)
        except FileExistsError:
            return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        os.fchmod(descriptor, PRIVATE_FILE)
        _keep_owner(descriptor, os.stat(os.path.dirname(path)))
    except OSError as error:
        raise cannot_write(path, error) from error
    return descriptor


class Replacement:
    """A complete temporary file that waits beside the file it will replace."""

    __slots__ = ("_temporary", "fingerprint", "path", "target")

    def __init__(self, path: str, data: bytes, mark: str) -> None:
        """Write `data` beside the real file of `path`; `mark` goes into the temporary name.

        Raises CannotWrite, leaving nothing behind.
        """
        self.path = path
        self.target = os.path.realpath(path)
        directory = os.path.dirname(self.target)
        self._temporary = os.path.join(
            directory, f"{TEMPORARY_PREFIX}{mark}-{os.urandom(6).hex()}{TEMPORARY_SUFFIX}"
        )
        try:
            self.fingerprint = self._write(data)
        except BaseException as error:
            self.discard()
            if isinstance(error, OSError):
                raise cannot_write(path, error) from error
            raise

    def _write(self, data: bytes) -> Fingerprint:
        descriptor = os.open(
            self._temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, PRIVATE_FILE
        )
        try:
            try:
                old = os.stat(self.target)
            except FileNotFoundError:
                os.fchmod(descriptor, PRIVATE_FILE)
                _keep_owner(descriptor, os.stat(os.path.dirname(self.target)))
            else:
                _keep_owner(descriptor, old)
                os.fchmod(descriptor, stat.S_IMODE(old.st_mode))
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
            return fingerprint(os.fstat(descriptor))
        finally:
            os.close(descriptor)

    def commit(self) -> None:
        """Rename the temporary file over the real one and sync the directory; raises CannotWrite."""
        try:
            os.rename(self._temporary, self.target)
            self._temporary = ""
            sync_directory(os.path.dirname(self.target))
        except OSError as error:
            raise cannot_write(self.path, error) from error

    def discard(self) -> None:
        """Remove the temporary file if it is still there."""
        if self._temporary:
            try:
                os.unlink(self._temporary)
            except OSError:
                return  # the next writing command removes what is left
            self._temporary = ""


def replace(path: str, data: bytes, mark: str) -> None:
    """Replace one file that lies outside a data directory; raises CannotWrite."""
    remove_temporaries(os.path.dirname(os.path.realpath(path)), mark)
    replacement = Replacement(path, data, mark)
    try:
        replacement.commit()
    finally:
        replacement.discard()


def back_up(path: str, data: bytes, mark: str) -> str:
    """Keep a file's old bytes beside it and return where; raises CannotWrite.

    The copy is private, since it must not be more readable than the file.
    """
    backup = path + BACKUP_SUFFIX
    try:
        if not stat.S_ISREG(os.lstat(backup).st_mode):
            raise CannotWrite(f"{backup}: is no regular file, so the old bytes cannot be kept there")
        os.chmod(backup, PRIVATE_FILE)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise cannot_write(backup, error) from error
    replace(backup, data, mark)
    return backup


def lock_directory_of(path: str) -> int:
    """Return a descriptor that holds a lock on the directory a file really lies in, created if need be.

    Raises CannotWrite.
    """
    import fcntl

    directory = os.path.dirname(os.path.realpath(path))
    make_private_directory(directory)
    try:
        lock = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise cannot_write(directory, error) from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
    except OSError:
        pass  # some file systems cannot lock a directory
    return lock


def append(path: str, line: bytes, limit: int) -> None:
    """Append a line to a private file in one piece; once it would pass the limit, its older half goes.

    Limit in bytes. Raises CannotWrite.
    """
    try:
        descriptor = os.open(
            path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, PRIVATE_FILE
        )
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise CannotWrite(f"{path}: is no regular file")
            if status.st_size == 0:
                _keep_owner(descriptor, os.stat(os.path.dirname(path)))
            kept = b""
            if status.st_size + len(line) > limit:
                kept = os.pread(descriptor, limit // 2, max(0, status.st_size - limit // 2))
                kept = kept[kept.find(b"\n") + 1 :]
                os.ftruncate(descriptor, 0)
            os.write(descriptor, kept + line)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise cannot_write(path, error) from error


def sync_directory(path: str) -> None:
    """Make the renames in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some file systems cannot sync a directory; the rename itself has happened.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def remove_temporaries(directory: str, mark: str) -> None:
    """Remove temporary files of this mark that a crash left in a directory (Z2)."""
    prefix = f"{TEMPORARY_PREFIX}{mark}-"
    try:
        names = os.listdir(directory)
    except OSError:
        return
    for name in names:
        if name.startswith(prefix) and name.endswith(TEMPORARY_SUFFIX):
            try:
                os.unlink(os.path.join(directory, name))
            except OSError as error:
                raise cannot_write(os.path.join(directory, name), error) from error
