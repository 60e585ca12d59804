import { grantApp } from "../platform/db/grants.ts";
import { defineMigration } from "../platform/db/migrator.ts";

const openStreams = `
  -- Open streams of a principal by the instance that serves them, as {"<id of its liveness lock>": <streams>}; of an
  -- instance that has ended they no longer count. One row, whose lock makes the check of the total and the change one
  -- step. A crash of the database ends the liveness locks too, so it needs no write-ahead log.
  create unlogged table open_streams (
    id bytea primary key,
    holders jsonb not null
  );
`;

/** Counts of open streams, which all instances share (decisions 13). */
export const openStreamCounts = defineMigration("0101-open-streams", [openStreams, grantApp("open_streams")]);
