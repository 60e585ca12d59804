"""Verifies the quote on standard input with PyJWT, as docs/billing.md shows, and prints its claims."""

import json
import sys

import jwt

token = sys.stdin.read().strip()
key = jwt.PyJWKClient(sys.argv[1]).get_signing_key_from_jwt(token)
payload = jwt.decode(token, key.key, algorithms=["EdDSA", "RS256"], options={"verify_aud": False})
try:
    jwt.decode(token + "A", key.key, algorithms=["EdDSA", "RS256"], options={"verify_aud": False})
except jwt.InvalidTokenError:
    print(json.dumps(payload))
else:
    sys.exit("an altered quote was accepted")
