/** Names of features in a text, separated by spaces, commas or lines; each once. */
export const featuresIn = (text: string): string[] => [...new Set(text.split(/[\s,;]+/u).filter(Boolean))];

/** A check as a line for the shell; the credential is `$TOKEN`. */
export function shellCheck(serviceUrl: string, feature: string, orgUuid: string): string {
  const body = JSON.stringify({ feature, org_uuid: orgUuid }).replaceAll("'", String.raw`'\''`);
  return [
    `curl -X POST ${serviceUrl}/api/entitlements/check`,
    `-H "Authorization: Bearer $TOKEN"`,
    `-H "Content-Type: application/json"`,
    `-d '${body}'`,
  ].join(" ");
}
