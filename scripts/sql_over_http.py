"""One SQL statement on a server, over HTTP (docs/formats/sql-endpoint.md)."""
import http.client
import json
import urllib.error
import urllib.request

TIMEOUT_S = 120


class SqlError(Exception):
    """The server's answer names an error; the text says which."""


def rows_of(server_url, statement):
    """Rows of one statement, values as the endpoint writes them."""
    request = urllib.request.Request(server_url + "/api/v1/sql", data=json.dumps({"sql": statement}).encode(),
                                     headers={"Content-Type": "application/json"})
    rows = []
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
            for line in answer:
                event = json.loads(line)
                if event["kind"] == "error":
                    raise SqlError(f"{statement}: {event}")
                if event["kind"] == "rows":
                    rows += event["rows"]
                if event["kind"] == "end":
                    return rows
    except urllib.error.HTTPError as error:
        raise SqlError(f"{statement}: {error.code} {error.read().decode(errors='replace')}") from error
    except (http.client.HTTPException, ConnectionError, ValueError) as error:
        raise SqlError(f"{statement}: {error}") from error
    raise SqlError(f"{statement}: the answer ended early")
