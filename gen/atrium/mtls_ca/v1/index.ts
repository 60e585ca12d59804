// Generated from the contract by `npm run generate`; do not edit.
/* eslint-disable */

export * from "./mtls_ca_pb.ts";
