import { useQuery } from "@connectrpc/connect-query";
import { RbacService } from "../../../../gen/atrium/rbac/v1/rbac_pb.ts";
import { useEvery } from "../../widgets/table/use-every.ts";
import { inWords } from "../../widgets/words.ts";

/** Roles that exist in every organization and never change have the ids 1 to 5. */
export const isBuiltIn = (roleId: number): boolean => roleId <= 5;

/** The role of somebody who has no other. */
export const EMPLOYEE = 3;

/** A role's name for people: built-in ones in words, the organization's own as it was typed. */
export const roleLabel = (roleId: number, name: string): string => (isBuiltIn(roleId) ? inWords(name) : name);

/** Every role of the organization, built-in ones first. */
export const useRoles = () => useEvery({ method: RbacService.method.listRoles });

/** The permissions of a role. */
export const useRolePermissions = (roleId: number | undefined) =>
  useQuery(RbacService.method.listRolePermissions, { roleId: roleId ?? 0 }, { enabled: roleId !== undefined });

/** Every permission that there is. */
export const useCatalogue = () => useQuery(RbacService.method.listPermissions, {}, { staleTime: 600_000 });
