import { defineMigration } from "../platform/db/migrator.ts";

const mailbox = `
  -- Mails of the development profile; empty where mail goes out over SMTP.
  create table development_mails (
    id bigint primary key generated always as identity,
    recipient text not null,
    subject text not null,
    text text not null,
    html text not null,
    at timestamptz(3) not null
  );
  grant select, insert, delete on development_mails to atrium_app;
`;

/** The mailbox of the development profile. */
export const developmentMailbox = defineMigration("0004-development-mailbox", [mailbox]);
