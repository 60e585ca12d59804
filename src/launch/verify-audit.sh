#!/bin/sh
# atrium-verify-audit FILE --jwks FILE|URL: verifies an exported audit log without the service.
set -eu
INIT_CWD=$PWD
export INIT_CWD
exec sh "$(dirname "$(readlink -f "$0")")/run.sh" start verify-audit "$@"
