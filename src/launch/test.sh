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

# Both run in parallel; their output is printed in order.
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
{ tsc -p . && tsc -p src/console; } >"$out/tsc" 2>&1 & tsc=$!
{ buf lint && buf format -d --exit-code proto && biome format . && eslint .; } >"$out/lint" 2>&1 & lint=$!
echo "== tsc -p ., tsc -p src/console"
wait $tsc || { cat "$out/tsc"; kill $lint; exit 1; }
echo "== buf lint, buf format, biome format, eslint ."
wait $lint || { cat "$out/lint"; exit 1; }
rm -rf "$out"
echo "== vitest"
# shellcheck disable=SC2086
exec vitest run $config
