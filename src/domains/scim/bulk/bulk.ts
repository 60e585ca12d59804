import type { CallerContext } from "../../../platform/context.ts";
import { createRequestContext } from "../../../platform/context.ts";
import { isAway, mapFailure } from "../../../platform/db/failure.ts";
import { errors, ServiceError } from "../../../platform/errors.ts";
import { scimErrorBody } from "../../../platform/scim-error.ts";
import type { ScimDeps } from "../deps.ts";
import { scimErrors } from "../errors.ts";
import { groupEtag } from "../groups/present.ts";
import type { Groups } from "../groups/groups.ts";
import { readPatch } from "../patch/engine.ts";
import { readGroupPatch } from "../patch/group-patch.ts";
import type { Resource } from "../resource/values.ts";
import { USER } from "../schema/index.ts";
import { userEtag } from "../users/present.ts";
import type { UserRow } from "../users/store.ts";
import type { Users } from "../users/users.ts";
import { readPlan } from "./plan.ts";
import { resolvedMembers, resolvedText } from "./references.ts";
import type { Step } from "./plan.ts";
import { carryOut } from "./run.ts";

/** How one operation went. */
export interface Outcome {
  location?: string;
  method: string;
  bulkId?: string;
  version?: string;
  status: string;
  response?: ReturnType<typeof scimErrorBody>;
}

/** A resource that an operation has written; without a version, it was deleted. */
interface Written {
  id: string;
  version?: string;
}

/** Failures in a row for want of the database after which a request ends: one may be a single lost connection. */
const MAX_ABSENCES = 2;

