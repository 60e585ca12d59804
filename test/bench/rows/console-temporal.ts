import { allOf, largestPaint, open, openBrowser, signIn } from "../console-browser.ts";
import type { Environment } from "../environment.ts";
import type { RatioRow, Side } from "./row.ts";

/** What is read of a page that was loaded by a browser without a cache. */
type Reading = typeof allOf;

/** The overview of the console, signed in; only the session's cookie comes along. */
const ours = (environment: Environment, read: Reading): Side => ({
  name: "/console",
  async measure() {
    const opened = await open(environment);
    try {
      await signIn(opened);
      const session = await opened.context.newCDPSession(opened.page);
      await session.send("Network.clearBrowserCache");
      await opened.page.goto(`${opened.url}/console`);
      await opened.page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
      await opened.page.waitForLoadState("networkidle");
      return { value: await read(opened.page) };
    } finally {
      await opened.close();
    }
  },
});

/** The page that Temporal's development server opens with: the workflows of its namespace, of which there are none. */
const temporal = (url: string, read: Reading): Side => ({
  name: "Temporal UI",
  async measure() {
    const opened = await openBrowser(url);
    try {
      await opened.page.goto(`${url}/namespaces/default/workflows`);
      await opened.page.getByRole("heading", { level: 1 }).first().waitFor();
      await opened.page.waitForLoadState("networkidle");
      return { value: await read(opened.page) };
    } finally {
      await opened.close();
    }
  },
});

function beside(name: string, title: string, unit: string, read: Reading): RatioRow {
  return {
    kind: "ratio",
    name,
    title,
    unit,
    target: 1,
    at: "most",
    async sides(environment) {
      const { ready } = await environment.peer<{ url: string }>("baselines/temporal-ui.ts");
      return [ours(environment, read), temporal(ready.url, read)];
    },
  };
}

export const besideTemporalSize = beside(
  "console-temporal-kb",
  "first load of /console, signed in, against Temporal UI's: everything that is sent",
  "KB",
  allOf,
);

export const besideTemporalTime = beside(
  "console-temporal-paint",
  "largest paint of /console, signed in, cold, against Temporal UI's",
  "s",
  largestPaint,
);
