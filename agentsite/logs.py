"""Log lines a person can read and a machine can split: text first, then key=value fields."""

import logging

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime"}


class KeyValueFormatter(logging.Formatter):
    """Appends what a caller passed in `extra`, so that `extra={"session": id}` becomes `session=…`."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging calls it so)
        fields = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        return " ".join([super().formatMessage(record), *(f"{key}={quoted(value)}" for key, value in fields.items())])


def quoted(value: object) -> str:
    """The value on one line, in quotes where it would not read as one word."""
    text = str(value)
    return text if text and text.isprintable() and not set(text) & set(' "=') else repr(text)
