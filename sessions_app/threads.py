"""Blocking code beside the loop: a few threads for the database, more for what agent authors hand over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import close_old_connections

P = ParamSpec("P")
R = TypeVar("R")

DATABASE_THREADS = 4
AUTHOR_THREADS = 32

_database = ThreadPoolExecutor(DATABASE_THREADS, thread_name_prefix="effect-database")
_author = ThreadPoolExecutor(AUTHOR_THREADS, thread_name_prefix="effect-code")


def with_connection(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call database code on a thread that Django does not look after, and leave no connection open behind it."""
    close_old_connections()
    try:
        return function(*args, **kwargs)
    finally:
        close_old_connections()


async def in_database(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call blocking database code of an effect from the loop, on one of a few threads."""
    return await asyncio.get_running_loop().run_in_executor(
        _database, lambda: with_connection(function, *args, **kwargs)
    )


async def in_author_thread(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call an agent author's blocking code from the loop. It cannot be cancelled, only waited for."""
    return await asyncio.get_running_loop().run_in_executor(_author, lambda: with_connection(function, *args, **kwargs))
