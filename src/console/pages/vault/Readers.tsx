import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { CredentialsService } from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { RbacService } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { ServiceIdentitiesService } from "../../../../gen/atrium/service_identities/v1/service_identities_pb.ts";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Facts, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import style from "./Vault.module.css";

/** The role that reads secrets, and the scopes that let a key of an admin read them. */
const ROLE = "admin";
const SCOPES: readonly string[] = ["read:secrets", "admin"];

/** The most of each kind that are named; of more their number is said. */
const MOST = 200;

/** Whoever has the power to read secrets: it is given for all secrets of the organization. */
export function Readers() {
  const orgUuid = useOrg();
  const roles = useQuery(RbacService.method.listRoles, { limit: MOST });
  return (
    <Section
      title="Who can read this"
      about="The role admin, and credentials with its power, read every secret. Each read is in the audit log."
    >
      <Answer of={roles}>
        {({ data }) => {
          const roleId = data.find(({ name }) => name === ROLE)?.id;
          return (
            <Facts>
              {[
                ["Members with the role admin", <Members key="people" roleId={roleId} />],
                ["API keys", <ApiKeys key="keys" orgUuid={orgUuid} />],
                ["Service identities", <Identities key="identities" orgUuid={orgUuid} roleId={roleId} />],
              ]}
            </Facts>
          );
        }}
      </Answer>
    </Section>
  );
}

function Members({ roleId }: { roleId: number | undefined }) {
  const input = { limit: MOST, status: "active", ...(roleId !== undefined && { roleId }) };
  const people = useQuery(UsersService.method.listUsers, input);
  return (
    <Answer of={people} lines={1}>
      {({ data, total }) => <Names of={data.map(({ email }) => [email])} unread={total - data.length} />}
    </Answer>
  );
}

function ApiKeys({ orgUuid }: { orgUuid: string }) {
  const keys = useQuery(CredentialsService.method.listApiKeys, { orgUuid, limit: MOST });
  return (
    <Answer of={keys} lines={1}>
      {({ data, total }) => {
        const able = data.filter(
          ({ status, scopes }) => status === "active" && scopes.some((scope) => SCOPES.includes(scope)),
        );
        const names = able.map(({ name, scopes }) => [`${name} (${scopes.join(", ")})`] as const);
        return <Names of={names} unread={total - data.length} />;
      }}
    </Answer>
  );
}

function Identities({ orgUuid, roleId }: { orgUuid: string; roleId: number | undefined }) {
  const identities = useQuery(ServiceIdentitiesService.method.listServiceIdentities, { orgUuid, limit: MOST });
  return (
    <Answer of={identities} lines={1}>
      {({ data, total }) => (
        <Names
          of={data
            .filter((identity) => identity.roleId === roleId)
            .map(({ name, identityId }) => [name, `/console/identities/${identityId}`])}
          unread={total - data.length}
        />
      )}
    </Answer>
  );
}

/** Names, and how many more of the list were not looked at. */
function Names({ of, unread }: { of: readonly (readonly [name: string, to?: string])[]; unread: number }) {
  if (of.length === 0 && unread <= 0) return <>none</>;
  return (
    <ul className={style["readers"]}>
      {of.map(([name, to]) => (
        <li key={to ?? name}>{to === undefined ? name : <Link to={to}>{name}</Link>}</li>
      ))}
      {unread > 0 && <li>{unread.toLocaleString("en")} more are not listed here</li>}
    </ul>
  );
}
