"""Where clients are told to go: ports that the server chose, all addresses, advertised ones."""
import asyncio
import re
import time

import fluss
import pyarrow as pa
import pytest

from cluster import READY_S, free_ports

PATIENCE_S = 180


def start_on_free_ports(server):
    """The addresses that the server tells, by role."""
    server.launch()
    deadline = time.monotonic() + READY_S
    told = {}
    while len(told) < 2:
        assert server.running() and time.monotonic() < deadline, server.log_tail()
        found = re.findall(r"bound role=(\S+) listeners=\S+:(\d+) told=(\S+)", server.log_tail(1000))
        ports = {role: int(port) for role, port, _ in found}
        told = {role: address for role, _, address in found}
    server.coordinator_port, server.tablet_port = ports["coordinator"], ports["tablet-server"]
    server.wait_until_ready()
    return told


def nodes_after_a_write(server):
    """What a client is told, once it has written and read a row by it."""

    async def main():
        connection = await fluss.FlussConnection.create(fluss.Config({"bootstrap.servers": server.bootstrap}))
        try:
            admin = connection.get_admin()
            path = fluss.TablePath("fluss", "events")
            schema = fluss.Schema(pa.schema([("id", pa.int64())]))
            await admin.create_table(path, fluss.TableDescriptor(schema, bucket_count=1))
            table = await connection.get_table(path)
            await table.new_append().create_writer().append({"id": 7}).wait()
            scanner = await table.new_scan().create_record_batch_log_scanner()
            scanner.subscribe(0, fluss.EARLIEST_OFFSET)
            assert (await scanner.to_arrow())["id"].to_pylist() == [7]
            return {(node.host, node.port) for node in await admin.get_server_nodes()}
        finally:
            await connection.close()

    return asyncio.run(asyncio.wait_for(main(), PATIENCE_S))


@pytest.mark.parametrize("host", ["127.0.0.1", "0.0.0.0"])
def test_clients_find_the_ports_that_the_server_chose(make_server, host):
    server = make_server(**{f"{role}.bind.listeners": f"CLIENT://{host}:0" for role in ("coordinator", "tablet-server")})
    told = start_on_free_ports(server)
    nodes = nodes_after_a_write(server)
    assert {port for _, port in nodes} == {server.coordinator_port, server.tablet_port}
    for node_host, _ in nodes:
        assert node_host != "0.0.0.0"
        assert host == "0.0.0.0" or node_host == host
    assert told["tablet-server"] in {f"CLIENT://{h}:{p}" for h, p in nodes}


def test_advertised_listeners_win(make_server):
    server = make_server()
    coordinator, tablet = free_ports(2)
    server.coordinator_port, server.tablet_port = coordinator, tablet
    server.settings.update({
        "coordinator.bind.listeners": f"CLIENT://0.0.0.0:{coordinator}",
        "tablet-server.bind.listeners": f"CLIENT://0.0.0.0:{tablet}",
        "coordinator.advertised.listeners": f"CLIENT://localhost:{coordinator}",
        "tablet-server.advertised.listeners": f"CLIENT://127.0.0.2:{tablet}",
    })
    server.start()
    assert nodes_after_a_write(server) == {("localhost", coordinator), ("127.0.0.2", tablet)}
