// Generated from the contract by `npm run generate`; do not edit.
/* eslint-disable */

export * from "./buyer_pb.ts";
export * from "./marketplace_pb.ts";
export * from "./platform_pb.ts";
export * from "./publisher_pb.ts";
export * from "./publishing_pb.ts";
export * from "./statistics_pb.ts";
