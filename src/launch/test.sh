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

echo "== tsc -p ., and beside it tsc -p src/console"
tsc -p src/console & console=$!
tsc -p .
wait $console
echo "== buf lint, buf format, biome format"
buf lint
buf format -d --exit-code proto
biome format .

# eslint takes more than a minute on one core, so it runs beside the tests.
out=$(mktemp)
eslint . >"$out" 2>&1 & lint=$!
trap 'kill $lint 2>/dev/null || true; rm -f "$out"' EXIT
echo "== vitest, and beside it eslint ."
tests=0
# shellcheck disable=SC2086
vitest run $config || tests=$?
if ! wait $lint; then
  echo "== eslint ."
  cat "$out"
  exit 1
fi
exit "$tests"
