# SPDX-License-Identifier: GPL-2.0 OR MIT
"""The servers of examples/text, with clients, on both engines."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
os.environ["SYSCRIPT_LIBRARY"] = str(ROOT / "build" / "libsyscript.so")
sys.path.insert(0, str(ROOT / "bindings/python"))

import syscript  # noqa: E402

LOCAL = ("127.0.0.1", 0)


@pytest.fixture(params=["confined", "luajit"], autouse=True)
def engine(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYSCRIPT_ENGINE", request.param)


def server(name: str, before: str = "", after: str = "") -> syscript.Script:
    """The server, with @after in place of @before."""
    text = (ROOT / "examples" / "text" / f"{name}.lua").read_text()
    assert before in text
    text = text.replace(before, after)
    return syscript.Script(text, name=name, backend="user", time_limit=5)


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    with one, other:
        yield one, other


def flushed(script: syscript.Script, sock: socket.socket) -> list[str]:
    reader, writer = os.pipe()
    assert script.call(sock.fileno(), 0, 0, writer)[0] == 0
    os.close(writer)
    with os.fdopen(reader) as lines:
        return sorted(lines.read().splitlines())


def test_statsd(pair: tuple[socket.socket, socket.socket]) -> None:
    client, sock = pair
    with server("statsd") as script:
        lines = ["a.b:3|c", "x:5|g\nbad\na.b:4|c|@0.5\n", "", "x:1.5|g|#tag", "t:12|ms", "a.b:-2|c"]
        for line in [*lines, "n:1|c\n", "n:2|c", ":1|c", "z:1|c|x\nn:0.5|c", "e:1.2.3|c", "e:|c"]:
            client.send(line.encode())
        assert script.call(sock.fileno(), 5, 0, -1) == (5, 1)
        assert script.call(sock.fileno(), 100, -1, -1) == (7, 4)
        assert flushed(script, sock) == ["a.b 9", "n 3.5", "x 1.5", "z 1"]
        assert flushed(script, sock) == []
        assert script.call(sock.fileno(), 100, 0, -1) == (0, 4)
        for i in range(100):
            client.send(b"n%d:%d|c" % (i % 7, i))
            if i % 10 == 9:
                assert script.call(sock.fileno(), 100, 0, -1)[0] == 10
        assert flushed(script, sock) == [f"n{i} {sum(range(i, 100, 7))}" for i in range(7)]
        assert script.call(-1, 1, 0, -1)[0] == -errno.EBADF


def test_syslog(pair: tuple[socket.socket, socket.socket]) -> None:
    client, sock = pair
    with server("syslog") as script:
        for text in [
            "<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8",
            "<13>Feb  5 17:32:18 10.0.0.99 su[12]: Use the BFG!",
            "<165>Aug 24 05:34:00 mymachine su no colon",
            "<3>Aug 24 05:34:00 mymachine kernel: x",
            "<x>Aug 24 05:34:00 mymachine kernel: x",
            "",
        ]:
            client.send(text.encode())
        assert script.call(sock.fileno(), 100, 0, -1) == (6, 2)
        assert flushed(script, sock) == [
            "10.0.0.99 su 1 0",
            "mymachine kernel 1 1",
            "mymachine su 2 1",
        ]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("statsd", b"%s:1|c"),
        ("statsd", b"%s:1|g\n"),
        ("syslog", b"<3>Aug 24 05:34:00 %s su: x"),
    ],
)
def test_invented_names(pair: tuple[socket.socket, socket.socket], name: str, line: bytes) -> None:
    """More names than memory has room for; those that are known count on, and all after a flush."""
    client, sock = pair
    with server(name) as script:
        for part in range(2):
            client.send(line % b"known")
            for i in range(8000):
                client.send(line % b"%d.%d.%s" % (part, i, b"x" * 100))
                if i % 4 == 3:
                    client.send(line % b"known")
                    script.call(sock.fileno(), 100, 0, -1)
            lines = flushed(script, sock)
            assert 300 < len(lines) < 1000 and lines[-1].startswith("known ")
            assert " 2001" in lines[-1] or b"|g" in line


def test_invented_questions() -> None:
    socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
    sock, up, upstream, client = socks
    for s in (sock, upstream):
        s.bind(LOCAL)
    up.connect(upstream.getsockname())
    client.connect(sock.getsockname())
    with server("dns_forward") as script:
        for i in range(1000):
            client.send(query(i, f"{i}.example.org", b"x" * 1800))
            assert script.call(sock.fileno(), up.fileno(), 16, 0)[0] == 1
            assert len(upstream.recv(4096)) > 1800
    for s in socks:
        s.close()


def query(number: int, name: str, rest: bytes = b"") -> bytes:
    labels = b"".join(bytes([len(part)]) + part.encode() for part in name.split("."))
    counts = b"\1\0\0\1\0\0\0\0" + (b"\0\1" if rest else b"\0\0")
    return number.to_bytes(2, "big") + counts + labels + b"\0\0\1\0\1" + rest


def answer(text: bytes, address: bytes = b"\xc0\0\2\1") -> bytes:
    question = 12 + text[12:].index(b"\0") + 5
    head = text[:2] + b"\x81\x80" + text[4:6] + b"\0\1\0\0\0\0"
    return head + text[12:question] + b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + address


@pytest.fixture
def forwarder() -> Iterator[list[socket.socket]]:
    """The forwarder's two sockets, its server's, and two clients'."""
    with contextlib.ExitStack() as stack:
        socks = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(5)]
        sock, up, upstream, *clients = socks
        for s in socks:
            stack.enter_context(s)
            s.bind(LOCAL)
            s.settimeout(10)
        up.connect(upstream.getsockname())
        upstream.connect(up.getsockname())
        for client in clients:
            client.connect(sock.getsockname())
        yield socks


