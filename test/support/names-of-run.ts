const uuid = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/giu;
/** What an `ETag` has of an authority's id, of the digest of a document, or of that of a user's groups. */
const tag = /(?<=")[\da-f]{8}(?=-\d+-(?:pem|der)")|(?<=")[\w-]{22}(?=")|(?<="\d+-)[\w-]{16}(?=")/gu;
const pem = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]+?-----END \1-----\r?\n?/gu;
const jwt = /eyJ[\w-]+\.[\w-]+\.[\w-]+/gu;
/** Serial numbers, digests, keys, certificates and opaque tokens; no path of a URL. */
const random = /^[\w+/]{40,}={0,2}$|[\w-]{27,}/gu;
const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/gu;

/**
 * Returns a function that replaces in a JSON value what differs between two runs of the same steps: ids by the order in
 * which they appeared, so that the same id stays the same; secrets by their kind; times; and `own` names.
 */
export function namesOfRun(own: Readonly<Record<string, string>>): (value: unknown) => unknown {
  const ids = new Map<string, string>();
  const idOf = (id: string): string => {
    const known = ids.get(id.toLowerCase());
    if (known !== undefined) return known;
    const name = `<id ${ids.size + 1}>`;
    ids.set(id.toLowerCase(), name);
    return name;
  };
  function text(value: string): string {
    let shown = value;
    for (const [name, replacement] of Object.entries(own)) shown = shown.replaceAll(name, replacement);
    return shown
      .replaceAll(pem, "<$1>")
      .replaceAll(jwt, "<jwt>")
      .replaceAll(uuid, idOf)
      .replaceAll(tag, "<tag>")
      .replaceAll(time, "<time>")
      .replaceAll(random, "<random>");
  }
  return function replace(value: unknown): unknown {
    if (typeof value === "string") return text(value);
    if (Array.isArray(value)) return value.map(replace);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, replace(one)]));
  };
}
