#!/usr/bin/env python3
"""One server of ours in the folder given, until SIGTERM. Prints its address when it is ready, and that of a listener with
logins (admin/admin-secret, alice/alice-secret), as the Java server of SecurityTest has one."""
import os
import signal
import sys
import threading

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

import cluster  # noqa: E402

end = threading.Event()
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda *_: end.set())
# RemoteLogTest waits until the older segments of its logs are in remote storage, others for a KV snapshot.
server = cluster.Server(sys.argv[1], log__segment__file_size="64kb", remote__log__task_interval_duration="200ms",
                        kv__snapshot__interval="3s")
ports = dict(zip(("coordinator", "tablet-server"), cluster.free_ports(2)))
for role, port in ports.items():
    server.settings[f"{role}.bind.listeners"] += f",SECURED://127.0.0.1:{port}"
server.settings["security.protocol.map"] = "SECURED:SASL"
server.settings["security.sasl.plain.jaas.config"] = (
    'org.apache.fluss.security.auth.sasl.plain.PlainLoginModule required '
    'user_admin="admin-secret" user_alice="alice-secret";')
server.announce(cluster.DROPPED_WHILE_TIERED, r"W login refused listener=SECURED ")
server.start()
print(server.bootstrap, f"127.0.0.1:{ports['coordinator']}", flush=True)
end.wait()
server.stop()
server.check_log()