def test_dns_forward(forwarder: list[socket.socket]) -> None:
    sock, up, upstream, client, _ = forwarder
    with server("dns_forward") as script:

        def serve() -> int:
            return script.call(sock.fileno(), up.fileno(), 16, 0)[1]

        client.send(query(7, "www.example.org"))
        assert serve() == 0
        asked = upstream.recv(4096)
        assert asked[2:] == query(7, "www.example.org")[2:]
        # Unsolicited replies, and replies to another question under the same ID, are ignored.
        upstream.send(answer(bytes([asked[0] ^ 1]) + asked[1:]))
        upstream.send(answer(asked[:2] + query(7, "www.example.com")[2:]))
        upstream.send(asked)
        assert serve() == 0
        upstream.send(answer(asked))
        assert serve() == 0
        assert client.recv(4096) == answer(query(7, "www.example.org"))
        # From the cache: in the client's spelling, under its ID.
        for number, name in (8, "www.example.org"), (9, "WWW.eXample.ORG"):
            client.send(query(number, name))
        assert serve() == 2
        for number, name in (8, "www.example.org"), (9, "WWW.eXample.ORG"):
            assert client.recv(4096) == answer(query(number, name))
        # Others between them do not change where the answers go.
        for number, name in (20, "www.example.org"), (21, "b.example.org"), (22, "WWW.example.org"):
            client.send(query(number, name))
        client.send(b"no query")
        client.send(query(23, "www.example.org"))
        assert serve() == 5
        assert upstream.recv(4096)[2:] == query(21, "b.example.org")[2:]
        for number, name in (
            (20, "www.example.org"),
            (22, "WWW.example.org"),
            (23, "www.example.org"),
        ):
            assert client.recv(4096) == answer(query(number, name))
        # A query with extra data after its question.
        client.send(query(10, "www.example.org", b"\0\0\x29\4\xd0\0\0\0\0\0\0"))
        assert serve() == 5
        assert (
            upstream.recv(4096)[2:]
            == query(10, "www.example.org", b"\0\0\x29\4\xd0" + bytes(6))[2:]
        )
        whole = query(11, "a.example.org")
        for bad in b"", whole[:12], whole[:-1], answer(whole), whole[:12] + b"\x40" + whole[13:]:
            client.send(bad)
        client.send(whole[:4] + b"\0\2" + whole[6:])
        client.send(whole[:2] + b"\x29" + whole[3:])
        assert serve() == 5
        assert not select.select([upstream, client], [], [], 0.05)[0]
        # Others' answers are not given for flags, counts and types that differ.
        whole = query(12, "www.example.org")
        for other in (
            whole[:2] + b"\0" + whole[3:],
            whole[:3] + b"\x10" + whole[4:],
            whole[:11] + b"\1" + whole[12:],
            whole[:-3] + b"\x41" + whole[-2:],
            whole[:-3] + b"\x61" + whole[-2:],
        ):
            client.send(other)
            assert serve() == 5
            asked = upstream.recv(4096)
            assert asked[2:] == other[2:]
            upstream.send(answer(asked))
            assert serve() == 5
            assert client.recv(4096) == answer(other)
        assert script.call(sock.fileno(), up.fileno(), 16, 10)[0] == 0


