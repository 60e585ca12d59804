/**
 * Logins from the load's core, one step or two: asked `{people, connections, seconds}`, signs people in by password in
 * turn, and with the second factor where required. Reports how many sessions were opened a second.
 */
import { Agent, request } from "node:http";
import { generateSync } from "otplib";

/** A person who signs in repeatedly; `secret` is that of their TOTP factor, base32. */
export interface LoginPerson {
  email: string;
  password: string;
  org_name: string;
  secret?: string;
}

/** A job. */
export interface LoginJob {
  people: readonly LoginPerson[];
  connections: number;
  seconds: number;
}

const port = Number(process.env["PORT"]);
const agent = new Agent({ keepAlive: true });
/** Goes on from run to run: a person's code is good for one login. */
const turns = new Map<string, number>();

function post<T>(path: string, body: object): Promise<T> {
  const text = JSON.stringify(body);
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: "127.0.0.1",
        port,
        path,
        method: "POST",
        agent,
        headers: { "content-type": "application/json", "content-length": Buffer.byteLength(text) },
      },
      (answer) => {
        let answered = "";
        answer
          .setEncoding("utf8")
          .on("data", (chunk: string) => (answered += chunk))
          .on("end", () => {
            if (answer.statusCode === 200) resolve(JSON.parse(answered) as T);
            else reject(new Error(`POST ${path} answered ${answer.statusCode}: ${answered}`));
          });
      },
    );
    sent.on("error", reject).end(text);
  });
}

async function signIn({ secret, ...credentials }: LoginPerson): Promise<void> {
  const first = await post<{ mfa_token?: string; access_token?: string }>("/api/auth/login", credentials);
  if (secret === undefined) {
    if (!first.access_token) throw new Error("a login gave no token");
    return;
  }
  const second = await post<{ access_token?: string }>("/api/auth/mfa/totp/challenge", {
    mfa_token: first.mfa_token,
    code: generateSync({ secret, strategy: "totp" }),
  });
  if (!second.access_token) throw new Error("a challenge gave no token");
}

async function run({ people, connections, seconds }: LoginJob): Promise<void> {
  const seededPeople = people[0]?.email ?? "";
  const started = performance.now();
  const end = started + seconds * 1000;
  let completed = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() < end) {
      const turn = turns.get(seededPeople) ?? 0;
      turns.set(seededPeople, turn + 1);
      await signIn(people[turn % people.length] as LoginPerson);
      completed++;
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, worker));
    process.send?.({ result: { value: completed / ((performance.now() - started) / 1000) } });
  } catch (cause) {
    process.send?.({ error: cause instanceof Error ? cause.message : String(cause) });
  }
}

process.on("disconnect", () => process.exit(0));
process.on("message", (job: LoginJob) => void run(job));
process.send?.({ ready: {} });
