"""The form of a log line."""

import logging

from agentsite.logs import KeyValueFormatter


def line(message: str, **extra: object) -> str:
    record = logging.makeLogRecord({"name": "agentsite", "levelname": "INFO", "msg": message, **extra})
    return KeyValueFormatter("%(levelname)s %(name)s %(message)s").format(record)


def test_extra_fields_follow_the_text():
    assert line("stored an event", session=7, seq=12) == "INFO agentsite stored an event session=7 seq=12"


def test_a_value_that_is_not_one_word_is_quoted_and_stays_on_one_line():
    assert (
        line("refused", reason="too long\nby far", by="") == r"INFO agentsite refused reason='too long\nby far' by=''"
    )
