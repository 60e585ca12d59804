import { Lru } from "../lru.ts";
import { checkSecrets, verifyDelivery, WebhookRefusal } from "../webhooks/verify.ts";
import { postReport } from "./report.ts";
import type { GivenAnswer, InstallNotice, InstallReport, Provisioned, ProvisionRequest } from "./types.ts";
import type { PublisherOptions, SeenMessages } from "./types.ts";

const SEEN = 1_000;

/** The server of an app: a handler of the Fetch API for its `provision_webhook`, and reports on its installs. */
export interface Publisher {
  (request: Request): Promise<Response>;
  /**
   * Reports the outcome of what was accepted before, again for ten minutes while the service is busy or away.
   * @throws AtriumError when it was not taken: report it later, or it is lost
   */
  report(installId: string, report: InstallReport): Promise<void>;
}

/**
 * Verifies what the service sends and calls the handler of each type. What a handler throws becomes a 500, and the
 * service sends the message again.
 * @throws TypeError when there is no secret, or one that is empty or not base64
 */
export function createPublisher(options: PublisherOptions): Publisher {
  const { on } = options;
  checkSecrets(options.secret);
  const secrets = typeof options.secret === "string" ? [options.secret] : options.secret;
  const seen = options.seen ?? memory();
  /** Messages that are being handled: one that comes again meanwhile waits for the same answer. */
  const running = new Map<string, Promise<GivenAnswer>>();

  const handlers: Readonly<Record<string, (data: unknown) => Promise<GivenAnswer>>> = {
    "install.provisioning": async (data) => answerOf(await on.provision(data as ProvisionRequest)),
    "install.deprovisioning": async (data) =>
      (await on.deprovision(data as InstallNotice)) === undefined ? OK : ACCEPTED,
    "install.suspended": async (data) => done(on.suspend?.(data as InstallNotice)),
    "install.resumed": async (data) => done(on.resume?.(data as InstallNotice)),
  };

  async function handle(id: string, text: string): Promise<GivenAnswer> {
    const given = await seen.get(id);
    if (given !== undefined) return given;
    const { type, data } = JSON.parse(text) as { type: string; data: unknown };
    // A later service may send more types; they need no action.
    const answer = (await handlers[type]?.(data)) ?? OK;
    await seen.set(id, answer);
    return answer;
  }

  const handler = async (request: Request): Promise<Response> => {
    let delivery: { id: string; text: string };
    try {
      const body = new Uint8Array(await request.arrayBuffer());
      delivery = verifyDelivery({ secrets, body, headers: request.headers });
    } catch (error) {
      if (!(error instanceof WebhookRefusal)) throw error;
      return new Response(null, { status: error.status });
    }
    const { id, text } = delivery;
    let answer = running.get(id);
    if (answer === undefined) {
      answer = handle(id, text).finally(() => running.delete(id));
      running.set(id, answer);
    }
    const { status, body } = await answer;
    return new Response(body === "" ? null : body, { status, headers: { "content-type": "application/json" } });
  };
  const report = (installId: string, outcome: InstallReport): Promise<void> =>
    postReport({ ...options, secret: secrets[0] ?? "" }, installId, outcome);
  return Object.assign(handler, { report });
}

const OK: GivenAnswer = { status: 200, body: "" };
const ACCEPTED: GivenAnswer = { status: 202, body: "" };

async function done(work: void | Promise<void>): Promise<GivenAnswer> {
  await work;
  return OK;
}

function answerOf(outcome: Provisioned): GivenAnswer {
  if (outcome.status === "accepted") return ACCEPTED;
  if (outcome.status === "refused") return { status: 422, body: JSON.stringify({ message: outcome.message }) };
  const { endpointUrl, message, cloudTarget } = outcome;
  return { status: 200, body: JSON.stringify({ endpoint_url: endpointUrl, message, cloud_target: cloudTarget }) };
}

function memory(): SeenMessages {
  const answers = new Lru<string, GivenAnswer>(SEEN);
  return { get: (id) => answers.get(id), set: (id, answer) => answers.set(id, answer) };
}
