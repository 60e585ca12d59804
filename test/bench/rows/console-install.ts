import { build, openBrowser, signIn } from "../console-browser.ts";
import { marketOfRow, until } from "../market.ts";
import type { Market } from "../market.ts";
import { spread } from "../stats.ts";
import type { FigureRow } from "./row.ts";

/** Changes in one measurement; each alternates with its opposite. */
const CHANGES = 10;

interface Installed {
  appId: string;
  installId: string;
}

/** An app that the first person's organization publishes and has installed. */
async function install(market: Market): Promise<Installed> {
  const { app_id: appId } = await market.call<{ app_id: string }>(0, "POST", "/api/marketplace/apps", 201, {
    name: "Watched",
    slug: "watched",
    deployment_modes: ["multi_tenant"],
    pricing_model: "free",
    provision_webhook: market.url,
  });
  await market.call(0, "POST", `/api/admin/marketplace/apps/${appId}/approve`, 200);
  const path = "/api/marketplace/watched/install";
  const { install_id: installId } = await market.call<{ install_id: string }>(0, "POST", path, 202, {});
  const status = async () =>
    (await market.call<{ status: string }>(0, "GET", `/api/installs/${installId}`, 200)).status;
  await until(async () => (await status()) === "active", 20, 30_000, "an active install");
  return { appId, installId };
}

const forWatching = marketOfRow("console_install", install);

/** From the response to the change, which follows its commit at once, to the painted event. Nothing is below 0. */
export const installEvent: FigureRow = {
  kind: "figure",
  name: "console-install-event",
  title: "an install's event on the screen after its commit, median of 10",
  unit: "ms",
  target: 500,
  async measure(environment) {
    build();
    const { service, call, appId, installId } = await forWatching(environment);
    const opened = await openBrowser(`http://127.0.0.1:${service.port}`);
    try {
      const { page, url } = opened;
      await signIn({ ...opened, service });
      await page.goto(`${url}/console/installs/${installId}`);
      const events = page.getByRole("list", { name: "Timeline" }).getByRole("listitem");
      await events.first().waitFor();
      // The network is never idle while the stream is open.
      await page.getByText("Live", { exact: true }).waitFor();
      const took: number[] = [];
      for (let nth = 0; nth < CHANGES; nth++) {
        const shown = page.evaluate<number>(
          `new Promise((resolve) => {
            const before = document.querySelectorAll("main ol > li").length;
            const observer = new MutationObserver(() => {
              if (document.querySelectorAll("main ol > li").length === before) return;
              observer.disconnect();
              requestAnimationFrame(() => requestAnimationFrame(() => resolve(Date.now())));
            });
            observer.observe(document.querySelector("main"), { childList: true, subtree: true });
          })`,
        );
        const verb = nth % 2 === 0 ? "suspend" : "resume";
        await call(0, "POST", `/api/marketplace/apps/${appId}/installs/${installId}/${verb}`, 200, {});
        const committed = Date.now();
        took.push(Math.max(0, (await shown) - committed));
      }
      return spread(took).median;
    } finally {
      await opened.close();
    }
  },
};
