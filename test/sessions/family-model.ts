/** A refresh family as decisions 3.4 describe it: a chain in which token n buys token n + 1. Times in milliseconds. */
export interface Family {
  /** When each token of the chain was used, and when it expires unused. */
  tokens: { used: number | undefined; expires: number }[];
  revoked: boolean;
  /** End of the session unless it is refreshed. */
  end: number;
  refreshUntil: number;
}

/** What a refresh gives: the place of the successor in the chain, or nothing. */
export type Outcome = number | "refused";

/** Lifetimes the model is made with. */
export const lifetimes = { idle: 7 * 86_400_000, absolute: 30 * 86_400_000, grace: 10_000 };

/** A family whose session was opened at `now`. */
export function opened(now: number): Family {
  return {
    tokens: [{ used: undefined, expires: now + lifetimes.idle }],
    revoked: false,
    end: now + lifetimes.idle,
    refreshUntil: now + lifetimes.absolute,
  };
}

/** Whether access tokens of the session are taken. */
export function isLive(family: Family, now: number): boolean {
  return !family.revoked && now < family.end;
}

/** One refresh with token `n`: what it gives and what the family is then. */
function refresh(family: Family, n: number, now: number): [Family, Outcome] {
  const token = family.tokens[n];
  if (token === undefined || !isLive(family, now)) return [family, "refused"];
  if (token.used === undefined) {
    if (now >= token.expires) return [family, "refused"];
    const tokens = family.tokens.with(n, { ...token, used: now });
    tokens.push({ used: undefined, expires: Math.min(family.refreshUntil, now + lifetimes.idle) });
    return [prolonged({ ...family, tokens }, now), n + 1];
  }
  if (now - token.used > lifetimes.grace) return [{ ...family, revoked: true }, "refused"];
  return [prolonged(family, now), n + 1];
}

function prolonged(family: Family, now: number): Family {
  return { ...family, end: Math.max(family.end, Math.min(family.refreshUntil, now + lifetimes.idle)) };
}

/** The families that refreshes at one moment may lead to, if some order of them gives exactly these outcomes. */
export function explain(
  family: Family,
  tried: readonly number[],
  outcomes: readonly Outcome[],
  now: number,
): Family | undefined {
  if (tried.length === 0) return family;
  for (const [at, n] of tried.entries()) {
    const [next, outcome] = refresh(family, n, now);
    if (outcome !== outcomes[at]) continue;
    const found = explain(next, tried.toSpliced(at, 1), outcomes.toSpliced(at, 1), now);
    if (found !== undefined) return found;
  }
  return undefined;
}
