"""Log forensics and exposure-window analysis for incident response."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("kvforensics")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"
