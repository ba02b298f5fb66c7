"""kill -9 at every named crash point and at random moments. After each: every acknowledged row exactly once, the newest
acknowledged value of each key, in union read and, once tiering caught up, in the lake; the same writers go on."""
import os
import random
import time

import pytest

import cluster
import soak as soak_module

SEED = int(os.environ.get("SLUICE_TEST_SEED", "0")) or random.randrange(1, 1 << 30)
POINT_REACHED_S = 120
RANDOM_KILLS = 20
# Passed by a clean stop, and by checkpoints: after a recovery that read much, else rarely.
ON_STOP = {"log.before-writer-snapshot", "kv.before-store-write", "kv.after-store-write", "kv.mark-removed"}
# Passed only, or with something to do only, by a process whose forerunner was killed at the second point.
LEFT_BEHIND_AT = {
    "lake.sweep.after-file": "lake.commit.before-snapshot",  # Files of a round that no snapshot names.
    "tiering.after-adopt": "tiering.after-lake-commit",      # A snapshot that the coordinator does not know.
}


@pytest.fixture(scope="module")
def soak(program, tmp_path_factory, tell_in_the_end):
    print(f"SLUICE_TEST_SEED={SEED}")
    # Short rounds and a short freshness: the points of a commit must come soon, and the lake be there after every kill.
    server = cluster.Server(tmp_path_factory.mktemp("soak"), tiering__table__duration__max="1s", kv__snapshot__interval="1s",
                            log__segment__file_size="64kb", remote__log__task_interval_duration="100ms")
    server.announce(cluster.DROPPED_WHILE_TIERED)
    made = soak_module.Soak(server, SEED, freshness="200ms")
    yield made
    made.end()
    tell_in_the_end(made.times())
    try:
        server.stop()
    finally:
        server.kill()
    server.check_log()


@pytest.mark.parametrize("point", cluster.crash_points())
def test_kill_at_a_crash_point(soak, point):
    before = LEFT_BEHIND_AT.get(point)
    if before is not None:
        assert soak.leave_behind(before, POINT_REACHED_S), f"nothing came by {before}\n{soak.server.log_tail()}"
    soak.server.kill()
    soak.server.launch(crash_point=point)
    soak.resume(without_ddl=before is not None)
    if point in ON_STOP:
        soak.server.wait_until_ready(may_end=True)
        soak.wait_for_batches(5)
        soak.server.process.terminate()
    assert soak.wait_for_end(POINT_REACHED_S), f"nothing came by {point}\n{soak.server.log_tail()}"
    assert soak.server.process.returncode == 137, soak.server.log_tail()
    soak.resume()
    soak.start_again(point)
    soak.verify()
    soak.verify_lake()


@pytest.mark.parametrize("number", range(RANDOM_KILLS))
def test_kill_at_a_random_moment(soak, number):
    rng = random.Random(SEED + number)
    if not soak.server.running():
        soak.server.start()
    soak.resume()
    time.sleep(rng.uniform(0.05, 0.8))
    soak.raise_failure()
    soak.server.kill()
    # Every other time the next process is killed within its first second as well.
    soak.start_again(f"random kill {number}", kill_after_s=rng.uniform(0, 1) if number % 2 else None)
    soak.verify()
    soak.verify_lake()


def test_everything_is_there_in_the_end(soak):
    """Also after a clean stop, and in the lake, which pypaimon reads too."""
    if not soak.server.running():
        soak.server.start()
    soak.resume()
    soak.wait_for_batches(20)
    soak.verify(everything=True)
    soak.server.stop()
    soak.server.start()
    soak.verify(everything=True)
    soak.verify_lake(everything=True)
