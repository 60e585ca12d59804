#!/bin/sh
# Runs a command of the program from a bare clone: installs what is missing, then replaces itself with the
# command, so that signals reach it. Needs the machine's Node (20 or later) and npm; the program runs on
# the Node that npm installs here.
set -eu
cd "$(dirname "$0")/../.."

command=${1:-start}
[ $# -gt 0 ] && shift

"${npm_node_execpath:-node}" src/launch/install.mjs "$command"
PATH=$PWD/node_modules/.bin:$PATH
export PATH

case $command in
  start)
    # Compiled code is kept for the next start. A young generation smaller than V8's default reduces the memory of
    # an idle service.
    export NODE_COMPILE_CACHE="${NODE_COMPILE_CACHE:-$PWD/node_modules/.cache/compiled}"
    # Known from the beginning, so that the program notices when npm ended during the installation.
    if [ "${npm_lifecycle_event:-}" = start ]; then
      ATRIUM_NPM_PID=$PPID
      export ATRIUM_NPM_PID
    fi
    exec node --max-semi-space-size=16 src/main.ts "$@" ;;
  test) exec sh src/launch/test.sh "$@" ;;
  node) exec node "$@" ;;
  *) exec "$command" "$@" ;;
esac
