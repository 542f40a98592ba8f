#!/usr/bin/env bash
# A Citus cluster on this machine, for tests: a coordinator and two workers on PostgreSQL 15
# (Debian's) with Citus 13.0.5.
#   cluster.sh install                     installs PostgreSQL and Citus if missing
#   cluster.sh start FOLDER [FIRST_PORT]   prints the coordinator's DATABASE_URL
#   cluster.sh plain FOLDER PORT           one PostgreSQL without Citus, to compare with
#   cluster.sh stop FOLDER
#   cluster.sh kill FOLDER NODE            stops a node (0 to 2) immediately, without a shutdown
#   cluster.sh restart FOLDER NODE         starts it again
#   cluster.sh add FOLDER NODE PORT        creates and starts a node without adding it to the cluster
# Needs root (PostgreSQL runs as the user postgres) and Debian 12 on x64. Citus comes from the
# archive at SIGNALBOX_CITUS_ARCHIVE; it is under the AGPL and is not part of this project. fsync is
# on unless CITUS_FSYNC=off; CITUS_SHARDS is how many shards a table has (32).
set -euo pipefail
built_with=15.20
archive=${SIGNALBOX_CITUS_ARCHIVE:-/work/shared/citus/citus-13.0.5-pg15-linux-x64.tar.xz}
bin=/usr/lib/postgresql/15/bin
verb=${1:?install, start, plain, stop, kill, restart or add}; folder=${2-}
as() { runuser -u postgres -- "$@"; }
sql() { as $bin/psql -h 127.0.0.1 -p "$1" -U postgres -d "$2" -v ON_ERROR_STOP=1 -qAtc "$3"; }
install_citus() { # two clusters may be started at once
  (flock 9; install_missing) 9>/tmp/signalbox-citus.lock
}
install_missing() {
  if ! is_new_enough; then
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq postgresql-15) \
      >/dev/null 2>&1 9>&-
    is_new_enough
  fi
  [ -e /usr/share/postgresql/15/extension/citus.control ] || tar -xJf "$archive" -C /
}
is_new_enough() { # Citus calls functions of the server: with an earlier one it is not loaded
  local version
  version=$($bin/postgres --version 2>/dev/null | grep -oE '15\.[0-9]+' | head -n 1 || true)
  dpkg --compare-versions "${version:-0}" ge $built_with
}
launch() { # NODE
  local data=$folder/node$1 log=$folder/node$1.log
  as $bin/pg_ctl -D "$data" -l "$log" -w start >/dev/null || { tail -n 5 "$log" >&2; exit 1; }
}
prepare() { # NODE PORT [LIBRARIES]
  local data=$folder/node$1
  as $bin/initdb -D "$data" -U postgres --auth=trust -E UTF8 --locale=C >/dev/null
  as tee -a "$data/postgresql.conf" >/dev/null <<SETTINGS
port = $2
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
shared_preload_libraries = '${3-citus}'
wal_level = logical
max_connections = 300
max_prepared_transactions = 300
max_worker_processes = 64
checkpoint_timeout = 30min
max_wal_size = 4GB
fsync = ${CITUS_FSYNC:-on}
citus.shard_count = ${CITUS_SHARDS:-32}
citus.node_conninfo = 'sslmode=disable'
SETTINGS
}
[ $verb = install ] || : "${folder:?a folder}"
case $verb in
install) install_citus ;;
start)
  first=${3:-5600}
  install_citus
  mkdir -p "$folder"; chmod 755 "$folder"; chown postgres "$folder"
  for i in 0 1 2; do
    [ -d "$folder/node$i" ] || prepare $i $((first + i))
    launch $i
  done
  for i in 0 1 2; do
    port=$((first + i))
    found=$(sql $port postgres "select count(*) from pg_database where datname = 'signalbox'")
    [ "$found" = 1 ] || sql $port postgres 'create database signalbox'
    sql $port signalbox 'create extension if not exists citus'
  done
  sql "$first" signalbox "select citus_set_coordinator_host('127.0.0.1', $first)" >/dev/null
  for i in 1 2; do
    sql "$first" signalbox "select citus_add_node('127.0.0.1', $((first + i)))" >/dev/null
  done
  echo "postgres://postgres@127.0.0.1:$first/signalbox" ;;
plain)
  install_citus
  mkdir -p "$folder"; chmod 755 "$folder"; chown postgres "$folder"
  prepare 0 "${3:?a port}" ''
  launch 0
  sql "$3" postgres 'create database signalbox'
  echo "postgres://postgres@127.0.0.1:$3/signalbox" ;;
stop)
  for data in "$folder"/node?; do as $bin/pg_ctl -D "$data" -m fast stop >/dev/null || true; done ;;
add)
  prepare "${3:?a node}" "${4:?a port}"
  launch "$3" ;;
kill) as $bin/pg_ctl -D "$folder/node${3:?a node}" -m immediate stop >/dev/null ;;
restart) launch "${3:?a node}" ;;
*) echo "install, start, plain, stop, kill, restart or add" >&2; exit 2 ;;
esac
