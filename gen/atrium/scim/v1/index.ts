// Generated from the contract by `npm run generate`; do not edit.
/* eslint-disable */

export * from "./discovery_pb.ts";
export * from "./messages_pb.ts";
export * from "./resources_pb.ts";
export * from "./scim_pb.ts";
