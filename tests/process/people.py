"""A person with a browser that knows no script: pages, forms, cookies, and the socket of an open page."""

import base64
import json
import os
import re
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from html import unescape
from http.client import HTTPConnection
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import urlencode

from tests.processes import ServerProcess

FORM = re.compile(r"<form\b(?P<head>[^>]*)>(?P<body>.*?)</form>", re.DOTALL)
FIELD = re.compile(r"<(?:input|textarea)\b([^>]*)>")
ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')


class Answer:
    def __init__(self, status: int, headers: dict[str, str], text: str) -> None:
        self.status = status
        self.headers = headers
        self.text = text

    def form(self, holding: str) -> dict[str, str]:
        """The fields of the first form in which some text stands, with their values."""
        for found in FORM.finditer(self.text):
            if holding in found[0]:
                fields = [dict(ATTRIBUTE.findall(field)) for field in FIELD.findall(found["body"])]
                return {field["name"]: unescape(field.get("value", "")) for field in fields if "name" in field}
        raise AssertionError(f"no form with {holding!r} on the page:\n{self.text}")


class Person:
    """Talks to one web process. `https_host` makes them come through a proxy that ends TLS for that host."""

    def __init__(self, site: ServerProcess, *, https_host: str = "", cookies: dict[str, str] | None = None) -> None:
        self.port = site.port
        self.host = https_host or f"127.0.0.1:{self.port}"
        self.origin = f"https://{https_host}" if https_host else f"http://{self.host}"
        self.through_proxy = {"X-Forwarded-Proto": "https"} if https_host else {}
        self.cookies = {} if cookies is None else cookies

    def get(self, path: str) -> Answer:
        return self._request("GET", path)

    def post(self, path: str, fields: dict[str, str], **headers: str) -> Answer:
        fields = {"csrfmiddlewaretoken": self.cookies.get("agentsite_csrf", "")} | fields
        headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": self.origin} | headers
        return self._request("POST", path, urlencode(fields), headers)

    def _request(self, method: str, path: str, body: str = "", headers: dict[str, str] | None = None) -> Answer:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, path, body.encode(), self._headers() | (headers or {}))
            response = connection.getresponse()
            for value in response.headers.get_all("Set-Cookie") or ():
                self.cookies |= {name: morsel.value for name, morsel in SimpleCookie(value).items()}
            return Answer(response.status, dict(response.headers), response.read().decode())

    def _headers(self) -> dict[str, str]:
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        return {"Host": self.host, "Cookie": cookies} | self.through_proxy

    def sign_in(self, name: str, password: str) -> None:
        self.get("/accounts/login/")
        answer = self.post("/accounts/login/", {"username": name, "password": password})
        assert answer.status == 302, answer.text

    def start(self, agent: str) -> str:
        """Start a session of an agent and return its key."""
        answer = self.post(f"/a/{agent}/", self.get(f"/a/{agent}/").form("_key"))
        assert answer.status == 303, answer.text
        return answer.headers["Location"].strip("/").split("/")[-1]

    def say(self, session: str, text: str) -> None:
        fields = self.get(f"/s/{session}/").form('id="message"')
        answer = self.post(f"/s/{session}/events/", fields | {"text": text})
        assert answer.status == 303, answer.text

    def listen(self, session: str) -> "Listener":
        return Listener(self.port, f"/ws/s/{session}/", self._headers() | {"Origin": self.origin})


class Listener:
    """An open page's socket: as much of RFC 6455 as receiving text needs."""

    def __init__(self, port: int, path: str, headers: dict[str, str]) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        headers |= {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(),
        }
        lines = [f"GET {path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self._socket.sendall("\r\n".join(lines).encode())
        self._input = self._socket.makefile("rb")
        status = self._input.readline().decode()
        while self._input.readline().strip():
            pass
        assert " 101 " in status, status

    def messages(self) -> Iterator[dict[str, Any]]:
        """What the server says, until it closes the socket."""
        while len(head := self._input.read(2)) == 2:
            kind, length = head[0] & 15, head[1] & 127
            if length > 125:
                form, size = ("!H", 2) if length == 126 else ("!Q", 8)
                [length] = struct.unpack(form, self._input.read(size))
            payload = self._input.read(length)
            if kind == 8:
                return
            if kind == 1:
                yield json.loads(payload)

    def close(self) -> None:
        self._input.close()
        self._socket.close()
