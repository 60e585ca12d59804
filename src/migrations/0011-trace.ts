import { defineMigration } from "../platform/db/migrator.ts";

/** The trace a message belongs to, so that what its handler does is seen together with the request that wrote it. */
export const trace = defineMigration("0011-trace", ["alter table outbox add column traceparent text"]);
