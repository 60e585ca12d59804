/** The client that the provider of the bench knows. */
export const CLIENT = { id: "atrium-client", secret: "a-client-secret" };

/** What a code of the provider stands for. */
export interface Code {
  nonce: string;
  /** S256 of the PKCE verifier. */
  challenge: string;
  subject: string;
}

/** A code that the provider of the bench accepts. */
export function codeOf(code: Code): string {
  return Buffer.from(JSON.stringify(code)).toString("base64url");
}

/** What a code stands for. */
export function readCode(code: string): Code {
  return JSON.parse(Buffer.from(code, "base64url").toString("utf8")) as Code;
}

/** The subject of a login: a few people in turn. */
export function subjectOf(login: number): string {
  return `person${login % 64}`;
}

/** Runs `work` for each number below `count`, so many at once. */
export async function inParallel(count: number, atOnce: number, work: (n: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** What the bench asks of one side of its logins. */
export type LoginJob = { begin: number } | { complete: number };

/** Runs jobs of the bench in this process, until the bench ends. */
export function serveLogins(side: {
  /** Begins so many logins, in place of those begun before. */
  begin(count: number): Promise<void>;
  /** Completes all that were begun, so many at once. */
  complete(atOnce: number): Promise<void>;
}): void {
  process.on("disconnect", () => process.exit(0));
  process.on("message", (job: LoginJob) => {
    const done = "begin" in job ? side.begin(job.begin) : side.complete(job.complete);
    done.then(
      () => process.send?.({ result: {} }),
      (error: unknown) => process.send?.({ error: String(error) }),
    );
  });
  process.send?.({ ready: {} });
}
