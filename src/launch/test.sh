#!/bin/sh
# Everything `npm test` checks, in one go. With arguments only vitest runs, with them:
# `npm test -- test/life`.
set -eu
config="--config test/vitest.config.ts"

node src/launch/prepare-tests.ts
if [ $# -gt 0 ]; then
  # shellcheck disable=SC2086
  exec vitest run $config "$@"
fi

step() {
  echo "== $*"
  "$@"
}
step buf lint
step tsc -p .
step eslint .
echo "== vitest"
# shellcheck disable=SC2086
exec vitest run $config
