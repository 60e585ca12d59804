import { appRole } from "./connection.ts";

const name = /^[a-z_][a-z0-9_]*$/;

function grant(rights: string, names: readonly string[]): string {
  for (const one of names)
    if (!name.test(one)) throw new Error(`"${one}" is not a table name in lower case without quotes`);
  return `grant ${rights} on table ${names.join(", ")} to ${appRole}`;
}

/** SQL: the application may read and change rows of these tables. Identity columns need no grant for their sequence. */
export const grantApp = (...tables: string[]): string => grant("select, insert, update, delete", tables);

/** SQL: the application may read these tables. */
export const grantRead = (...tables: string[]): string => grant("select", tables);
