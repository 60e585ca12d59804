// Generated from the contract by `npm run generate`; do not edit.
/* eslint-disable */

export * from "./step_up_pb.ts";
