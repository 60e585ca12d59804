import { createQueryOptions, useTransport } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import { Check } from "lucide-react";
import { RbacService } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import type { Role } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { Answer, Failed, Skeleton } from "../../widgets/States.tsx";
import style from "./Roles.module.css";
import { roleLabel, useCatalogue } from "./use-roles.ts";

/** Which role has which permission. */
export function Matrix({ roles }: { roles: readonly Role[] }) {
  const transport = useTransport();
  const catalogue = useCatalogue();
  const answers = useQueries({
    queries: roles.map(({ id }) =>
      createQueryOptions(RbacService.method.listRolePermissions, { roleId: id }, { transport }),
    ),
  });
  const failed = answers.find(({ error }) => error !== null);
  if (failed !== undefined) return <Failed error={failed.error} retry={() => void failed.refetch()} />;
  if (answers.some(({ data }) => data === undefined)) return <Skeleton lines={8} />;
  const held = answers.map(({ data }) => new Set(data?.data.map(({ id }) => id)));
  return (
    <Answer of={catalogue}>
      {({ data }) => (
        <div className={style["matrix"]} tabIndex={0} role="group" aria-label="Permission matrix">
          <table>
            <caption>Permission matrix</caption>
            <thead>
              <tr>
                <th scope="col">Permission</th>
                {roles.map(({ id, name }) => (
                  <th key={id} scope="col">
                    {roleLabel(id, name)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {data.map(({ id, name }) => (
                <tr key={id}>
                  <th scope="row">
                    <code>{name}</code>
                  </th>
                  {roles.map((role, column) => (
                    <td key={role.id}>
                      {held[column]?.has(id) === true ? <Check size={15} aria-label="yes" /> : <span>–</span>}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Answer>
  );
}
