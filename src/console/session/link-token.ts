/** What a mailed link carries. */
export interface LinkToken {
  token: string;
  challengeId?: string;
}

let taken: LinkToken | undefined;

/** Takes the token of a mailed link out of the address: `#token=`, or `?token=` in older mails. */
export function takeLinkToken(): void {
  const fragment = new URLSearchParams(location.hash.slice(1));
  const query = new URLSearchParams(location.search);
  const token = fragment.get("token") ?? query.get("token");
  if (token === null || token === "") return;
  const challengeId = fragment.get("challenge_id") ?? query.get("challenge_id");
  taken = { token, ...(challengeId !== null && { challengeId }) };
  query.delete("token");
  query.delete("challenge_id");
  const rest = query.toString();
  history.replaceState(history.state, "", `${location.pathname}${rest === "" ? "" : `?${rest}`}`);
}

/** The token of the link that opened this page. */
export const linkToken = (): LinkToken | undefined => taken;
