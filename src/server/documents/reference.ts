import { readFileSync } from "node:fs";

/**
 * The page of the API reference. Scalar renders `openapi.json`; it is served by us and loads nothing from elsewhere.
 * Credentials that are pasted stay in the memory of the page.
 */
export const REFERENCE_PAGE = `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>API reference · Atrium</title></head>
<body><div id="reference"></div><noscript>The reference needs JavaScript; openapi.json has the same facts.</noscript><script src="api/scalar.js"></script><script src="api/start.js"></script></body></html>`;

/** Starts the reference without fonts, proxy, telemetry and assistants of others. */
export const REFERENCE_START = `Scalar.createApiReference("#reference", {
  url: "../openapi.json",
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: "",
  showDeveloperTools: "never",
  mcp: { disabled: true },
  agent: { disabled: true },
  hideClientButton: true,
  persistAuth: false,
  defaultOpenAllTags: true,
});
`;

/** Scalar sets styles of elements at run time; everything else is as strict as on the other pages. */
export const REFERENCE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; " +
  "font-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'self'; frame-ancestors 'none'";

/** The program of the reference; undefined in an installation without the package. */
export function readScalar(): Buffer | undefined {
  try {
    const entry = import.meta.resolve("@scalar/api-reference");
    return readFileSync(new URL("browser/standalone.js", entry.replace(/\/dist\/.*$/u, "/dist/")));
  } catch {
    return undefined;
  }
}
