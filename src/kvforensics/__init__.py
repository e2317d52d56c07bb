"""Log forensics and exposure-window analysis for incident response."""

__version__ = "0.1.0"
