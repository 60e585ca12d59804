import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { CredentialsService } from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { RbacService } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { ServiceIdentitiesService } from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Facts, Section } from "../../widgets/Page.tsx";
import style from "./Vault.module.css";

/** The role that reads secrets, and the scopes that let a key of an admin read them. */
const ROLE = "admin";
const SCOPES: readonly string[] = ["read:secrets", "admin"];

/** Whoever has the power to read secrets: it is given for all secrets of the organization. */
export function Readers() {
  const orgUuid = useOrg();
  const people = useQuery(UsersService.method.listUsers, { limit: 200 });
  const keys = useQuery(CredentialsService.method.listApiKeys, { orgUuid, limit: 200 });
  const roles = useQuery(RbacService.method.listRoles, { limit: 200 });
  const identities = useQuery(ServiceIdentitiesService.method.listServiceIdentities, { orgUuid, limit: 200 });
  const roleId = roles.data?.data.find(({ name }) => name === ROLE)?.id;
  const members = people.data?.data.filter(({ role, status }) => role === ROLE && status === "active") ?? [];
  const able = keys.data?.data.filter(
    ({ status, scopes }) => status === "active" && scopes.some((scope) => SCOPES.includes(scope)),
  );
  const workloads = identities.data?.data.filter((identity) => identity.roleId === roleId) ?? [];
  return (
    <Section
      title="Who can read this"
      about="The role admin, and credentials with its power, read every secret. Each read is in the audit log."
    >
      <Facts>
        {[
          ["Members with the role admin", <Names key="people" of={members.map(({ email }) => [email])} />],
          [
            "API keys",
            <Names key="keys" of={(able ?? []).map(({ name, scopes }) => [`${name} (${scopes.join(", ")})`])} />,
          ],
          [
            "Service identities",
            <Names
              key="identities"
              of={workloads.map(({ name, identityId }) => [name, `/console/identities/${identityId}`])}
            />,
          ],
        ]}
      </Facts>
    </Section>
  );
}

function Names({ of }: { of: readonly (readonly [name: string, to?: string])[] }) {
  if (of.length === 0) return <>none</>;
  return (
    <ul className={style["readers"]}>
      {of.map(([name, to]) => (
        <li key={to ?? name}>{to === undefined ? name : <Link to={to}>{name}</Link>}</li>
      ))}
    </ul>
  );
}
