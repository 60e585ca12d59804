/** Largest body that is sent, bytes (decisions 11.2). */
const MAX_BODY_BYTES = 20_000;

/** The body of an event, at most 20,000 bytes: the longest texts of `data` are cut until it fits. */
export function bodyOf(event: {
  type: string;
  timestamp: Date;
  id: string;
  orgUuid: string;
  data: Readonly<Record<string, unknown>>;
}): string {
  const data = structuredClone(event.data) as Record<string, unknown>;
  const print = (): string =>
    JSON.stringify({
      type: event.type,
      timestamp: event.timestamp.toISOString(),
      id: event.id,
      org_uuid: event.orgUuid,
      data,
    });
  for (let body = print(); ; body = print()) {
    if (Buffer.byteLength(body) <= MAX_BODY_BYTES || !cutLongest(data)) return body;
  }
}

/** Halves the longest text somewhere in a value; false when there is none to cut. */
function cutLongest(root: Record<string, unknown>): boolean {
  let longest: { holder: Record<string, unknown>; key: string; length: number } | undefined;
  const visit = (holder: Record<string, unknown>): void => {
    for (const [key, value] of Object.entries(holder)) {
      if (typeof value === "string" && value.length > 64 && value.length > (longest?.length ?? 0))
        longest = { holder, key, length: value.length };
      else if (typeof value === "object" && value !== null) visit(value as Record<string, unknown>);
    }
  };
  visit(root);
  if (longest === undefined) return false;
  const text = String(longest.holder[longest.key]);
  longest.holder[longest.key] = `${text.slice(0, Math.floor(text.length / 2)).toWellFormed()}…`;
  return true;
}
