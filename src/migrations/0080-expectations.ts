import { defineMigration } from "../platform/db/migrator.ts";

// Fails the transaction that relied on what another has changed meanwhile; it runs again (AT409).
const expectFound = `
  create function expect_found(hit boolean) returns void language plpgsql as $$
  begin
    if not hit then raise exception 'another transaction was faster' using errcode = 'AT409'; end if;
  end $$;
`;

/** Conditions that a statement checks by itself, so that COMMIT can travel with it. */
export const expectations = defineMigration("0080-expectations", [expectFound]);
