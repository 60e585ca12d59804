// Generated from the contract by `npm run generate`; do not edit.
/* eslint-disable */

export * from "./operator_pb.ts";
