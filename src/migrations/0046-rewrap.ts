import { defineMigration } from "../platform/db/migrator.ts";

/** Key checks move to the present key at the end of `rewrap`. */
export const movableKeyChecks = defineMigration("0046-rewrap", ["grant update (box) on key_checks to atrium_app"]);
