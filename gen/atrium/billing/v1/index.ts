// Generated from the contract by `npm run generate`; do not edit.
/* eslint-disable */

export * from "./billing_pb.ts";
export * from "./cards_pb.ts";
export * from "./metering_pb.ts";
export * from "./operations_pb.ts";
export * from "./payments_pb.ts";
export * from "./pricing_pb.ts";
