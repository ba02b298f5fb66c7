#!/usr/bin/env python3
"""One server of ours in the folder given, until SIGTERM. Prints its address when it is ready."""
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
server.announce(cluster.DROPPED_WHILE_TIERED)
server.start()
print(server.bootstrap, flush=True)
end.wait()
server.stop()
server.check_log()