/** Bulk requests: each operation succeeds or fails by itself, as if alone (decisions 8.10). */
export function createBulk({ database, log }: ScimDeps, users: Users, groups: Groups) {
  async function writeUser(context: CallerContext, { method, version }: Step, id: string, data: Resource) {
    if (method === "DELETE") return users.remove(context, id, version).then((): Written => ({ id }));
    const row = await (method === "POST"
      ? users.create(context, data)
      : method === "PUT"
        ? users.replace(context, id, data, version)
        : users.change(context, id, version, readPatch(USER, data)));
    return { id: row.userUuid, version: userEtag(row) };
  }

  async function writeGroup(context: CallerContext, { method, version }: Step, id: string, data: Resource) {
    if (method === "DELETE") return groups.remove(context, id, version).then((): Written => ({ id }));
    const row = await (method === "POST"
      ? groups.create(context, data)
      : method === "PUT"
        ? groups.replace(context, id, data, version, false)
        : groups.change(context, id, version, readGroupPatch(data), false));
    return { id: row.groupUuid, version: groupEtag(row) };
  }

  /** The error of an operation; an unknown one is logged. */
  function errorOf(reason: unknown): ServiceError {
    const error = mapFailure(reason);
    if (error instanceof ServiceError) return error;
    log.error({ err: reason }, "A bulk operation failed");
    return new ServiceError([500, "internal_error", errors.internal().message], { cause: reason });
  }

  /**
   * Carries out the operations of a bulk request; their outcomes, in the order of the request.
   * @throws {invalidSyntax} when the body has not the structure of a bulk request
   * @throws {tooMany} when it has more than 1,000 operations
   * @throws {unavailable} when no operation took effect because the database is away
   */
  return async function bulk(
    { caller, info, signal }: CallerContext,
    baseUrl: string,
    body: Readonly<Record<string, unknown>>,
  ): Promise<Outcome[]> {
    const { steps, failOnErrors } = readPlan(body);
    // Several transactions cannot commit together with one response.
    const context = createRequestContext(database, { ...caller, effect: undefined }, info);
    const outcomes = new Map<Step, Outcome>();
    const ids = new Map<string, string>();
    const claimed = new Set<string>();
    let failed = 0;
    /** Failures in a row, and failed operations, for want of the database. */
    let [absences, lost] = [0, 0];
    /** The last of these failures. */
    let away: ServiceError | undefined;
    /** Why the operations that are left fail untried: each would wait for the database. */
    const ended = (): ServiceError | undefined => (absences < MAX_ABSENCES ? undefined : away);

    function noteAbsence(error: unknown): void {
      absences = isAway(error) ? absences + 1 : 0;
      if (absences > 0) away = error as ServiceError;
    }

    function idOf(bulkId: string): string {
      const id = ids.get(bulkId);
      if (id === undefined) throw scimErrors.unresolved(`bulkId:${bulkId.slice(0, 100)} is no resource.`);
      return id;
    }

    const urlOf = (step: Step, id: string): string => `${baseUrl}/${step.of}/${id}`;
    const about = ({ method, bulkId }: Step) => ({ method, ...(bulkId !== undefined && { bulkId }) });

    function fail(step: Step, reason: unknown): void {
      failed += 1;
      const error = errorOf(reason);
      noteAbsence(error);
      if (absences > 0) lost += 1;
      const location =
        step.id === undefined || step.references.has(step.id.slice(7)) ? undefined : urlOf(step, step.id);
      outcomes.set(step, {
        ...about(step),
        ...(location !== undefined && { location }),
        status: String(error.status),
        response: scimErrorBody(error),
      });
    }

    /** @throws {unresolved} for a second operation with a bulkId */
    function claim({ defines }: Step): void {
      if (defines === undefined) return;
      if (claimed.has(defines)) throw scimErrors.unresolved("The bulkId is there twice.");
      claimed.add(defines);
    }

    function succeed(step: Step, { id, version }: Written): void {
      absences = 0;
      if (step.defines !== undefined) ids.set(step.defines, id);
      const status = step.method === "POST" ? "201" : step.method === "DELETE" ? "204" : "200";
      outcomes.set(step, {
        location: urlOf(step, id),
        ...about(step),
        ...(version !== undefined && { version }),
        status,
      });
    }

    async function write(step: Step): Promise<void> {
      try {
        const reason = ended();
        if (reason !== undefined) throw reason;
        if (step.fault !== undefined) throw scimErrors.invalidSyntax(step.fault);
        const data = resolvedMembers(step.data ?? {}, idOf);
        const id = resolvedText(step.id ?? "", idOf);
        succeed(step, await (step.of === "Users" ? writeUser : writeGroup)(context, step, id, data));
      } catch (reason) {
        fail(step, reason);
      }
    }

    /** Carries out steps: creates of users who are not known together, the others one after another. */
    async function run(together: readonly Step[]): Promise<void> {
      const claimable = together.filter((step) => {
        try {
          if (step.fault === undefined) claim(step);
          return true;
        } catch (reason) {
          fail(step, reason);
          return false;
        }
      });
      const rows = await created(claimable);
      for (const [index, step] of claimable.entries()) {
        const row = rows[index];
        if (row === undefined) await write(step);
        else succeed(step, { id: row.userUuid, version: userEtag(row) });
      }
    }

    async function created(steps: readonly Step[]): Promise<readonly (UserRow | undefined)[]> {
      if (steps.length < 2 || ended() !== undefined) return [];
      try {
        return await users.createTogether(
          context,
          steps.map(({ data }) => data ?? {}),
        );
      } catch (error) {
        noteAbsence(mapFailure(error));
        // Each of them meets the error again, alone.
        return [];
      }
    }

    await carryOut({
      steps,
      oneByOne: failOnErrors !== undefined,
      run,
      circular: (step) => fail(step, scimErrors.unresolved("The references of these operations form a circle.")),
      stopped: () => {
        signal?.throwIfAborted();
        return failOnErrors !== undefined && failed >= failOnErrors;
      },
    });
    if (away !== undefined && failed === outcomes.size && (ended() !== undefined || lost === failed)) throw away;
    return steps.flatMap((step) => outcomes.get(step) ?? []);
  };
}
