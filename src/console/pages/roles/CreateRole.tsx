import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { CreateProductRoleRequestSchema, RbacService } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { ShowAsCode } from "../../widgets/CodeSample.tsx";
import { Dialog, SubmitActions } from "../../widgets/Dialog.tsx";
import { Field, FormBody } from "../../widgets/form/Field.tsx";
import { useForm } from "../../widgets/form/use-form.ts";
import { Answer } from "../../widgets/States.tsx";
import { useCall } from "../../widgets/use-call.ts";
import { plural } from "../../widgets/words.ts";
import { PermissionChecks } from "./PermissionChecks.tsx";
import { useCatalogue } from "./use-roles.ts";

/** Roles are the organization's; the route of version 2 takes a product that does not partition them. */
export const PRODUCT = "atrium";

/** Adds a role to the organization. */
export function CreateRole({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const catalogue = useCatalogue();
  const form = useForm(CreateProductRoleRequestSchema, { productId: PRODUCT, name: "" });
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const call = useCall(RbacService.method.createProductRole, { done: "Role created" });
  const permissions = [...chosen].sort((a, b) => a - b).map((id) => ({ id }));
  return (
    <Dialog title="Create role" open wide dirty={form.changed || chosen.size > 0} onClose={onClose}>
      <FormBody
        form={form}
        onSubmit={form.submit(async (values) => {
          const made = await call.run({ productId: PRODUCT, name: values.name ?? "", permissions });
          if (made?.data === undefined) return;
          onClose();
          void navigate({ to: `/console/roles/${made.data.id}`, ignoreBlocker: true });
        })}
      >
        <Field form={form} name="name" autoComplete="off" />
        <Answer of={catalogue}>
          {({ data }) => <PermissionChecks catalogue={data} chosen={chosen} onChange={setChosen} />}
        </Answer>
        <p role="status">{plural(chosen.size, "permission")} chosen</p>
        <ShowAsCode
          http={`POST /api/v2/products/${PRODUCT}/roles`}
          body={{ name: form.values.name || "auditor", permissions }}
        />
        <SubmitActions call={call} verb="Create" onCancel={onClose} />
      </FormBody>
    </Dialog>
  );
}
