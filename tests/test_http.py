"""HTTP clients that misbehave, and statements that somebody stops."""
import http.client
import json
import socket
import time

import pytest

# Runs until it is stopped.
EIGHT = "(VALUES (1), (2), (3), (4), (5), (6), (7), (8)) AS "
LONG = ("SELECT COUNT(*) FROM " + ", ".join(f"{EIGHT}{name}(x)" for name in "abcdefghijklm")
        + " WHERE a.x + b.x + c.x + d.x + e.x + f.x + g.x + h.x > m.x")
PATIENCE_S = 180


def request(server, method, path, body=None, headers=None):
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=PATIENCE_S)
    sent = {} if body is None else {"Content-Type": "application/json"}
    connection.request(method, path, None if body is None else json.dumps(body), {**sent, **(headers or {})})
    return connection, connection.getresponse()


def status(server, method, path, body=None, headers=None):
    connection, answer = request(server, method, path, body, headers)
    answer.read()
    connection.close()
    return answer.status


def last_event(answer):
    return json.loads(answer.read().splitlines()[-1])


def test_a_stopped_statement_says_so(server):
    connection, answer = request(server, "POST", "/api/v1/sql", {"sql": LONG})
    operation = answer.getheader("Sluice-Operation")
    assert status(server, "DELETE", f"/api/v1/operations/{operation}") == 200
    assert last_event(answer)["message"] == "the statement was cancelled"
    assert status(server, "DELETE", f"/api/v1/operations/{operation}") == 404
    connection.close()


def test_a_statement_runs_out_of_time(server):
    _, answer = request(server, "POST", "/api/v1/sql", {"sql": LONG, "timeout_ms": 300})
    assert last_event(answer)["code"] == "REQUEST_TIME_OUT"


def test_the_session_ends_with_its_statement(server):
    _, created = request(server, "POST", "/api/v1/sessions")
    session = json.loads(created.read())["id"]
    _, answer = request(server, "POST", "/api/v1/sql", {"sql": LONG, "session": session})
    assert status(server, "DELETE", f"/api/v1/sessions/{session}") == 200
    assert last_event(answer)["message"] == "the session was ended"


def test_clients_that_go_leave_no_statement_behind(server):
    for _ in range(40):  # Far more than there are places.
        connection, answer = request(server, "POST", "/api/v1/sql", {"sql": LONG})
        answer.close()
        connection.close()
    deadline = time.monotonic() + PATIENCE_S
    while status(server, "POST", "/api/v1/sql", {"sql": "SELECT 1"}) == 429:
        assert time.monotonic() < deadline
    assert server.sql("SELECT 1") == [[1]]


def test_sigterm_ends_running_statements(server):
    answers = [request(server, "POST", "/api/v1/sql", {"sql": LONG})[1] for _ in range(3)]
    server.stop()
    for answer in answers:
        try:
            text = answer.read()
        except http.client.IncompleteRead as cut:  # The connection may end before the reason is out,
            text = cut.partial
        except OSError:
            text = b""
        events = [json.loads(line) for line in text.rpartition(b"\n")[0].splitlines()]
        assert "end" not in [event["kind"] for event in events]  # but no statement has come to its end.
        for event in events:
            assert event["kind"] != "error" or event["message"] == "the server is stopping"


def test_statements_leave_threads_for_others(server):
    running = []
    while True:
        connection, answer = request(server, "POST", "/api/v1/sql", {"sql": LONG})
        running.append((connection, answer))
        if answer.status == 429:
            break
        assert len(running) < 20
    assert status(server, "GET", "/health") == 200
    for connection, answer in running:
        answer.close()
        connection.close()


@pytest.mark.parametrize("start, expected", [
    (b"GET / HTTP/1.1\r\nX: " + b"x" * 70000, b"431"),
    (b"POST /api/v1/sql HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n", b"413"),
    (b"POST /api/v1/sql HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", b"411"),
    (b"nonsense\r\n\r\n", b"400"),
    (b"GET /api/v1/sessions/" + b"a" * 28_000 + b" HTTP/1.1\r\n\r\n", b"414"),
    (b"GET /api/v1/operations/" + b"-" * 2000 + b" HTTP/1.1\r\n\r\n", b"405"),
    (b"GET /nowhere HTTP/1.1\r\nConnection: close\r\n\r\n", b"404"),
])
def test_bad_requests_are_answered(server, start, expected):
    with socket.create_connection(("127.0.0.1", server.http_port), timeout=PATIENCE_S) as client:
        client.sendall(start)
        assert client.recv(4096).split()[1] == expected
    assert status(server, "GET", "/health") == 200


def test_slow_clients_hold_no_thread(server):
    slow = [socket.create_connection(("127.0.0.1", server.http_port)) for _ in range(100)]
    for client in slow:
        client.sendall(b"GET /health HTTP/1.1\r\nX-Sl")
    assert status(server, "GET", "/health") == 200
    for client in slow:
        client.close()


SELECT = {"sql": "SELECT 1"}


@pytest.mark.parametrize("headers, expected", [
    ({"Content-Type": "text/plain"}, 415),
    ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ({"Content-Type": "application/json; charset=utf-8"}, 200),
    ({"Origin": "http://evil.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Host": "evil.example:9180", "Origin": "http://evil.example:9180"}, 403),
    ({"Host": "evil.example:9180"}, 403),
    ({"Host": "127.0.0.1:9180", "Origin": "http://127.0.0.1:9180"}, 200),
    ({"Host": "localhost"}, 200),
])
def test_pages_of_other_sites_run_nothing(server, headers, expected):
    assert status(server, "POST", "/api/v1/sql", SELECT, headers) == expected


def test_no_page_of_another_site_makes_sessions_or_reads(server):
    evil = {"Origin": "http://evil.example"}
    assert status(server, "POST", "/api/v1/sessions", None, evil) == 403
    assert status(server, "DELETE", "/api/v1/sessions/0", None, evil) == 403
    for path in ("/", "/metrics", "/api/v1/tables"):
        assert status(server, "GET", path, None, {"Host": "evil.example"}) == 403


def test_a_configured_name_is_served(make_server):
    server = make_server(**{"http.allowed-hosts": "console.example, other.example"}).start()
    named = {"Host": "console.example", "Origin": "https://console.example"}
    assert status(server, "POST", "/api/v1/sql", SELECT, named) == 200
    assert status(server, "POST", "/api/v1/sql", SELECT, {"Host": "evil.example"}) == 403
