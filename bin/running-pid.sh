# Sourced by the scripts that start and stop servers.
# running_pid FOLDER: print the process id that FOLDER/server.pid names, when it is a server that was started in FOLDER. A
# file that a machine's restart or a kill left behind may name a process of somebody else. Returns 1 when there is none,
# 2 when this user may not see what the process is.
running_pid() {
  local pid program
  pid=$(cat "$1/server.pid" 2>/dev/null) || return 1
  [[ $pid =~ ^[0-9]+$ ]] || return 1
  if ! program=$(readlink "/proc/$pid/exe" 2>/dev/null); then
    [ "$(id -u)" = 0 ] || [ ! -d "/proc/$pid" ] || [ -O "/proc/$pid" ] || return 2
    return 1
  fi
  [[ ${program%" (deleted)"} == */sluice && /proc/$pid/cwd -ef $1 ]] || return 1
  echo "$pid"
}

# stop_server FOLDER: end the server that was started in FOLDER, say what was done, and remove its pid file.
stop_server() {
  local pid status=0
  pid=$(running_pid "$1") || status=$?
  if [ $status = 2 ]; then
    echo "process $(cat "$1/server.pid") of $1/server.pid belongs to another user" >&2
    return 1
  elif [ $status = 0 ]; then
    kill "$pid"
    for _ in $(seq 1800); do running_pid "$1" >/dev/null || break; sleep 0.1; done
    if running_pid "$1" >/dev/null; then echo "process $pid does not stop" >&2; return 1; fi
    echo "stopped"
  else
    echo "not running"
  fi
  rm -f "$1/server.pid"
}
