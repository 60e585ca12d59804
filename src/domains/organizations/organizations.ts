import type { Clock } from "../../platform/clock.ts";
import { dateOf } from "../../platform/clock.ts";
import type { Database, Tx } from "../../platform/db/types.ts";
import { foldName } from "../../platform/names.ts";
import { certain } from "../../platform/narrow.ts";
import type { Random } from "../../platform/random.ts";
import { organizationErrors } from "./errors.ts";
import { planToKeep, readName } from "./rules.ts";
import * as store from "./store.ts";
import type { OrganizationRow, RaisedPlan } from "./store.ts";

/** Dependencies of organizations. */
export interface OrganizationsDeps {
  database: Database;
  clock: Clock;
  random: Pick<Random, "uuid">;
}

/** A change of an organization; absent members stay. */
export interface OrganizationChange {
  name?: string | undefined;
  plan?: string | undefined;
  jitDomains?: string[] | undefined;
  ssoRequired?: boolean | undefined;
}

/** Organizations and their names. */
export function createOrganizations({ database, clock, random }: OrganizationsDeps) {
  return {
    /**
     * Creates an organization on the plan `free`.
     * @throws {validation_error} for the name
     * @throws {conflict} when the name is or was in use
     */
    async create(tx: Tx, name: string): Promise<{ uuid: string; name: string }> {
      const wanted = readName(name);
      const uuid = random.uuid();
      const at = dateOf(clock);
      await store.insertOrganization(tx, uuid, wanted.name, at);
      if (!(await store.reserveName(tx, wanted.key, wanted.name, uuid, at))) throw organizationErrors.nameTaken();
      return { uuid, name: wanted.name };
    },

    /**
     * Changes a locked organization; returns what it has become, the same object when nothing changes. Its old name
     * stays reserved. The plan is one that a platform admin sets.
     * @throws {validation_error} for the name
     * @throws {conflict} when the name is or was another's
     */
    async change(
      tx: Tx,
      org: OrganizationRow,
      { name, plan, jitDomains, ssoRequired }: OrganizationChange,
      at: Date,
    ): Promise<OrganizationRow> {
      const wanted = name === undefined ? undefined : readName(name);
      const next = {
        ...org,
        name: wanted?.name ?? org.name,
        plan: plan ?? org.plan,
        // Noted also when it is the plan paid for now: it stays when the subscription ends.
        adminPlan: plan === undefined ? org.adminPlan : planToKeep(plan),
        jitDomains: jitDomains ?? org.jitDomains,
        ssoRequired: ssoRequired ?? org.ssoRequired,
      };
      if (JSON.stringify(next) === JSON.stringify(org)) return org;
      if (
        wanted !== undefined &&
        !(await store.reserveName(tx, wanted.key, wanted.name, org.uuid, at)) &&
        (await store.nameHolder(tx, wanted.key)) !== org.uuid
      ) {
        throw organizationErrors.nameTaken();
      }
      await store.updateOrganization(tx, next, at);
      return next;
    },

    /**
     * Gives locked organizations the plan that each has paid for, or without one the plan that a platform admin has
     * set, else `free`. A payment never lowers what an admin has set (decisions 10.6). Returns the organizations that
     * have a higher plan now, and another than `free` before.
     */
    setPaidPlans: (tx: Tx, paid: ReadonlyMap<string, string | undefined>, at: Date): Promise<RaisedPlan[]> =>
      store.updatePaidPlans(tx, paid, at),

    /** Ends a locked organization; its names stay taken. */
    remove: (tx: Tx, uuid: string, at: Date): Promise<void> => store.markDeleted(tx, uuid, at),
    /** Whether there is a plan of this name. */
    planExists: (tx: Tx, plan: string): Promise<boolean> => store.planExists(tx, plan),

    /** Whether an organization could take this name now. */
    async isNameAvailable(name: string): Promise<boolean> {
      return store.isNameFree(database, readName(name).key);
    },

    /** A live organization. */
    find: (uuid: string): Promise<OrganizationRow | undefined> => store.findOrganization(database, uuid),
    /** The live organization that has a name now. */
    findByName: (name: string): Promise<OrganizationRow | undefined> =>
      store.findOrganizationByName(database, foldName(name)),
    /** A live organization, read in a transaction. */
    findIn: (tx: Tx, uuid: string): Promise<OrganizationRow | undefined> => store.organizationIn(tx, uuid),
    /** A live organization, locked against other changes of it and of its memberships until the transaction ends. */
    lock: (tx: Tx, uuid: string): Promise<OrganizationRow | undefined> => store.lockOrganization(tx, uuid),
    /**
     * Locks several organizations as `lock` does; all in the same order, so that nobody waits in a circle. Returns
     * those that live.
     */
    lockAll: (tx: Tx, uuids: readonly string[]): Promise<ReadonlySet<string>> => store.lockOrganizations(tx, uuids),
    /** Whether an organization lives; if so, it does not end before the transaction does. */
    keep: (tx: Tx, uuid: string): Promise<boolean> => store.keepOrganization(tx, uuid),
    /** Name of an organization that exists or existed. */
    nameOf: (tx: Pick<Tx, "query">, uuid: string): Promise<string | undefined> => store.nameOf(tx, uuid),
    /** What tells the names of organizations that exist or existed. */
    async namesOf(uuids: readonly string[]): Promise<(uuid: string) => string> {
      const names = await store.namesOf(database, uuids);
      return (uuid) => certain(names.get(uuid), "name of an organization");
    },
    /** Whether an organization exists or existed. */
    existsEver: (uuid: string): Promise<boolean> => store.existsEver(database, uuid),
    /** Features a plan gives. */
    featuresOf: (plan: string): Promise<string[]> => store.featuresOf(database, plan),
    /** Whether there is any organization yet. */
    any: (tx: Tx): Promise<boolean> => store.anyOrganization(tx),
  };
}

/** Organizations as other domains use them. */
export type Organizations = ReturnType<typeof createOrganizations>;
