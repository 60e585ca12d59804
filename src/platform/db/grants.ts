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

/**
 * SQL: the application may call the functions of migrations, also where an administrator has taken from everybody the
 * right to call new ones (`alter default privileges`). Functions of extensions keep their rights.
 */
export const GRANT_FUNCTIONS = `do $$
  declare name regprocedure;
  begin
    for name in select p.oid::regprocedure from pg_proc p
      where p.pronamespace = 'public'::regnamespace and p.prokind = 'f'
        and p.proowner = (select r.oid from pg_roles r where r.rolname = current_user)
        and not has_function_privilege('${appRole}', p.oid, 'execute')
        and not exists (select 1 from pg_depend d
          where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
    loop
      execute format('grant execute on function %s to ${appRole}', name);
    end loop;
  end $$`;
