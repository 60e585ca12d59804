/** Asked `{seconds}`, lets `client_calls.py` make calls so long, and reports how many a second. */
import { spawn } from "node:child_process";
import { delimiter, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { pythonTools } from "../../contract/clients/tools.ts";
import { root } from "../../contract/run.ts";

const { found, missing } = pythonTools();
if (found === undefined) throw new Error(`The Python client cannot be measured: ${missing}`);
const script = fileURLToPath(new URL("client_calls.py", import.meta.url));
const path = [join(root, "gen/python"), join(root, "src/clients/python")].join(delimiter);
const child = spawn(join(found, "python"), [script], {
  env: { ...process.env, PYTHONPATH: path },
  stdio: ["pipe", "pipe", "inherit"],
});
const lines = createInterface(child.stdout)[Symbol.asyncIterator]();

async function line(): Promise<object> {
  const { value, done } = await lines.next();
  if (done === true) throw new Error(`${script} ended`);
  return JSON.parse(value) as object;
}

const end = (): void => {
  child.kill("SIGKILL");
  process.exit(0);
};
process.on("disconnect", end);
process.on("SIGTERM", end);
process.on("message", ({ seconds }: { seconds: number }) => {
  child.stdin.write(`${JSON.stringify({ seconds })}\n`);
  void line().then((result) => process.send?.({ result }));
});
await line();
process.send?.({ ready: {} });
