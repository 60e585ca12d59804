/** Header and claims of a JSON Web Token, unverified; undefined where the text is none. */
export function decodeJwt(token: string): { header: unknown; claims: unknown } | undefined {
  const parts = token.trim().split(".");
  if (parts.length !== 3) return undefined;
  try {
    const [header, claims] = parts.slice(0, 2).map(partOf);
    return { header, claims };
  } catch {
    return undefined;
  }
}

function partOf(part: string): unknown {
  const text = atob(part.replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder().decode(Uint8Array.from(text, (char) => char.charCodeAt(0))));
}
