"""Verifies a binary invite answer with Python's FlatBuffers runtime.

Usage: verify.py FOLDER < answer. FOLDER holds the reader that flatc generated. Prints the fields as JSON; any
offset, table or string that is not as the format demands ends with an error.
"""

import json
import sys

from flatbuffers import encode, packer

sys.path.insert(0, sys.argv[1])
from invite_registration_generated import InviteRegistration  # noqa: E402

FIELDS = ["string"] * 6 + ["int", "string"]


def demand(holds, what):
    if not holds:
        raise SystemExit(f"not a FlatBuffer: {what}")


def verify(buf):
    """Walks every offset as a verifier does: in bounds, aligned, strings ended by NUL and UTF-8."""

    def get(kind, at, size):
        demand(0 <= at and at + size <= len(buf), f"{at} is out of bounds")
        demand(at % size == 0, f"{at} is not aligned to {size}")
        return encode.Get(kind, buf, at)

    table = get(packer.uoffset, 0, 4)
    vtable = table - get(packer.soffset, table, 4)
    vtable_size, table_size = get(packer.voffset, vtable, 2), get(packer.voffset, vtable + 2, 2)
    demand(vtable_size >= 4 and vtable_size % 2 == 0 and vtable + vtable_size <= len(buf), "vtable size")
    demand(table_size >= 4 and table + table_size <= len(buf), "table size")
    for index, kind in enumerate(FIELDS):
        slot = 4 + 2 * index
        offset = get(packer.voffset, vtable + slot, 2) if slot < vtable_size else 0
        if offset == 0:
            demand(index > 1, "a required field is missing")
            continue
        demand(offset + 4 <= table_size, "a field lies outside its table")
        if kind == "int":
            get(packer.int32, table + offset, 4)
            continue
        start = table + offset + get(packer.uoffset, table + offset, 4)
        length = get(packer.uoffset, start, 4)
        demand(start + 4 + length < len(buf), "a string is cut off")
        demand(buf[start + 4 + length] == 0, "a string does not end with NUL")
        bytes(buf[start + 4 : start + 4 + length]).decode("utf-8")


buf = bytearray(sys.stdin.buffer.read())
demand(InviteRegistration.InviteRegistrationBufferHasIdentifier(buf, 0), "file identifier")
verify(buf)
root = InviteRegistration.GetRootAs(buf, 0)


def text(value):
    return None if value is None else value.decode("utf-8")


json.dump(
    {
        "user_uuid": text(root.UserUuid()),
        "org_uuid": text(root.OrgUuid()),
        "role": text(root.Role()),
        "access_token": text(root.AccessToken()),
        "refresh_token": text(root.RefreshToken()),
        "token_type": text(root.TokenType()),
        "expires_in": root.ExpiresIn(),
        "message": text(root.Message()),
    },
    sys.stdout,
)