def test_dns_question_waits_once(forwarder: list[socket.socket]) -> None:
    """A question that is asked often waits under one ID, and is asked again later."""
    sock, up, upstream, client, other = forwarder
    with server("dns_forward") as script:

        def serve() -> int:
            return script.call(sock.fileno(), up.fileno(), 16, 0)[0]

        def forwarded() -> list[bytes]:
            asked = []
            while select.select([upstream], [], [], 0.05)[0]:
                asked.append(upstream.recv(4096))
            return asked

        def at_begin_of_second() -> None:
            time.sleep(1.02 - time.monotonic() % 1)

        at_begin_of_second()
        for number in range(8):
            client.send(query(number, "www.example.org"))
        other.send(query(3, "wWw.example.org"))
        assert serve() == 9
        (first,) = forwarded()
        at_begin_of_second()
        client.send(query(8, "www.example.org"))
        assert serve() == 1
        assert forwarded() == [first]
        upstream.send(answer(first))
        serve()
        for number in range(9):
            assert client.recv(4096) == answer(query(number, "www.example.org"))
        assert other.recv(4096) == answer(query(3, "wWw.example.org"))
        assert not select.select([client, other], [], [], 0.05)[0]


def test_dns_question_waits_for_a_time(forwarder: list[socket.socket]) -> None:
    """An answer that comes too late, or to an earlier ID, is ignored."""
    sock, up, upstream, client, _ = forwarder
    with server("dns_forward", "local WAIT = 5 ", "local WAIT = 0 ") as script:

        def late() -> bytes:
            asked = query(1, "www.example.org")
            client.send(asked)
            script.call(sock.fileno(), up.fileno(), 16, 0)
            asked = upstream.recv(4096)
            time.sleep(1.05)
            upstream.send(answer(asked))
            script.call(sock.fileno(), up.fileno(), 16, 0)
            assert not select.select([client], [], [], 0.05)[0]
            return asked

        assert late()[2:] == late()[2:]


HEAD = b"Host: www.example.org\r\nAccept: */*\r\n"
LENGTH = b"Content-Length: 3\r\n"
LIST = b"Content-Length: 3,3\r\n"
CHUNKED = b"transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("request_", "status", "body", "stays"),
    [
        (b"GET / HTTP/1.1\r\n" + HEAD + b"\r\n", 200, b"syscript\n", True),
        (b"GET /health?x=1 HTTP/1.1\r\n" + HEAD + b"\r\n", 200, b"ok\n", True),
        (b"GET /none HTTP/1.1\r\nhOST:\tx\r\n\r\n", 404, b"not found\n", True),
        (b"GET / HTTP/1.1\r\n" + HEAD + b"Connection: Close\r\n\r\n", 200, b"syscript\n", False),
        (b"GET / HTTP/1.0\r\n\r\n", 200, b"syscript\n", False),
        (b"GET / HTTP/1.1\r\n\r\n", 400, b"bad request\n", False),
        (b"GET / HTTP/1.1\r\nHost x\r\n\r\n", 400, b"bad request\n", False),
        (b"nonsense\r\n\r\n", 400, b"bad request\n", False),
        (b"GET ? HTTP/1.1\r\n" + HEAD + b"\r\n", 400, b"bad request\n", False),
        (b"GET / HTTP/1.1\r\nHost: a\nb\r\n\r\n", 400, b"bad request\n", False),
        (b"GET / HTTP/1.1\r\n" + HEAD + b"X y: z\r\n\r\n", 400, b"bad request\n", False),
        (b"GET / HTTP/1.1\r\n" + HEAD + b"host: x\r\n\r\n", 400, b"bad request\n", False),
        (b"PUT / HTTP/1.1\r\n" + HEAD + LENGTH + LENGTH + b"\r\nabc", 400, b"bad request\n", False),
        (b"PUT / HTTP/1.1\r\n" + HEAD + LIST + b"\r\nabc", 400, b"bad request\n", False),
        (b"PUT / HTTP/1.1\r\n" + HEAD + b"Content-Length:\r\n\r\n", 400, b"bad request\n", False),
        (b"PUT / HTTP/1.1\r\n" + HEAD + CHUNKED + b"\r\n0\r\n\r\n", 400, b"bad request\n", False),
        (b"PUT / HTTP/1.1\r\n" + HEAD + LENGTH[:-2] + b" \r\n\r\nabc", 405, b"GET only\n", True),
        (b"GET / HTTP/1.1\r\n" + HEAD + b"X-Y:\r\n\r\n", 200, b"syscript\n", True),
        (b"PUT / HTTP/1.1\r\n" + HEAD + b"Content-Length: 3\r\n\r\nabc", 405, b"GET only\n", True),
        (b"PUT / HTTP/1.1\r\n" + HEAD + b"Content-Length: 9\r\n\r\nabc", 405, b"GET only\n", False),
    ],
)
@pytest.mark.parametrize("cut", [0, 20])
def test_http_head(request_: bytes, status: int, body: bytes, stays: bool, cut: int) -> None:
    with (
        socket.create_server(LOCAL) as listener,
        server("http_head") as script,
        select.epoll() as epoll,
    ):
        client = socket.create_connection(listener.getsockname())
        client.settimeout(10)
        # The script closes it.
        connection = listener.accept()[0].detach()
        epoll.register(connection, select.EPOLLIN)
        if cut and b"\r\n\r\n" not in request_[:cut] and stays:
            client.sendall(request_[:cut])
            assert script(epoll.fileno(), 16, 1000) == 0
            request_ = request_[cut:]
        for _ in range(2):
            client.sendall(request_)
            assert script(epoll.fileno(), 16, 1000) == 1
            answered = client.recv(4096)
            assert answered.startswith(b"HTTP/1.1 %d " % status) and answered.endswith(
                b"\r\n\r\n" + body
            )
            if cut or not stays:
                break
        if not stays:
            assert client.recv(1) == b""
        client.close()
        if stays:
            assert script(epoll.fileno(), 16, 1000) == 0
            with pytest.raises(OSError):
                os.fstat(connection)


