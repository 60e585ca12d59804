#!/bin/sh
# Everything that `npm test` checks. With arguments, only vitest runs, with these arguments:
# `npm test -- test/life`.
set -eu
config="--config test/vitest.config.ts"

node src/launch/prepare-tests.ts
if [ $# -gt 0 ]; then
  # shellcheck disable=SC2086
  exec vitest run $config "$@"
fi

echo "== tsc -p ., tsc -p src/console"
tsc -p .
tsc -p src/console
echo "== oxlint"
oxlint
echo "== buf lint, buf format, biome format"
buf lint
buf format -d --exit-code proto
biome format .

echo "== vitest"
# shellcheck disable=SC2086
exec vitest run $config
