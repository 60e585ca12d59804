import { CommandError } from "./output.ts";

/** Characters of standard input that are read at most: a key with white space around it is far shorter. */
const MAX_CHARS = 1024;

/** What unseals a vault: a master key, or a share of one. */
export type Entry = { key: string } | { share: string };

/**
 * Returns the bytes of a master key as the service reads SERVICE_MASTER_KEY: either alphabet of base64, padded or not,
 * white space around it. Undefined when it is none.
 */
export function parseKey(text: string): Buffer | undefined {
  const trimmed = text.trim();
  return /^[A-Za-z0-9+/_-]{43}=?$/u.test(trimmed) ? Buffer.from(trimmed, "base64") : undefined;
}

/**
 * Reads a key or a share from standard input. A terminal shows nothing of what is typed.
 * @throws {CommandError} when it is neither
 */
export async function readEntry(input: NodeJS.ReadStream, prompt: (text: string) => void): Promise<Entry> {
  const text = (input.isTTY ? await readHidden(input, prompt) : await readAll(input)).trim();
  // A key has 32 bytes, a share 33: their base64 differs in the padding.
  const key = parseKey(text);
  if (key !== undefined) return { key: key.toString("base64") };
  if (/^[A-Za-z0-9+/]{44}$/u.test(text)) return { share: text };
  throw new CommandError(
    "Standard input must be one master key (base64 of 32 bytes) or one share (base64 of 33 bytes, from vault split).",
  );
}

async function readAll(input: NodeJS.ReadStream): Promise<string> {
  let text = "";
  for await (const part of input.setEncoding("utf8")) {
    text += String(part);
    if (text.length > MAX_CHARS) break;
  }
  return text;
}

function readHidden(input: NodeJS.ReadStream, prompt: (text: string) => void): Promise<string> {
  prompt("Master key or share (not shown): ");
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = "";
  function onData(part: string): void {
    for (const char of part) {
      if (char === "\u0003") return reject(new CommandError("Interrupted; nothing was sent."));
      if (char === "\r" || char === "\n" || char === "\u0004") return resolve(text);
      text = char === "\u007f" || char === "\b" ? text.slice(0, -1) : text + char;
    }
  }
  input.setRawMode(true).setEncoding("utf8").on("data", onData);
  return promise.finally(() => {
    input.off("data", onData).setRawMode(false).pause();
    prompt("\n");
  });
}
