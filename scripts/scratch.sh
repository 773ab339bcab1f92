# scratch.sh, to be sourced: temporary files lie in memory where there is much of it; $scratch is to be removed at the
# end. The engines and brokers of the tests write and flush so much that a slow disk makes up half of their time.
scratch=
if [ -z "${TMPDIR:-}" ]; then
  free=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }')
  available=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo 2>/dev/null)
  if [ "${free:-0}" -gt $((8 << 20)) ] && [ "${available:-0}" -gt $((8 << 20)) ]; then # KiB
    scratch=$(mktemp -d /dev/shm/giverny.XXXXXX) && export TMPDIR=$scratch
  fi
fi
