import { createBatches } from "../../platform/batches.ts";
import type { CallerContext } from "../../platform/context.ts";
import type { Database } from "../../platform/db/types.ts";
import { errors } from "../../platform/errors.ts";
import type { Log } from "../../platform/log.ts";
import { causedBy, EVENTS } from "../event-catalogue/index.ts";
import type { Events } from "../event-catalogue/index.ts";
import { openValue } from "./envelope.ts";
import { vaultErrors } from "./errors.ts";
import { withKey } from "./keyring.ts";
import type { MasterKeys } from "./master-keys.ts";
import { readSecrets } from "./reading-store.ts";
import type { Answer, Question } from "./reading-store.ts";

/** Dependencies of reading. */
export interface ReadingDeps {
  database: Pick<Database, "prepared">;
  log: Pick<Log, "error">;
  masterKeys: MasterKeys;
  events: Pick<Events, "emitAll" | "recordFailure">;
}

/** A secret with its value. */
export interface Secret {
  name: string;
  value: string;
  version: number;
  createdAt: Date;
  tags: string[];
  description: string | null;
}

interface Request extends Question {
  context: CallerContext;
}

type Outcome = { secret: Secret } | { refusal: "sealed" | "missing" } | { damaged: unknown; version: number };

/** Maximum number of requests in one batch. */
const MAX_BATCH = 512;
/** Maximum number of secrets that one statement reads: with values of 64 KiB it returns some megabytes. */
const MAX_SECRETS = 128;
/** Batches in flight: what one costs depends on the secrets and callers in it more than on the requests. */
const IN_FLIGHT = 1;

/**
 * Reads secrets. The requests of one turn of the event loop share one statement, which reads the seal as well, and one
 * that records the reads in the audit log before any value is returned. Equal reads of one caller in the same batch are
 * one event, with their number in `metadata.reads`.
 */
export function createReading({ database, log, masterKeys, events }: ReadingDeps) {
  function open({ orgUuid, name }: Question, answer: Answer): Outcome {
    const master = masterKeys.find(answer);
    if (master === undefined) return { refusal: "sealed" };
    if (answer.version === null) return { refusal: "missing" };
    const { version, createdAt, tags, description } = answer;
    const keyring = { keyId: answer.organizationKeyId, box: answer.organizationKeyBox };
    try {
      const place = { orgUuid, name, version };
      const value = withKey(master, orgUuid, keyring, (key) => openValue(key, place, answer));
      return { secret: { name, value, version, createdAt, tags, description } };
    } catch (damaged) {
      return { damaged, version };
    }
  }

  async function readAll(requests: readonly Request[]): Promise<Outcome[]> {
    const groups = equalRequests(requests);
    const outcomes = new Map<Request, Outcome>();
    const reads: ReturnType<typeof readsOf> = [];
    for (let from = 0; from < groups.length; from += MAX_SECRETS) {
      const asked = groups.slice(from, from + MAX_SECRETS);
      const answers = await readSecrets(
        database,
        asked.map(([first]) => first as Request),
      );
      for (const [at, group] of asked.entries()) {
        const answer = answers[at];
        if (answer === undefined) throw new Error("the statement that reads secrets returned too few rows");
        const outcome = open(group[0] as Request, answer);
        for (const request of group) outcomes.set(request, outcome);
        if ("secret" in outcome) reads.push(...readsOf(group, outcome.secret.version));
      }
    }
    await events.emitAll(EVENTS["vault.secret.read"], reads);
    return requests.map((request) => outcomes.get(request) as Outcome);
  }

  const read = createBatches(MAX_BATCH, readAll, { inFlight: IN_FLIGHT });

  /**
   * The value of a secret: of its present version, or of the given one.
   * @throws {vault_sealed} while the vault is sealed
   * @throws {secret_not_found} when there is no such secret or version
   * @throws {internal} when what is stored was not sealed for this place; recorded as a failure
   */
  return async (context: CallerContext, orgUuid: string, name: string, version?: number): Promise<Secret> => {
    const outcome = await read({ context, orgUuid, name, version });
    if ("secret" in outcome) return outcome.secret;
    if ("refusal" in outcome) throw outcome.refusal === "sealed" ? vaultErrors.sealed() : vaultErrors.secretNotFound();
    log.error({ err: outcome.damaged, orgUuid, name, version: outcome.version }, "a stored secret does not open");
    await events.recordFailure(EVENTS["vault.secret.read"], {
      by: causedBy(context),
      orgUuid,
      resourceId: name,
      metadata: { name, version: outcome.version, code: "internal" },
    });
    throw errors.internal({ cause: outcome.damaged });
  };
}

/** The requests for the same secret together. */
function equalRequests(requests: readonly Request[]): Request[][] {
  const asked = new Map<string, Request[]>();
  for (const request of requests) {
    const { orgUuid, version = "", name } = request;
    const key = `${orgUuid}/${version}/${name}`;
    const same = asked.get(key);
    if (same === undefined) asked.set(key, [request]);
    else same.push(request);
  }
  return [...asked.values()];
}

/** One event for each caller among equal reads. */
function readsOf(group: readonly Request[], version: number) {
  const byCaller = Map.groupBy(
    group,
    ({ context: { caller, info } }) =>
      `${caller.principal.type} ${caller.principal.id} ${info.address} ${info.userAgent}`,
  );
  return [...byCaller.values()].map((equal) => {
    const { context, orgUuid, name } = equal[0] as Request;
    const metadata = { name, version, ...(equal.length > 1 && { reads: equal.length }) };
    return { by: causedBy(context), orgUuid, resourceId: name, metadata };
  });
}
