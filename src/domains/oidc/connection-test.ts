import { OutgoingError } from "../../platform/outgoing/client.ts";
import { findConnection } from "./connection-store.ts";
import type { Connection } from "./connection-store.ts";
import { callbackUri } from "./authorize.ts";
import type { OidcDeps } from "./deps.ts";
import { ALGORITHMS, authenticationOf, parseObject, ProviderFault } from "./discovery.ts";
import { readAlgorithms, readEndpoints, readIssuer, readKeySet } from "./discovery.ts";
import type { ProviderDocument } from "./discovery.ts";
import { demandCallable, fetchDocument } from "./documents.ts";
import { oidcErrors } from "./errors.ts";
import type { Providers } from "./provider.ts";
import { issuerOf } from "./rules.ts";
import { obstaclesOf, verifiesSignatures } from "./suitability.ts";

/** What a test of a connection looks at, in the order of the response. */
const CHECKS = ["discovery", "issuer", "jwks", "endpoints", "pkce"] as const;

/** One check of a connection. */
export interface ConnectionCheck {
  name: (typeof CHECKS)[number];
  ok: boolean;
  /** `ok`, or for the administrator: what is wrong, or what a check that passed leaves open. */
  message: string;
}

type Verdict = Omit<ConnectionCheck, "name">;
type Given = Readonly<Record<string, unknown>>;

const OK: Verdict = { ok: true, message: "ok" };
const failed = (message: string): Verdict => ({ ok: false, message });

/** Runs a check; the faults that it throws are its verdict. */
async function check(subject: string, work: () => Promise<Verdict> | Verdict): Promise<Verdict> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProviderFault) return failed(`${subject}: ${error.message}.`);
    throw error;
  }
}

/** The test of a connection before anybody signs in through it (decisions 17.8). */
export function createConnectionTest({ database, outgoing, config }: OidcDeps, providers: Providers) {
  function checkIssuer(given: Given, { discoveryUrl }: Connection): Verdict {
    try {
      readIssuer(given, discoveryUrl);
      return OK;
    } catch {
      const named = JSON.stringify(given["issuer"] ?? null).slice(0, 200);
      return failed(`The document names the issuer ${named}; its URL stands for "${issuerOf(discoveryUrl)}".`);
    }
  }

  async function checkKeys(given: Given): Promise<Verdict> {
    const jwksUri = given["jwks_uri"];
    if (typeof jwksUri !== "string" || outgoing.vetUrl(jwksUri) !== undefined)
      return failed("Not checked: the discovery document names no jwks_uri that may be called.");
    return check("The key set", async () => {
      const { keys } = readKeySet((await fetchDocument(outgoing, jwksUri, "jwks")).body.toString("utf8"));
      const named = readAlgorithms(given);
      const algorithms = named.length === 0 ? [...ALGORITHMS] : named;
      if (keys.some((key) => verifiesSignatures(key, algorithms))) return OK;
      const by = algorithms.join(", ");
      return failed(`The key set has no public key for signatures by ${by}; ID tokens cannot be verified.`);
    });
  }

  async function checkEndpoints(given: Given, connection: Connection, isIssuer: boolean): Promise<Verdict> {
    return check("The discovery document", async () => {
      const endpoints = readEndpoints(given);
      demandCallable(outgoing, endpoints);
      const obstacles = obstaclesOf(given);
      if (obstacles.length > 0) return failed(obstacles.join(" "));
      if (authenticationOf(endpoints) === undefined)
        return failed("The token endpoint takes neither client_secret_basic nor client_secret_post.");
      // The client secret goes to nobody but the issuer it was given by.
      if (!isIssuer) return failed("Not asked: the document names another issuer.");
      return askTokenEndpoint(connection, { issuer: readIssuer(given, connection.discoveryUrl), ...endpoints });
    });
  }

  async function askTokenEndpoint(connection: Connection, document: ProviderDocument): Promise<Verdict> {
    const error = await providers
      .refusalOfToken(connection, document, callbackUri(config.baseUrl, connection.uuid))
      .catch((fault: unknown) => {
        if (fault instanceof ProviderFault)
          return failed(`The token endpoint ${causeOf(fault)}; nobody can sign in through it.`);
        throw fault;
      });
    if (typeof error === "object") return error;
    if (error === "unsupported_grant_type")
      return failed(`The token endpoint exchanges no authorization codes (${error}).`);
    if (error === "invalid_client" || error === "unauthorized_client") {
      // Providers that offer several methods may allow a client one of them alone.
      const by = authenticationOf(document);
      return failed(`The token endpoint refused client id or client secret (${error}, by ${by}).`);
    }
    return OK;
  }

  async function checksOf(connection: Connection): Promise<Record<ConnectionCheck["name"], Verdict>> {
    let given: Given | undefined;
    const discovery = await check("The discovery document", async () => {
      const { body } = await fetchDocument(outgoing, connection.discoveryUrl, "discovery");
      given = parseObject(body.toString("utf8"), "discovery");
      return OK;
    });
    if (given === undefined) {
      const unchecked = failed("Not checked: the discovery document could not be read.");
      return { discovery, issuer: unchecked, jwks: unchecked, endpoints: unchecked, pkce: unchecked };
    }
    const issuer = checkIssuer(given, connection);
    const [jwks, endpoints] = await Promise.all([checkKeys(given), checkEndpoints(given, connection, issuer.ok)]);
    return { discovery, issuer, jwks, endpoints, pkce: checkPkce(given["code_challenge_methods_supported"]) };
  }

  /**
   * Asks the provider as a sign-in would, past every cache. Whatever the provider says becomes the verdict of a check.
   * @throws {not_found} when the organization has no such connection
   */
  return async function test(orgUuid: string, uuid: string): Promise<{ ok: boolean; checks: ConnectionCheck[] }> {
    const connection = await findConnection(database, uuid);
    if (connection?.orgUuid !== orgUuid) throw oidcErrors.notFound();
    const verdicts = await checksOf(connection);
    const checks = CHECKS.map((name) => ({ name, ...verdicts[name] }));
    return { ok: checks.every(({ ok }) => ok), checks };
  };
}

/** A document need not name the methods, and that of Entra does not although Entra supports S256. */
function checkPkce(methods: unknown): Verdict {
  if (methods === undefined)
    return { ok: true, message: "The document does not say; every sign-in sends a challenge by S256." };
  if (Array.isArray(methods) && methods.includes("S256")) return OK;
  return failed("The document names code_challenge_methods_supported without S256, which every sign-in uses.");
}

function causeOf({ message, cause }: ProviderFault): string {
  return cause instanceof OutgoingError ? `could not be reached: ${cause.message}` : message;
}