def test_http_usual_headers() -> None:
    """Headers that came before, after other request lines."""
    rest = b"\r\n" + HEAD + b"\r\n"
    request = b"GET / HTTP/1.1" + rest
    client, connection = socket.socketpair()
    with client, server("http_head") as script, select.epoll() as epoll:
        client.settimeout(10)
        epoll.register(connection.detach(), select.EPOLLIN)
        for text, statuses in [
            (request, [200]),
            (b"GET /health?x HTTP/1.1" + rest, [200]),
            (b"GET /none HTTP/1.1" + rest, [404]),
            (b"HEAD / HTTP/1.1" + rest, [405]),
            (request + request, [200, 200]),
            (request + request, [200, 200]),
            (request + request[:-1], [200]),
            (b"\n" + request, [200, 200]),
            (request[:14] + rest[:-2] + b"Content-Length: 3\r\n\r\nabc" + request, [200, 200]),
            (b"GET ?x HTTP/1.1" + rest, [400]),
        ]:
            client.sendall(text)
            assert script(epoll.fileno(), 16, 1000) == len(statuses)
            lines = client.recv(4096).split(b"HTTP/1.1 ")[1:]
            assert [int(line.split()[0]) for line in lines] == statuses
        assert client.recv(1) == b""
        client, connection = socket.socketpair()
        client.settimeout(10)
        epoll.register(connection.detach(), select.EPOLLIN)
        client.sendall(b"GET / HTTP/1.0" + rest)
        assert script(epoll.fileno(), 16, 1000) == 1
        assert client.recv(4096).endswith(b"syscript\n") and client.recv(1) == b""
        client.close()


def test_http_unfinished_heads() -> None:
    """More of them than memory has room for: connections without room are closed."""
    clients = []
    with server("http_head") as script, select.epoll() as epoll:
        for i in range(150):
            client, connection = socket.socketpair()
            clients.append(client)
            epoll.register(connection.detach(), select.EPOLLIN)
            client.sendall(b"GET / HTTP/1.1\r\nX: %d" % i + b"x" * 8000)
            assert script(epoll.fileno(), 16, 1000) == 0
        for client in clients:
            client.setblocking(False)
        assert [client.recv(1) for client in clients[100:]] == [b""] * 50
        clients[0].sendall(b"\r\nHost: x\r\n\r\n")
        assert script(epoll.fileno(), 16, 1000) == 1
        assert clients[0].recv(4096).endswith(b"syscript\n")
        # There is room for another one.
        client, connection = socket.socketpair()
        epoll.register(connection.detach(), select.EPOLLIN)
        for text, replies in (
            (b"GET / HTTP/1.1\r\nX: " + b"x" * 8000, 0),
            (b"\r\nHost: x\r\n\r\n", 1),
        ):
            client.sendall(text)
            assert script(epoll.fileno(), 16, 1000) == replies
        for client in clients:
            client.close()
        script(epoll.fileno(), 64, 1000)


@pytest.mark.parametrize("cut", range(1, 100, 3))
def test_http_heads_in_a_row(cut: int) -> None:
    text = b"GET / HTTP/1.1\r\n" + HEAD + b"contenT-length:\t0\r\n\r\n"
    text += b"GET /health HTTP/1.1\r\n" + HEAD + b"\r\n"
    client, connection = socket.socketpair()
    with client, connection, server("http_head") as script, select.epoll() as epoll:
        client.settimeout(10)
        epoll.register(connection, select.EPOLLIN)
        client.sendall(text[:cut])
        served = script(epoll.fileno(), 16, 0)
        client.sendall(text[cut:])
        assert served + script(epoll.fileno(), 16, 0) == 2
        bodies = [
            part.split(b"\r\n\r\n")[1] for part in client.recv(4096).split(b"HTTP/1.1 200 OK")[1:]
        ]
        assert bodies == [b"syscript\n", b"ok\n"]
