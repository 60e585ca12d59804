// Generated from the contract by `npm run generate`; do not edit.
/* eslint-disable */

export * from "./cv_pb.ts";
export * from "./templates_pb.ts";
