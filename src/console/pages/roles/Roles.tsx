import { Link } from "@tanstack/react-router";
import { Lock } from "lucide-react";
import { useState } from "react";
import { RbacService } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { Button } from "../../widgets/Button.tsx";
import { CodeSample } from "../../widgets/CodeSample.tsx";
import { Page, Section } from "../../widgets/Page.tsx";
import { Answer } from "../../widgets/States.tsx";
import { DataTable } from "../../widgets/table/DataTable.tsx";
import { CreateRole, PRODUCT } from "./CreateRole.tsx";
import { Matrix } from "./Matrix.tsx";
import style from "./Roles.module.css";
import { Simulate } from "./Simulate.tsx";
import { isBuiltIn, roleLabel, useRoles } from "./use-roles.ts";

/** Roles that the matrix compares; each is one request. */
const COMPARED = 12;

/** The roles of the organization, and which permissions each has. */
export default function Roles() {
  const [open, setOpen] = useState<"create" | "simulate">();
  const roles = useRoles();
  return (
    <Page
      title="Roles"
      about="Every member has one role. The built-in ones exist in every organization and never change."
      actions={
        <>
          <Button look="primary" data-create onClick={() => setOpen("create")}>
            Create role
          </Button>
          <Button onClick={() => setOpen("simulate")}>Simulate</Button>
        </>
      }
    >
      <DataTable
        caption="Roles"
        things="roles"
        method={RbacService.method.listRoles}
        rowKey={({ id }) => String(id)}
        columns={[
          {
            header: "Name",
            sort: "name",
            cell: ({ id, name }) => <Link to={`/console/roles/${id}`}>{roleLabel(id, name)}</Link>,
            csv: ({ name }) => name,
          },
          {
            header: "Kind",
            cell: ({ id }) =>
              isBuiltIn(id) ? (
                <span className={style["locked"]}>
                  <Lock size={13} aria-hidden /> Built in
                </span>
              ) : (
                "Own"
              ),
            csv: ({ id }) => (isBuiltIn(id) ? "built in" : "own"),
          },
          { header: "Id", cell: ({ id }) => <code>{id}</code>, csv: ({ id }) => id, right: true },
        ]}
        empty={{ text: "There is no role.", api: "GET /api/roles" }}
      />
      <Section title="Permission matrix" about="What each role gives.">
        <Answer of={roles}>
          {({ data }) => (
            <>
              <Matrix roles={data.slice(0, COMPARED)} />
              {data.length > COMPARED && <p>The first {COMPARED} roles; the others are on their own pages.</p>}
            </>
          )}
        </Answer>
      </Section>
      <CodeSample
        http={`POST /api/v2/products/${PRODUCT}/roles`}
        body={{ name: "auditor", permissions: [{ id: 1 }, { id: 14 }] }}
      />
      {open === "create" && <CreateRole onClose={() => setOpen(undefined)} />}
      {open === "simulate" && <Simulate onClose={() => setOpen(undefined)} />}
    </Page>
  );
}
